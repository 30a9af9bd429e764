#include "vig/cli/sort_pictures.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
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

// Renames without replacing. False where `to` is taken.
bool rename_to_free(const std::string& file, const fs::path& to, int& error) {
  error = 0;
  if (renameat2(AT_FDCWD, file.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  error = errno;
  if (error != EINVAL && error != ENOSYS) return error != EEXIST;
  // A file system without that call: a second name, which is never an existing one, then the first
  // name is removed.
  error = 0;
  if (link(file.c_str(), to.c_str()) == 0) {
    if (unlink(file.c_str()) != 0) error = errno;
    return true;
  }
  error = errno;
  return error != EEXIST;
}

// Onto another file system: a whole copy first, of which the name may not exist either.
void copy_away(const std::string& file, const fs::path& to) {
  const RegularFile source(file);
  const fs::path part = to.parent_path() / ("." + to.filename().string() + ".part");
  {
    AtomicFile copy(part.string());
    std::string bytes(size_t{1} << 20, '\0');
    for (;;) {
      const ssize_t count = read(source.descriptor(), bytes.data(), bytes.size());
      if (count < 0) fail("{}: {}", printable(file, 4096), reason(errno));
      if (count == 0) break;
      copy.write(bytes.data(), static_cast<size_t>(count));
    }
    copy.commit();
  }
  int error = 0;
  if (!rename_to_free(part.string(), to, error) || error != 0) {
    unlink(part.c_str());
    fail("{}: {}", printable(to.string(), 4096), reason(error));
  }
  if (unlink(file.c_str()) != 0) fail("{}: {}", printable(file, 4096), reason(errno));
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

PictureSorter::PictureSorter(const std::string& folder) : folder_(folder) {
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

fs::path PictureSorter::move(const std::string& file, const std::string& class_name) const {
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
    int code = 0;
    if (!rename_to_free(file, to, code)) continue;
    if (code == EXDEV) {
      copy_away(file, to);
    } else if (code != 0) {
      fail("{}: cannot be moved to {}: {}", printable(file, 4096), printable(to.string(), 4096),
           reason(code));
    }
    return to;
  }
}

}  // namespace vig::cli
