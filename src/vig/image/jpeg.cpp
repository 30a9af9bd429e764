// JPEG by libjpeg-turbo.
#include <memory>

#include "vig/image/formats.h"
#include "vig/image/jpeg_reader.h"

namespace vig {
namespace {

class JpegDecoder : public ImageDecoder {
 public:
  JpegDecoder(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options)
      : reader_(bytes, name, options) {
    header_ = {.width = reader_.width(),
               .height = reader_.height(),
               .orientation = find_jpeg_orientation(bytes),
               .working_bytes = reader_.working_bytes()};
  }

  Image decode() override {
    Image image(header_.width, header_.height);
    reader_.start();
    for (int y = 0; y < image.height; ++y) reader_.read_row(image.row(y));
    reader_.finish();
    return image;
  }

 private:
  JpegReader reader_;
};

}  // namespace

std::unique_ptr<ImageDecoder> open_jpeg(std::span<const uint8_t> bytes, const std::string& name,
                                        const DecodeOptions& options) {
  return std::make_unique<JpegDecoder>(bytes, name, options);
}

}  // namespace vig
