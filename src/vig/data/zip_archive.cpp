#include <zlib.h>

#include <algorithm>

#include "vig/base/error.h"
#include "vig/base/zip.h"
#include "vig/data/archive_formats.h"

namespace vig {
namespace {

// One byte of deflated data gives at most four copies of 258 bytes.
constexpr uint64_t kMaxRatio = 1032;

// Room by which longer content shows; besides, zlib takes no null pointer.
constexpr uint64_t kOneMore = 1;

class ZipArchive : public Archive {
 public:
  ZipArchive(const std::string& path, const ArchiveBytes& content)
      : Archive(path), owner_(content.owner) {
    for (const ZipEntry& entry : read_zip_directory(content.bytes, path)) {
      std::string name = clean_name(entry.name);
      if (name.empty()) continue;
      if (entry.name.ends_with('/')) {
        folders_.push_back(std::move(name));
      } else {
        files_.push_back(std::move(name));
        entries_.push_back(entry);
      }
    }
    find_folder_links();
    check_unpacked(content.bytes.size());
  }

  FileSize size(size_t file) const override {
    const ZipEntry& entry = entries_[file];
    if (!is_plausible(entry)) {
      fail("{}: {} bytes that claim to unpack to {}, expected an image", location(file),
           entry.data.size(), entry.size);
    }
    const bool copied = entry.method == ZipEntry::kDeflated;
    return {entry.size, copied ? entry.size + kOneMore : 0};
  }

  size_t read_start(size_t file, std::span<uint8_t> out) const override {
    if (entries_[file].method != ZipEntry::kDeflated) return 0;
    return inflate_entry(file, out).bytes;
  }

  std::span<const uint8_t> read(size_t file, std::vector<uint8_t>& scratch) const override {
    const ZipEntry& entry = entries_[file];
    const FileSize expected = size(file);
    std::span<const uint8_t> bytes = entry.data;
    if (entry.method == ZipEntry::kDeflated) {
      scratch.resize(expected.copied);
      const Inflated inflated = inflate_entry(file, scratch);
      if (!inflated.complete || inflated.bytes != entry.size) {
        fail("{}: damaged: it does not unpack to the {} bytes it claims", location(file),
             entry.size);
      }
      scratch.resize(entry.size);
      bytes = scratch;
    } else if (entry.method != ZipEntry::kStored) {
      fail("{}: compressed by method {} of zip, expected it stored or deflated", location(file),
           entry.method);
    }
    if (::crc32(0, bytes.data(), static_cast<uInt>(bytes.size())) != entry.crc) {
      fail("{}: damaged: its checksum is not the one in the archive", location(file));
    }
    return bytes;
  }

 private:
  static bool is_plausible(const ZipEntry& entry) {
    return entry.size <= kMaxCopiedFile && entry.data.size() <= kMaxCopiedFile &&
           entry.size / kMaxRatio <= entry.data.size();
  }

  // Of what size() and read() would take. Each file is small enough, but there may be thousands.
  void check_unpacked(uint64_t packed) const {
    uint64_t bytes = 0;
    for (const ZipEntry& entry : entries_) {
      if (entry.method == ZipEntry::kDeflated && is_plausible(entry)) bytes += entry.size;
    }
    if (bytes > most_unpacked(packed)) {
      fail("{}: {} bytes whose files unpack to {}, expected at most {}; unpack it, if it is yours",
           path(), packed, bytes, most_unpacked(packed));
    }
  }

  // Links are not followed: one to a file reads as what it is, which is no image. Those that may
  // stand for folders are searched among stored entries, where packers put such short content.
  void find_folder_links() {
    constexpr size_t kMaxTarget = 4096;  // no system follows longer ones
    if (std::ranges::none_of(entries_, &ZipEntry::link)) return;
    // Sorted: names can be chosen so that all of them have one hash.
    std::vector<std::string_view> names(files_.begin(), files_.end());
    std::ranges::sort(names);
    for (size_t i = 0; i < files_.size(); ++i) {
      if (!entries_[i].link || entries_[i].method != ZipEntry::kStored) continue;
      const std::span<const uint8_t> target = entries_[i].data;
      if (target.size() > kMaxTarget ||
          !std::ranges::binary_search(
              names, follow_link(files_[i],
                                 {reinterpret_cast<const char*>(target.data()), target.size()}))) {
        folders_.push_back(files_[i]);
      }
    }
  }

  struct Inflated {
    uint64_t bytes;
    bool complete;  // all of the entry, and nothing wrong with it
  };

  // As much as `out`, which is not empty, has room for.
  Inflated inflate_entry(size_t file, std::span<uint8_t> out) const {
    const ZipEntry& entry = entries_[file];
    z_stream stream = {};
    if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
      fail("{}: not enough memory to unpack it", location(file));
    }
    stream.next_in = const_cast<Bytef*>(entry.data.data());
    stream.avail_in = static_cast<uInt>(entry.data.size());
    stream.next_out = out.data();
    stream.avail_out = static_cast<uInt>(out.size());
    const int status = ::inflate(&stream, Z_FINISH);
    ::inflateEnd(&stream);
    if (status == Z_MEM_ERROR) fail("{}: not enough memory to unpack it", location(file));
    return {stream.total_out, status == Z_STREAM_END};
  }

  std::shared_ptr<const void> owner_;
  std::vector<ZipEntry> entries_;  // as files_
};

}  // namespace

std::shared_ptr<const Archive> open_zip(const std::string& path, const ArchiveBytes& content) {
  return std::make_shared<ZipArchive>(path, content);
}

}  // namespace vig
