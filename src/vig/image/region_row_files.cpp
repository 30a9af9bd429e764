// Sequential JPEG and PNG without interlacing, by bands of rows.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/formats.h"
#include "vig/image/jpeg_reader.h"
#include "vig/image/png_reader.h"
#include "vig/image/region_formats.h"

namespace vig {
namespace {

constexpr int64_t kMaxRowWidth = int64_t{1} << 20;

class JpegRows : public RowReader {
 public:
  JpegRows(FileBytes file, const std::string& name) : file_(std::move(file)), name_(name) {
    restart();
  }

  JpegReader& reader() { return *reader_; }
  void restart() override {
    reader_ = std::make_unique<JpegReader>(file_, name_);
    next_ = 0;
  }
  void read_row(uint8_t* rgb) override {
    if (next_ == 0) reader_->start();
    reader_->read_row(rgb);
    // Damage after the last row is damage for the decoder of whole images, too.
    if (++next_ == reader_->height()) reader_->finish();
  }

 private:
  const FileBytes file_;
  const std::string& name_;
  std::unique_ptr<JpegReader> reader_;
  int next_ = 0;
};

class PngRows : public RowReader {
 public:
  PngRows(FileBytes file, const std::string& name) : file_(std::move(file)), name_(name) {
    restart();
  }

  PngReader& reader() { return *reader_; }
  void restart() override {
    reader_ = std::make_unique<PngReader>(buffered(file_), name_);
    started_ = false;
  }
  void read_row(uint8_t* rgb) override {
    if (!started_) reader_->prepare_rgb();
    started_ = true;
    png_structp png = reader_->png();
    reader_->guarded([&] { png_read_row(png, rgb, nullptr); });
  }

 private:
  const FileBytes file_;
  const std::string& name_;
  std::unique_ptr<PngReader> reader_;
  bool started_ = false;
};

template <typename Rows>
class RowFile : public RegionSource {
 public:
  RowFile(FileBytes file, std::string name, const RegionLimits& limits)
      : RegionSource(std::move(name), limits), rows_(std::move(file), name_) {
    const int64_t width = rows_.reader().width(), height = rows_.reader().height();
    check_region_size(name_, width, height);
    // Decoders keep a few rows.
    if (width > kMaxRowWidth) {
      fail("{}: an image of {}x{} pixels, expected a width of at most {} (a fixed limit)", name_,
           width, height, kMaxRowWidth);
    }
    levels_ = {{width, height, 1}};
    sequential_ = true;
    band_ = std::make_unique<RowBand>(width, height, limits.cache_bytes);
  }

  Rows& rows() { return rows_; }

 private:
  Image read_region(int, const ImageRegion& region) override { return band_->read(rows_, region); }

  Rows rows_;
  std::unique_ptr<RowBand> band_;
};

}  // namespace

std::unique_ptr<RegionSource> open_jpeg_rows(FileBytes file, std::string name,
                                             const RegionLimits& limits) {
  // EXIF stands before tables and profiles.
  constexpr uint64_t kMaxStart = uint64_t{1} << 20;
  std::vector<uint8_t> start(std::min(file.size, kMaxStart));
  start.resize(file.read(0, start.data(), start.size()));
  if (limits.decode.apply_orientation && find_jpeg_orientation(start) != 1) return nullptr;
  auto source = std::make_unique<RowFile<JpegRows>>(std::move(file), std::move(name), limits);
  if (!source->rows().reader().by_rows()) return nullptr;
  return source;
}

std::unique_ptr<RegionSource> open_png_rows(FileBytes file, std::string name,
                                            const RegionLimits& limits) {
  if (limits.decode.apply_orientation && find_png_orientation(buffered(file)) != 1) return nullptr;
  auto source = std::make_unique<RowFile<PngRows>>(std::move(file), std::move(name), limits);
  if (source->rows().reader().interlaced()) return nullptr;
  return source;
}

}  // namespace vig
