#include "vig/weights/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/folder_entries.h"

namespace vig {
namespace {

// Names of temporaries in memory that is never freed, because a signal handler reads them while
// other threads continue.
struct Listed {
  std::atomic<pid_t> owner{0};  // 0: not in use; a forked process does not own what it inherits
  char path[PATH_MAX];
};
constexpr size_t kListed = 64;  // more at once are written, but not removed by a signal
Listed g_listed[kListed];

size_t list_temporary(const std::string& path) {
  for (size_t i = 0; i < kListed && path.size() < PATH_MAX; ++i) {
    pid_t unused = 0;
    // Taken by a number that is no process, until the name is there.
    if (!g_listed[i].owner.compare_exchange_strong(unused, -1)) continue;
    std::memcpy(g_listed[i].path, path.c_str(), path.size() + 1);
    g_listed[i].owner = ::getpid();
    return i;
  }
  return kListed;
}

void unlist_temporary(size_t listed) {
  if (listed < kListed) g_listed[listed].owner = 0;
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Is `path` still the name of the open file?
bool has_name(int fd, const std::string& path) {
  struct stat open_file, named;
  return ::fstat(fd, &open_file) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         same_file(open_file, named);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "PROCESS-NUMBER"
bool is_mark(std::string_view text) {
  const size_t dash = text.find('-');
  return dash != std::string_view::npos && is_number(text.substr(0, dash)) &&
         is_number(text.substr(dash + 1));
}

// Removes what killed processes left beside the target. Files that cannot be checked or removed
// stay.
void remove_leftovers(const std::filesystem::path& target) {
  const std::string start = target.filename().string() + ".tmp-";
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  std::error_code ignored;
  for (const std::string& name : folder_entries(folder.string(), ignored)) {
    if (!name.starts_with(start) || !is_mark(std::string_view(name).substr(start.size()))) continue;
    const std::string path = (folder / name).string();
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)};
    struct stat status;
    if (file.fd < 0 || ::fstat(file.fd, &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (::flock(file.fd, LOCK_EX | LOCK_NB) == 0 && has_name(file.fd, path)) ::unlink(path.c_str());
  }
}

}  // namespace

std::string behind_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as in Linux
  std::filesystem::path name = path;
  for (int i = 0; i <= kMostLinks; ++i) {
    std::error_code none;
    const std::filesystem::path next = std::filesystem::read_symlink(name, none);
    if (none) return name.string();
    name = name.parent_path() / next;
  }
  fail("{}: cannot be written: {}", path, std::strerror(ELOOP));
}

void flush_folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
}

std::string partial_name(const std::string& path) { return path + ".partial"; }

int rename_new(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // A file system without that call: a second name, which is never an existing one, then the first
  // name is removed.
  if (::link(from.c_str(), to.c_str()) != 0) return errno;
  if (::unlink(from.c_str()) == 0) return 0;
  const int error = errno;
  ::unlink(to.c_str());
  return error;
}

void remove_temporary_files() noexcept {
  const pid_t self = ::getpid();
  for (const Listed& listed : g_listed) {
    if (listed.owner == self) ::unlink(listed.path);
  }
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) {
    // Renaming over a device would replace it (as root, even /dev/null).
    if (!S_ISREG(status.st_mode)) fail("{}: cannot be written: not a regular file", path);
  }
  target_ = behind_links(path);
  remove_leftovers(target_);
  static std::atomic<unsigned> counter{0};
  // A name may be taken by a process of another machine, or lost to one that removes leftovers
  // before it could be locked.
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary_ = fmt::format("{}.tmp-{}-{}", target_, ::getpid(), counter++);
    listed_ = list_temporary(temporary_);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) {
      ::flock(fd_, LOCK_EX | LOCK_NB);  // where there are no locks, leftovers stay
      if (has_name(fd_, temporary_)) return;
      ::close(std::exchange(fd_, -1));
      errno = EEXIST;
    }
    const int reason = errno;
    unlist_temporary(listed_);
    if (reason != EEXIST) fail("{}: cannot be written: {}", path_, std::strerror(reason));
  }
  fail("{}: cannot be written: no name for a temporary file is free", path_);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  unlist_temporary(listed_);
}

void AtomicFile::write(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(fd_, next, std::min<size_t>(bytes, size_t{1} << 30));
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("{}: cannot be written: {}", path_, std::strerror(errno));
    }
    next += written;
    bytes -= static_cast<size_t>(written);
  }
}

void AtomicFile::rewrite_begin(const void* data, size_t bytes) {
  if (::lseek(fd_, 0, SEEK_SET) != 0)
    fail("{}: cannot be written: {}", path_, std::strerror(errno));
  write(data, bytes);
  ::lseek(fd_, 0, SEEK_END);
}

void AtomicFile::commit_text(std::string_view text) {
  write(text.data(), text.size());
  commit();
}

void AtomicFile::commit() { finish(target_, /*replace=*/true); }

bool AtomicFile::commit_new() { return finish(target_, /*replace=*/false); }

void AtomicFile::commit_partial() { finish(partial_name(target_), /*replace=*/true); }

bool AtomicFile::finish(const std::string& name, bool replace) {
  if (::fsync(fd_) != 0) fail("{}: cannot be written: {}", path_, std::strerror(errno));
  // Renamed while it is open, since the lock ends with the descriptor; its bytes are on the disk.
  int error = 0;
  if (!replace) {
    error = rename_new(temporary_, name);
    if (error == EEXIST) return false;
  } else if (::rename(temporary_.c_str(), name.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) fail("{}: cannot be written: {}", path_, std::strerror(error));
  ::close(std::exchange(fd_, -1));
  temporary_.clear();
  unlist_temporary(listed_);
  flush_folder_of(target_);
  return true;
}

}  // namespace vig
