#include "vig/base/error.h"
#include "vig/data/archive_formats.h"
#include "vig/data/folder_listing.h"
#include "vig/image/image_file.h"

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
  FolderArchive(const std::string& path, std::vector<std::string> names) : Archive(path) {
    files_ = std::move(names);
  }

  FileSize size(size_t file) const override {
    const uint64_t bytes = *open(file).size();
    return {bytes, bytes};
  }

  std::span<const uint8_t> read(size_t file, std::vector<uint8_t>& scratch) const override {
    ImageFile opened = open(file);
    if (*opened.size() > kMaxCopiedFile) {
      fail("{}: a file of {} bytes, expected an image of at most {} (a fixed limit)",
           location(file), *opened.size(), kMaxCopiedFile);
    }
    opened.read(scratch, *opened.size());
    return scratch;
  }

 private:
  ImageFile open(size_t file) const {
    return ImageFile(file_path(file), ImageFile::Kind::kRegular);
  }
};

}  // namespace

std::shared_ptr<const Archive> open_folder(const std::string& path) {
  return std::make_shared<FolderArchive>(path);
}

std::shared_ptr<const Archive> open_listed_files(const std::string& folder,
                                                 std::vector<std::string> names) {
  return std::make_shared<FolderArchive>(folder, std::move(names));
}

}  // namespace vig
