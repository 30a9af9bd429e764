// PNG by libpng.
#include <memory>

#include "vig/image/file_bytes.h"
#include "vig/image/formats.h"
#include "vig/image/png_reader.h"

namespace vig {
namespace {

class PngDecoder : public ImageDecoder {
 public:
  PngDecoder(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options)
      : reader_(bytes, name, options) {
    header_ = {.width = reader_.width(),
               .height = reader_.height(),
               .orientation = find_png_orientation(memory_bytes(bytes)),
               .working_bytes = reader_.working_bytes()};
  }

  Image decode() override {
    png_structp png = reader_.png();
    const int passes = reader_.prepare_rgb();
    Image image(header_.width, header_.height);
    reader_.guarded([&] {
      for (int pass = 0; pass < passes; ++pass) {
        for (int y = 0; y < image.height; ++y) png_read_row(png, image.row(y), nullptr);
      }
    });
    return image;
  }

 private:
  PngReader reader_;
};

}  // namespace

std::unique_ptr<ImageDecoder> open_png(std::span<const uint8_t> bytes, const std::string& name,
                                       const DecodeOptions& options) {
  return std::make_unique<PngDecoder>(bytes, name, options);
}

}  // namespace vig
