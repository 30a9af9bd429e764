#include <filesystem>

#include "vig/base/error.h"
#include "vig/data/archive_formats.h"
#include "vig/data/folder_listing.h"

namespace vig {
namespace {

class FolderArchive : public Archive {
 public:
  explicit FolderArchive(const std::string& path) : Archive(path) {
    FolderListing listing = list_folder(path);
    if (!listing.problems.empty()) fail("{}", listing.problems.front());
    files_ = std::move(listing.files);
    folders_ = std::move(listing.folders);
  }

  std::span<const uint8_t> read(size_t file, std::vector<uint8_t>& scratch) const override {
    const auto mapped = MappedFile::open((std::filesystem::path(path_) / files_[file]).string());
    const std::span<const uint8_t> bytes = mapped->bytes();
    if (bytes.size() > kMaxCopiedFile) {
      fail("{}: a file of {} bytes, expected a picture of at most {}", place(file), bytes.size(),
           kMaxCopiedFile);
    }
    scratch.assign(bytes.begin(), bytes.end());
    return scratch;
  }
};

}  // namespace

std::shared_ptr<const Archive> open_folder(const std::string& path) {
  return std::make_shared<FolderArchive>(path);
}

}  // namespace vig
