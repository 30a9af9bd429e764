#include "vig/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "vig/base/error.h"

namespace vig {

FolderLock::~FolderLock() {
  if (folder_ >= 0) ::close(folder_);
}

void FolderLock::take(const std::string& folder, std::string_view doing) {
  folder_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ >= 0 && ::flock(folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    fail("{}: another process is {} in this folder", folder, doing);
  }
}

}  // namespace vig
