// One level of a TIFF pyramid, read by regions.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vig/image/file_bytes.h"
#include "vig/image/image.h"
#include "vig/image/region_formats.h"
#include "vig/image/tiff_page.h"
#include "vig/image/tiff_tags.h"

namespace vig {

// Decoded tiles and strips, the last used ones, at least one.
class PieceCache {
 public:
  explicit PieceCache(uint64_t bytes) : most_(bytes) {}

  const Image* find(uint64_t key);  // null: not there
  const Image& keep(uint64_t key, Image piece);
  uint64_t bytes() const { return bytes_; }

 private:
  using Item = std::pair<uint64_t, Image>;
  const uint64_t most_;
  uint64_t bytes_ = 0;
  std::list<Item> items_;  // the last used one first
  std::unordered_map<uint64_t, std::list<Item>::iterator> by_key_;
};

class TiffLevel {
 public:
  // `tags` describe the directory that is opened. All but `tags` outlive the level. Throws Error
  // where the tables of the page do not fit the image or the file.
  TiffLevel(const FileBytes& file, const TiffTags& tags, const std::string& name,
            const RegionLimits& limits, PieceCache& cache, uint64_t number);
  ~TiffLevel();

  int64_t width() const { return page_.width(); }
  int64_t height() const { return page_.height(); }
  int orientation() const { return page_.orientation(); }
  bool sequential() const { return kind_ == Kind::kScan; }
  // As stored.
  Image read(const ImageRegion& region);

 private:
  enum class Kind {
    kPieces,  // tiles or strips, decoded whole and kept
    kRaw,     // uncompressed strips, of which only the region is read
    kScan,    // long compressed strips, decoded by rows
  };
  class StripRows;

  void check_tables(const TiffTags& tags) const;
  Image read_pieces(const ImageRegion& region);
  Image read_raw(const ImageRegion& region);
  Image read_scan(const ImageRegion& region);
  Image decode_piece(int64_t column, int64_t row);
  // Whether the piece has data. Throws Error where they lie outside of the file.
  bool check_piece(uint32_t index);

  const FileBytes& file_;
  const std::string& name_;
  const RegionLimits& limits_;
  PieceCache& cache_;
  const uint64_t number_;
  TiffPage page_;
  Kind kind_ = Kind::kPieces;
  int64_t piece_width_ = 0, piece_height_ = 0, across_ = 0, down_ = 0;
  uint64_t piece_bytes_ = 0;  // as samples
  // Of kScan: the strip whose rows are being read.
  int64_t strip_ = -1;
  std::unique_ptr<StripRows> strip_rows_;
  std::optional<RowBand> band_;
};

}  // namespace vig
