#include "vig/image/encode.h"

#include <cstddef>
#include <cstdio>
// jpeglib.h uses size_t and FILE without including them.
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <new>

#include "vig/base/error.h"
#include "vig/image/preprocess.h"

namespace vig {
namespace {

// libjpeg reports errors by longjmp, so no object with a destructor may live in a
// frame between `write` and libjpeg.
class JpegWriter {
 public:
  JpegWriter() {
    cinfo_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr cinfo) {
      std::longjmp(static_cast<JpegWriter*>(cinfo->client_data)->jump_, 1);
    };
    cinfo_.client_data = this;
  }
  ~JpegWriter() {
    jpeg_destroy_compress(&cinfo_);
    std::free(bytes_);
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;

  // False when there is no memory: the only failure with an image of a legal size.
  bool write(const Image& image, int quality) {
    if (setjmp(jump_) != 0) return false;
    jpeg_create_compress(&cinfo_);
    jpeg_mem_dest(&cinfo_, &bytes_, &size_);
    cinfo_.image_width = static_cast<JDIMENSION>(image.width);
    cinfo_.image_height = static_cast<JDIMENSION>(image.height);
    cinfo_.input_components = 3;
    cinfo_.in_color_space = JCS_RGB;
    jpeg_set_defaults(&cinfo_);
    jpeg_set_quality(&cinfo_, quality, TRUE);
    jpeg_start_compress(&cinfo_, TRUE);
    while (cinfo_.next_scanline < cinfo_.image_height) {
      JSAMPROW row = const_cast<JSAMPROW>(image.row(static_cast<int>(cinfo_.next_scanline)));
      jpeg_write_scanlines(&cinfo_, &row, 1);
    }
    jpeg_finish_compress(&cinfo_);
    return true;
  }
  std::vector<uint8_t> bytes() const { return {bytes_, bytes_ + size_}; }

 private:
  jpeg_compress_struct cinfo_ = {};
  jpeg_error_mgr errors_ = {};
  std::jmp_buf jump_ = {};
  unsigned char* bytes_ = nullptr;
  unsigned long size_ = 0;
};

}  // namespace

std::vector<uint8_t> encode_jpeg(const Image& image, int quality) {
  if (image.width < 1 || image.height < 1 ||
      std::max(image.width, image.height) > JPEG_MAX_DIMENSION) {
    fail_usage("an image of {}x{} pixels, expected sides from 1 to {} for a JPEG", image.width,
               image.height, JPEG_MAX_DIMENSION);
  }
  JpegWriter writer;
  if (!writer.write(image, quality)) throw std::bad_alloc();
  return writer.bytes();
}

Image thumbnail(const Image& image, int side) {
  const int longer = std::max(image.width, image.height);
  if (longer <= side) return image;
  const auto scaled = [&](int length) {
    return static_cast<int>(std::max<int64_t>(1, (int64_t{length} * side + longer / 2) / longer));
  };
  return resize_image(image, scaled(image.width), scaled(image.height), Interpolation::kBilinear);
}

}  // namespace vig
