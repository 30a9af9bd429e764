// PNG by libpng.
#include <cstring>
#include <memory>

#include "vig/base/error.h"
#include "vig/image/exif.h"
#include "vig/image/formats.h"
#include "vig/image/png_reader.h"

namespace vig {
namespace {

constexpr size_t kSignatureBytes = 8;

// EXIF may stand after the pixels, so libpng would have to read to the end; going through the
// chunks is simpler and also works for files that lack it.
int find_png_orientation(std::span<const uint8_t> png) {
  size_t at = kSignatureBytes;
  while (png.size() - at >= 12) {
    const size_t size =
        static_cast<size_t>(png[at]) << 24 | png[at + 1] << 16 | png[at + 2] << 8 | png[at + 3];
    if (size > png.size() - at - 12) break;
    if (std::memcmp(png.data() + at + 4, "eXIf", 4) == 0) {
      return exif_orientation(png.subspan(at + 8, size));
    }
    at += size + 12;
  }
  return 1;
}

class PngDecoder : public ImageDecoder {
 public:
  PngDecoder(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options)
      : name_(name), reader_(bytes, name, options) {
    header_ = {.width = reader_.width(),
               .height = reader_.height(),
               .orientation = find_png_orientation(bytes),
               .working_bytes = reader_.working_bytes()};
  }

  Image decode() override {
    png_structp png = reader_.png();
    png_infop info = reader_.info();
    int passes = 0;
    reader_.guarded([&] {
      png_set_palette_to_rgb(png);
      png_set_expand_gray_1_2_4_to_8(png);
      png_set_strip_16(png);
      png_set_strip_alpha(png);
      png_set_gray_to_rgb(png);
      passes = png_set_interlace_handling(png);
      png_read_update_info(png, info);
    });

    Image image(header_.width, header_.height);
    if (png_get_rowbytes(png, info) != image.row_bytes()) {
      fail("{}: a PNG row of {} bytes, expected {}", name_, png_get_rowbytes(png, info),
           image.row_bytes());
    }
    reader_.guarded([&] {
      for (int pass = 0; pass < passes; ++pass) {
        for (int y = 0; y < image.height; ++y) png_read_row(png, image.row(y), nullptr);
      }
    });
    return image;
  }

 private:
  const std::string& name_;
  PngReader reader_;
};

}  // namespace

std::unique_ptr<ImageDecoder> open_png(std::span<const uint8_t> bytes, const std::string& name,
                                       const DecodeOptions& options) {
  return std::make_unique<PngDecoder>(bytes, name, options);
}

}  // namespace vig
