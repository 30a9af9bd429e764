#include "support/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace vig::test {

namespace fs = std::filesystem;

TempDir::TempDir(const fs::path& parent) {
  std::string pattern = (parent / "vig-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("cannot make a temporary folder like " + pattern);
  }
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path other_file_system() {
  struct stat own, other;
  if (stat(fs::temp_directory_path().c_str(), &own) != 0) return {};
  for (const char* folder : {"/dev/shm", "/var/tmp", "."}) {
    if (stat(folder, &other) == 0 && other.st_dev != own.st_dev && access(folder, W_OK) == 0) {
      return fs::absolute(folder);
    }
  }
  return {};
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  // An empty file sets the fail bit of `bytes` alone.
  if (!file || (bytes << file.rdbuf(), file.bad())) {
    throw std::runtime_error("cannot read " + path.string());
  }
  return std::move(bytes).str();
}

void write_file(const fs::path& path, std::string_view bytes) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace vig::test
