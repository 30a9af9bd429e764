#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "vig/base/error.h"
#include "vig/data/archive_formats.h"
#include "vig/data/folder_listing.h"
#include "vig/image/image_file.h"

namespace vig {
namespace {

class FolderArchive : public Archive {
 public:
  FolderArchive(const std::string& path, FolderListing listing)
      : Archive(path), listing_(std::move(listing)) {
    if (!listing_.problems.empty()) fail("{}", listing_.problems.front());
    files_ = std::move(listing_.files);
    folders_ = std::move(listing_.folders);
  }

  bool is_current() const { return still_holds(listing_, path_); }
  void keep_listing(const std::string& index) const {
    FolderListing listing = listing_;
    listing.files = files_;
    listing.folders = folders_;
    write_listing(listing, path_, index);
  }
  FolderArchive(const std::string& path, std::vector<std::string> names) : Archive(path) {
    files_ = std::move(names);
  }

  // Opens the file, and leaves it open for read() by the same thread.
  FileSize size(size_t file) const override {
    Opened& opened = opened_by_this_thread();
    opened = {nullptr, {}, file};
    opened.image = std::make_unique<const ImageFile>(open(file));
    opened.archive = identity_;
    const uint64_t bytes = *opened.image->size();
    return {bytes, bytes};
  }

  std::span<const uint8_t> read(size_t file, std::vector<uint8_t>& scratch) const override {
    Opened before = std::exchange(opened_by_this_thread(), {});
    const bool same = before.archive.lock() == identity_ && before.file == file;
    if (!same) before.image = std::make_unique<const ImageFile>(open(file));
    const ImageFile& opened = *before.image;
    if (*opened.size() > kMaxCopiedFile) {
      fail("{}: a file of {} bytes, expected an image of at most {} (a fixed limit)",
           location(file), *opened.size(), kMaxCopiedFile);
    }
    opened.read(scratch, *opened.size());
    return scratch;
  }

 private:
  struct Opened {
    std::unique_ptr<const ImageFile> image;
    std::weak_ptr<const int> archive;  // whose file it is
    size_t file = 0;
  };
  static Opened& opened_by_this_thread() {
    thread_local Opened opened;
    return opened;
  }

  ImageFile open(size_t file) const {
    return ImageFile(file_path(file), ImageFile::Kind::kRegular);
  }

  FolderListing listing_;  // without its names
  const std::shared_ptr<const int> identity_ = std::make_shared<const int>();
};

}  // namespace

std::shared_ptr<const Archive> open_folder(const std::string& path, const std::string& index) {
  // One that is open somewhere is listed once.
  static std::mutex mutex;
  static std::weak_ptr<const FolderArchive> last;
  const std::lock_guard lock(mutex);
  const std::shared_ptr<const FolderArchive> before = last.lock();
  if (before != nullptr && before->path() == path && before->is_current()) return before;
  std::optional<FolderListing> kept;
  if (!index.empty()) kept = read_listing(path, index);
  const auto archive =
      std::make_shared<const FolderArchive>(path, kept ? std::move(*kept) : list_folder(path));
  last = archive;
  return archive;
}

void keep_listing(const Archive& folder, const std::string& index) {
  if (const auto* archive = dynamic_cast<const FolderArchive*>(&folder)) {
    archive->keep_listing(index);
  }
}

std::shared_ptr<const Archive> open_listed_files(const std::string& folder,
                                                 std::vector<std::string> names) {
  return std::make_shared<FolderArchive>(folder, std::move(names));
}

}  // namespace vig
