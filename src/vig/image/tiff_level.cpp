#include "vig/image/tiff_level.h"

#include <algorithm>
#include <cerrno>

#include "vig/base/error.h"

namespace vig {
namespace {

// Longer strips are decoded by rows.
constexpr int64_t kMaxKeptPixels = int64_t{1} << 22;
// Of libtiff for one strip or tile: four 8-bit channels of the largest region.
int64_t piece_room(const RegionLimits& limits) {
  return std::clamp<int64_t>(limits.max_region_pixels, 1 << 16, int64_t{1} << 40) * 4;
}

int64_t pieces_along(int64_t side, int64_t piece) { return (side + piece - 1) / piece; }

}  // namespace

const Image* PieceCache::find(uint64_t key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  items_.splice(items_.begin(), items_, found->second);
  return &items_.front().second;
}

const Image& PieceCache::keep(uint64_t key, Image piece) {
  const uint64_t bytes = piece.rgb.size();
  while (!items_.empty() && bytes_ + bytes > most_) {
    bytes_ -= items_.back().second.rgb.size();
    by_key_.erase(items_.back().first);
    items_.pop_back();
  }
  items_.emplace_front(key, std::move(piece));
  by_key_[key] = items_.begin();
  bytes_ += bytes;
  return items_.front().second;
}

// The rows of one strip.
class TiffLevel::StripRows : public RowReader {
 public:
  StripRows(TiffPage& page, int64_t first)
      : page_(page),
        first_(first),
        next_(first),
        line_(static_cast<size_t>(TIFFScanlineSize(page.tiff()))) {
    if (line_.size() < page.row_bytes(page.width())) page.damaged("rows are too short");
  }

  void restart() override { next_ = first_; }
  void read_row(uint8_t* rgb) override {
    if (TIFFReadScanline(page_.tiff(), line_.data(), static_cast<uint32_t>(next_), 0) != 1) {
      page_.damaged("pixels cannot be read");
    }
    page_.put_row(line_.data(), page_.width(), 0, rgb);
    ++next_;
  }

 private:
  TiffPage& page_;
  int64_t first_, next_;
  std::vector<uint8_t> line_;
};

TiffLevel::TiffLevel(const FileBytes& file, const TiffTags& tags, const std::string& name,
                     const RegionLimits& limits, PieceCache& cache, uint64_t number)
    : file_(file),
      name_(name),
      limits_(limits),
      cache_(cache),
      number_(number),
      page_((check_tables(tags), file), name, piece_room(limits), tags.offset()) {
  check_region_size(name_, page_.width(), page_.height());
  const bool tiled = page_.tiled();
  piece_width_ = page_.width();
  if (tiled) {
    piece_width_ = page_.tile_width();
    piece_height_ = page_.tile_height();
    piece_bytes_ = TIFFTileSize64(page_.tiff());
  } else {
    uint32_t rows = 0;
    TIFFGetFieldDefaulted(page_.tiff(), TIFFTAG_ROWSPERSTRIP, &rows);
    piece_height_ = std::clamp<int64_t>(rows, 1, page_.height());
    piece_bytes_ = TIFFStripSize64(page_.tiff());
  }
  check_region_size(name_, piece_width_, piece_height_);
  across_ = pieces_along(page_.width(), piece_width_);
  down_ = pieces_along(page_.height(), piece_height_);
  const int64_t planes = page_.separate() ? static_cast<int64_t>(page_.samples()) : 1;
  const uint32_t count = tiled ? TIFFNumberOfTiles(page_.tiff()) : TIFFNumberOfStrips(page_.tiff());
  if (across_ * down_ * planes != count) {
    fail("{}: damaged TIFF: {} strips or tiles, expected {}", name_, count,
         across_ * down_ * planes);
  }
  if (!tiled && page_.plain() && page_.compression() == COMPRESSION_NONE) {
    kind_ = Kind::kRaw;
    return;
  }
  if (!tiled && page_.plain() && !page_.separate() &&
      piece_width_ * piece_height_ > kMaxKeptPixels) {
    kind_ = Kind::kScan;
    return;
  }
  const auto room = static_cast<uint64_t>(piece_room(limits));
  if (piece_bytes_ < page_.row_bytes(piece_width_) * static_cast<uint64_t>(piece_height_) &&
      page_.plain()) {
    page_.damaged("strips or tiles are too small");
  }
  if (piece_width_ * piece_height_ > limits_.max_region_pixels || piece_bytes_ > room) {
    fail(
        "{}: a TIFF with strips or tiles of {}x{} pixels and {} bytes, expected at most {} pixels "
        "and {} bytes",
        name_, piece_width_, piece_height_, piece_bytes_, limits_.max_region_pixels, room);
  }
}

TiffLevel::~TiffLevel() = default;

// Before libtiff sees them.
void TiffLevel::check_tables(const TiffTags& tags) const {
  constexpr uint64_t kMaxValue = uint64_t{64} << 20;
  check_tiff_tags(tags, file_.size, name_);
  if (tags.largest_value() > kMaxValue) {
    fail("{}: a TIFF with a tag of {} bytes, expected at most {} (a fixed limit)", name_,
         tags.largest_value(), kMaxValue);
  }
  const auto width = static_cast<int64_t>(std::min<uint64_t>(tags.integer(256, 0), 1ull << 32));
  const auto height = static_cast<int64_t>(std::min<uint64_t>(tags.integer(257, 0), 1ull << 32));
  check_region_size(name_, width, height);
  const uint64_t tile_width = tags.integer(322, 0), tile_height = tags.integer(323, 0);
  const uint64_t planes = tags.integer(284, 1) == 2 ? tags.integer(277, 1) : 1;
  const auto along = [](int64_t side, uint64_t piece) {
    const auto most = static_cast<uint64_t>(side);
    return (most - 1) / std::clamp<uint64_t>(piece, 1, most) + 1;
  };
  const bool tiled = tile_width > 0 && tile_height > 0;
  const uint64_t needed = tiled ? along(width, tile_width) * along(height, tile_height)
                                : along(height, tags.integer(278, ~uint64_t{0}));
  const uint64_t found = std::max(tags.count(324), tags.count(273));
  if (planes > 16 || found < needed * planes) {
    fail("{}: damaged TIFF: a table of {} strips or tiles in a file of {} bytes, expected {}",
         name_, found, file_.size, needed * planes);
  }
}

Image TiffLevel::read(const ImageRegion& region) {
  errno = 0;
  switch (kind_) {
    case Kind::kRaw:
      return read_raw(region);
    case Kind::kScan:
      return read_scan(region);
    case Kind::kPieces:
      break;
  }
  return read_pieces(region);
}

bool TiffLevel::check_piece(uint32_t index) {
  int failed = 0;
  const uint64_t offset = TIFFGetStrileOffsetWithErr(page_.tiff(), index, &failed);
  if (failed != 0) page_.damaged("a table cannot be read");
  const uint64_t size = TIFFGetStrileByteCountWithErr(page_.tiff(), index, &failed);
  if (failed != 0) page_.damaged("a table cannot be read");
  if (offset == 0 && size == 0) return false;
  // Of uncompressed strips only the rows of the region must be there.
  if (offset > file_.size || (size > file_.size - offset && kind_ != Kind::kRaw)) {
    fail("{}: damaged TIFF: strip or tile {} takes {} bytes at {}, in a file of {}", name_, index,
         size, offset, file_.size);
  }
  if (kind_ == Kind::kRaw) return true;
  // libtiff reads all of them.
  const uint64_t most = kind_ == Kind::kScan ? static_cast<uint64_t>(piece_room(limits_))
                                             : piece_bytes_ * 2 + (uint64_t{1} << 20);
  if (size > most) {
    fail("{}: a TIFF whose strip or tile {} takes {} bytes, expected at most {}", name_, index,
         size, most);
  }
  if (page_.compression() == COMPRESSION_JPEG) {
    std::vector<uint8_t> jpeg(size);
    jpeg.resize(file_.read(offset, jpeg.data(), jpeg.size()));
    page_.check_jpeg(jpeg);
  }
  return true;
}

Image TiffLevel::decode_piece(int64_t column, int64_t row) {
  const int64_t x = column * piece_width_, y = row * piece_height_;
  const int64_t columns = std::min(piece_width_, page_.width() - x);
  const int64_t rows = std::min(piece_height_, page_.height() - y);
  const int64_t planes = page_.plain()      ? page_.planes()
                         : page_.separate() ? static_cast<int64_t>(page_.samples())
                                            : 1;
  const auto index = [&](int64_t plane) {
    return static_cast<uint32_t>((plane * down_ + row) * across_ + column);
  };
  bool stored = true;  // sparse files leave pieces out
  for (int64_t plane = 0; plane < planes; ++plane) stored &= check_piece(index(plane));
  if (!page_.plain()) {
    if (!stored) return Image(static_cast<int>(columns), static_cast<int>(rows));
    return page_.read_converted(x, y, static_cast<int>(columns), static_cast<int>(rows));
  }
  Image image(static_cast<int>(columns), static_cast<int>(rows));
  std::vector<uint8_t> samples(piece_bytes_);
  for (int64_t plane = 0; plane < planes; ++plane) {
    const auto size = static_cast<tmsize_t>(samples.size());
    if (stored &&
        (page_.tiled()
             ? TIFFReadEncodedTile(page_.tiff(), index(plane), samples.data(), size)
             : TIFFReadEncodedStrip(page_.tiff(), index(plane), samples.data(), size)) < 0) {
      page_.damaged("pixels cannot be read");
    }
    const uint64_t row_bytes = page_.row_bytes(piece_width_);
    for (int64_t line = 0; line < rows; ++line) {
      page_.put_row(samples.data() + static_cast<uint64_t>(line) * row_bytes, columns,
                    static_cast<int>(plane), image.row(static_cast<int>(line)));
    }
  }
  return image;
}

Image TiffLevel::read_pieces(const ImageRegion& region) {
  const int64_t left = region.x / piece_width_, top = region.y / piece_height_;
  const int64_t right = (region.x + region.width - 1) / piece_width_;
  const int64_t bottom = (region.y + region.height - 1) / piece_height_;
  // Tiles may be much larger than the region, and all the same few bytes of the file.
  const int64_t decoded = (right - left + 1) * (bottom - top + 1) * (piece_width_ * piece_height_);
  const int64_t most = limits_.max_region_pixels * 8;
  if (decoded > most) {
    fail(
        "{}: a region of {}x{} pixels in tiles of {}x{}, which have {} pixels, expected at most {}",
        name_, region.width, region.height, piece_width_, piece_height_, decoded, most);
  }
  Image part(static_cast<int>(region.width), static_cast<int>(region.height));
  for (int64_t row = top; row <= bottom; ++row) {
    for (int64_t column = left; column <= right; ++column) {
      const uint64_t key = number_ << 48 | static_cast<uint64_t>(row * across_ + column);
      const Image* piece = cache_.find(key);
      if (piece == nullptr) piece = &cache_.keep(key, decode_piece(column, row));
      const int64_t x0 = column * piece_width_, y0 = row * piece_height_;
      const int64_t x1 = std::max(region.x, x0), y1 = std::max(region.y, y0);
      const int64_t x2 = std::min(region.x + region.width, x0 + piece->width);
      const int64_t y2 = std::min(region.y + region.height, y0 + piece->height);
      for (int64_t y = y1; y < y2; ++y) {
        std::copy_n(piece->row(static_cast<int>(y - y0)) + (x1 - x0) * 3, (x2 - x1) * 3,
                    part.row(static_cast<int>(y - region.y)) + (x1 - region.x) * 3);
      }
    }
  }
  return part;
}

Image TiffLevel::read_raw(const ImageRegion& region) {
  // From a pixel on that begins with a byte.
  const int64_t before = region.x % 8, first = region.x - before;
  const uint64_t row_bytes = page_.row_bytes(page_.width());
  const uint64_t skipped = page_.row_bytes(first);
  std::vector<uint8_t> line(page_.row_bytes(before + region.width));
  std::vector<uint8_t> rgb(static_cast<size_t>(before + region.width) * 3);
  uint16_t fill_order = FILLORDER_MSB2LSB;
  TIFFGetFieldDefaulted(page_.tiff(), TIFFTAG_FILLORDER, &fill_order);
  Image part(static_cast<int>(region.width), static_cast<int>(region.height));
  for (int y = 0; y < part.height; ++y) {
    const int64_t row = region.y + y, strip = row / piece_height_;
    for (int plane = 0; plane < page_.planes(); ++plane) {
      const auto index = static_cast<uint32_t>(plane * down_ + strip);
      if (check_piece(index)) {
        const uint64_t at = TIFFGetStrileOffset(page_.tiff(), index) +
                            static_cast<uint64_t>(row % piece_height_) * row_bytes + skipped;
        if (file_.read(at, line.data(), line.size()) != line.size()) {
          fail("{}: damaged TIFF: row {} lies at {}, in a file of {} bytes", name_, row, at,
               file_.size);
        }
      } else {
        std::fill(line.begin(), line.end(), uint8_t{0});
      }
      const auto size = static_cast<tmsize_t>(line.size());
      if (fill_order == FILLORDER_LSB2MSB) TIFFReverseBits(line.data(), size);
      if (page_.bits() == 16 && TIFFIsByteSwapped(page_.tiff())) {
        TIFFSwabArrayOfShort(reinterpret_cast<uint16_t*>(line.data()), size / 2);
      }
      page_.put_row(line.data(), before + region.width, plane, rgb.data());
    }
    std::copy_n(rgb.data() + before * 3, part.row_bytes(), part.row(y));
  }
  return part;
}

Image TiffLevel::read_scan(const ImageRegion& region) {
  Image part(static_cast<int>(region.width), static_cast<int>(region.height));
  const int64_t end = region.y + region.height;
  for (int64_t y = region.y; y < end;) {
    const int64_t strip = y / piece_height_, first = strip * piece_height_;
    const int64_t rows = std::min(piece_height_, page_.height() - first);
    const int64_t last = std::min(end, first + rows);
    uint8_t* out = part.row(static_cast<int>(y - region.y));
    if (strip == strip_ || check_piece(static_cast<uint32_t>(strip))) {
      if (strip != strip_) {
        strip_ = -1;
        strip_rows_ = std::make_unique<StripRows>(page_, first);
        band_.emplace(page_.width(), rows, limits_.cache_bytes);
        strip_ = strip;
      }
      const Image found = band_->read(*strip_rows_, {region.x, y - first, region.width, last - y});
      std::copy(found.rgb.begin(), found.rgb.end(), out);
    } else {
      const std::vector<uint8_t> zeros(page_.row_bytes(region.width));
      for (int64_t line = y; line < last; ++line) {
        page_.put_row(zeros.data(), region.width, 0, part.row(static_cast<int>(line - region.y)));
      }
    }
    y = last;
  }
  return part;
}

}  // namespace vig
