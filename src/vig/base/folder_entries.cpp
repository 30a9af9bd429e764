#include "vig/base/folder_entries.h"

#include <dirent.h>

#include <cerrno>
#include <memory>
#include <string_view>

namespace vig {

std::vector<std::string> folder_entries(const std::string& folder, std::error_code& error) {
  error.clear();
  struct Close {
    void operator()(DIR* open) const { ::closedir(open); }
  };
  const std::unique_ptr<DIR, Close> open(::opendir(folder.c_str()));
  std::vector<std::string> names;
  while (open != nullptr) {
    errno = 0;
    const dirent* const entry = ::readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) error.assign(errno, std::generic_category());
  return names;
}

}  // namespace vig
