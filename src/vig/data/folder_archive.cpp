#include <algorithm>
#include <filesystem>
#include <system_error>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/data/archive_formats.h"

namespace vig {
namespace {

namespace fs = std::filesystem;

class FolderArchive : public Archive {
 public:
  explicit FolderArchive(const std::string& path) : Archive(path) { list(path, ""); }

  std::span<const uint8_t> read(size_t file, std::vector<uint8_t>& scratch) const override {
    const auto mapped = MappedFile::open((fs::path(path_) / files_[file]).string());
    const std::span<const uint8_t> bytes = mapped->bytes();
    if (bytes.size() > kMaxCopiedFile) {
      fail("{}: a file of {} bytes, expected a picture of at most {}", place(file), bytes.size(),
           kMaxCopiedFile);
    }
    scratch.assign(bytes.begin(), bytes.end());
    return scratch;
  }

 private:
  struct Item {
    std::string name;
    bool folder;
    bool operator<(const Item& other) const { return name < other.name; }
  };

  // `prefix` is empty or ends in '/'.
  void list(const fs::path& folder, const std::string& prefix) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error) refuse(folder, error);
    // A link may lead back to a folder that is being listed.
    if (std::ranges::find(above_, real) != above_.end()) return;
    if (!prefix.empty()) folders_.push_back(prefix.substr(0, prefix.size() - 1));

    std::vector<Item> items;
    fs::directory_iterator entry(folder, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      std::error_code dangling;  // a link to nothing is a file that cannot be read
      items.push_back({entry->path().filename().string(), entry->is_directory(dangling)});
    }
    if (error) refuse(folder, error);
    std::sort(items.begin(), items.end());

    above_.push_back(real);
    for (const Item& item : items) {
      const std::string name = prefix + item.name;
      if (item.folder) {
        // Hidden folders hold no data but what tools leave there, often a lot.
        if (!item.name.starts_with('.')) list(folder / item.name, name + "/");
      } else {
        files_.push_back(name);
      }
    }
    above_.pop_back();
  }

  [[noreturn]] static void refuse(const fs::path& folder, const std::error_code& error) {
    fail("{}: the folder cannot be listed: {}", printable(folder.string(), 4096), error.message());
  }

  std::vector<fs::path> above_;  // folders being listed, without links
};

}  // namespace

std::shared_ptr<const Archive> open_folder(const std::string& path) {
  return std::make_shared<FolderArchive>(path);
}

}  // namespace vig
