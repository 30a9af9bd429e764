#include "vig/cli/sort_images.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/regular_file.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) { return std::generic_category().message(error); }

// "cat.jpg", "cat (2).jpg", "cat (3).jpg", ...
fs::path numbered(const fs::path& folder, const fs::path& name, int number) {
  if (number == 1) return folder / name;
  return folder / fmt::format("{} ({}){}", name.stem().string(), number, name.extension().string());
}

[[noreturn]] void fail_to_move(const std::string& file, const fs::path& to,
                               const std::string& why) {
  fail("{}: cannot be moved to {}: {}", printable(file, 4096), printable(to.string(), 4096), why);
}

// Ends a move whose copy is complete: removes the original, or the copy where that fails.
void remove_original(const std::string& file, const fs::path& to) {
  if (unlink(file.c_str()) == 0) return;
  const int error = errno;
  unlink(to.c_str());
  fail_to_move(file, to, reason(error));
}

bool unchanged(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// Moves a file onto another file system. The original goes once the whole copy is on the disk under
// its final name; a failure before leaves the original and no part of a copy. False where `to`
// is taken.
bool copy_away(const std::string& file, const fs::path& to) {
  std::error_code none;
  if (fs::exists(fs::symlink_status(to, none))) return false;
  const fs::path linked = fs::read_symlink(file, none);
  if (!none) {
    if (symlink(linked.c_str(), to.c_str()) != 0) {
      if (errno == EEXIST) return false;
      fail_to_move(file, to, reason(errno));
    }
    remove_original(file, to);
    return true;
  }
  const RegularFile source(file);
  struct stat before, after;
  if (fstat(source.descriptor(), &before) != 0) fail_to_move(file, to, reason(errno));
  AtomicFile copy(to.string());
  std::string bytes(size_t{1} << 20, '\0');
  for (;;) {
    const ssize_t count = read(source.descriptor(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_to_move(file, to, reason(errno));
    if (count == 0) break;
    copy.write(bytes.data(), static_cast<size_t>(count));
  }
  if (lstat(file.c_str(), &after) != 0 || !unchanged(before, after)) {
    fail_to_move(file, to, "it changed meanwhile");
  }
  if (!copy.commit_new()) return false;
  // As renaming keeps them; the copy is good without.
  const timespec times[2] = {before.st_atim, before.st_mtim};
  utimensat(AT_FDCWD, to.c_str(), times, 0);
  chmod(to.c_str(), before.st_mode & 07777);
  remove_original(file, to);
  return true;
}

}  // namespace

std::string class_folder(const std::string& name) {
  std::string folder;
  for (const char c : name) folder += c == '/' || static_cast<unsigned char>(c) < 32 ? '_' : c;
  if (!folder.empty() && folder.front() == '.') folder.front() = '_';
  constexpr size_t kLongest = 200;  // bytes of a name on common file systems are at most 255
  folder.resize(std::min(folder.size(), kLongest));
  return folder.empty() ? "_" : folder;
}

ImageSorter::ImageSorter(const std::string& folder) : folder_(folder) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error || !fs::is_directory(folder_, error)) {
    fail("{}: cannot be made a folder: {}", printable(folder, 4096),
         error ? error.message() : "it is something else");
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    fail("{}: {}", printable(folder, 4096), reason(errno));
  }
}

fs::path ImageSorter::move(const std::string& file, const std::string& class_name) const {
  const fs::path target = folder_ / class_folder(class_name);
  std::error_code error;
  fs::create_directory(target, error);
  if (error) fail("{}: {}", printable(target.string(), 4096), error.message());
  const fs::path from(file), parent = from.has_parent_path() ? from.parent_path() : ".";
  if (fs::equivalent(parent, target, error)) return from;
  const fs::path linked = fs::read_symlink(from, error);
  if (!error && linked.is_relative()) {
    fail("{}: a link to {}, which would lead elsewhere from another folder", printable(file, 4096),
         printable(linked.string(), 200));
  }
  for (int number = 1;; ++number) {
    const fs::path to = numbered(target, from.filename(), number);
    const int code = rename_new(file, to.string());
    if (code == EEXIST) continue;
    if (code == EXDEV) {
      if (!copy_away(file, to)) continue;
    } else if (code != 0) {
      fail_to_move(file, to, reason(code));
    }
    return to;
  }
}

}  // namespace vig::cli
