// JPEG by libjpeg-turbo: accurate integer DCT and smooth chroma, as Pillow decodes.
#include <cstddef>
#include <cstdio>
// jpeglib.h uses size_t and FILE without including them.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/exif.h"
#include "vig/image/formats.h"

namespace vig {
namespace {

// A progressive file may repeat scans of a few bytes each, and every one of them costs a walk over
// the whole picture, about 0.7 ns per pixel. Honest encoders write about ten. Small pictures may
// have as many scans as the format makes sense for, large ones as many as fit the budget.
constexpr int64_t kMaxScans = 500;
constexpr int64_t kMinScansAllowed = 64;
constexpr int64_t kScanPixelBudget = int64_t{1} << 31;

// libjpeg is told to leave by longjmp, so no object with a destructor may live in a frame between
// `guarded` and libjpeg.
class JpegReader {
 public:
  explicit JpegReader(const std::string& name) : name_(name) {
    cinfo_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr cinfo) {
      self(cinfo).errors_.format_message(cinfo, self(cinfo).message_);
      std::longjmp(self(cinfo).jump_, 1);
    };
    errors_.emit_message = [](j_common_ptr cinfo, int level) {
      if (level < 0 && !is_harmless(cinfo->err->msg_code)) cinfo->err->error_exit(cinfo);
    };
    cinfo_.client_data = this;
    progress_.progress_monitor = [](j_common_ptr cinfo) {
      JpegReader& reader = self(cinfo);
      if (reader.cinfo_.input_scan_number <= reader.max_scans_) return;
      std::snprintf(reader.message_, sizeof(reader.message_), "more than %d scans",
                    reader.max_scans_);
      std::longjmp(reader.jump_, 1);
    };
    guarded([&] { jpeg_create_decompress(&cinfo_); });
    cinfo_.progress = &progress_;
  }
  ~JpegReader() { jpeg_destroy_decompress(&cinfo_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  StoredImage read(std::span<const uint8_t> bytes, const DecodeOptions& options) {
    guarded([&] {
      jpeg_mem_src(&cinfo_, bytes.data(), bytes.size());
      jpeg_save_markers(&cinfo_, JPEG_APP0 + 1, 0xFFFF);
      jpeg_read_header(&cinfo_, TRUE);
    });
    check_size(name_, cinfo_.image_width, cinfo_.image_height, options);
    const int64_t pixels = int64_t{cinfo_.image_width} * cinfo_.image_height;
    max_scans_ =
        static_cast<int>(std::clamp(kScanPixelBudget / pixels, kMinScansAllowed, kMaxScans));

    const int channels = cinfo_.num_components;
    if (channels != 1 && channels != 3 && channels != 4) {
      fail("{}: a JPEG of {} colour components, expected 1, 3 or 4", name_, channels);
    }
    cinfo_.out_color_space = channels == 4 ? JCS_CMYK : JCS_RGB;
    cinfo_.dct_method = JDCT_ISLOW;
    cinfo_.do_fancy_upsampling = TRUE;

    StoredImage result;
    result.image =
        Image(static_cast<int>(cinfo_.image_width), static_cast<int>(cinfo_.image_height));
    result.orientation = orientation();
    guarded([&] { jpeg_start_decompress(&cinfo_); });
    if (channels == 4) {
      read_cmyk(result.image);
    } else {
      read_rgb(result.image);
    }
    guarded([&] { jpeg_finish_decompress(&cinfo_); });
    return result;
  }

 private:
  static JpegReader& self(j_common_ptr cinfo) {
    return *static_cast<JpegReader*>(cinfo->client_data);
  }

  // Oddities that cost no pixels. All other warnings mean that part of the picture is guesswork.
  static bool is_harmless(int code) {
    return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
           code == JWRN_BOGUS_ICC || code == JWRN_NOT_SEQUENTIAL || code == JWRN_BOGUS_PROGRESSION;
  }

  template <typename Step>
  void guarded(const Step& step) {
    if (setjmp(jump_) != 0) fail("{}: damaged JPEG: {}", name_, message_);
    step();
  }

  int orientation() const {
    for (auto marker = cinfo_.marker_list; marker != nullptr; marker = marker->next) {
      // Other data, such as XMP, uses the same marker with another title.
      const std::span<const uint8_t> data(marker->data, marker->data_length);
      if (data.size() >= 6 && std::equal(data.begin(), data.begin() + 4, "Exif")) {
        return exif_orientation(data);
      }
    }
    return 1;
  }

  void read_rgb(Image& image) {
    guarded([&] {
      while (cinfo_.output_scanline < cinfo_.output_height) {
        JSAMPROW row = image.row(static_cast<int>(cinfo_.output_scanline));
        jpeg_read_scanlines(&cinfo_, &row, 1);
      }
    });
  }

  void read_cmyk(Image& image) {
    std::vector<uint8_t> line(static_cast<size_t>(image.width) * 4);
    JSAMPROW row = line.data();
    for (int y = 0; y < image.height; ++y) {
      guarded([&] { jpeg_read_scanlines(&cinfo_, &row, 1); });
      uint8_t* rgb = image.row(y);
      for (int x = 0; x < image.width; ++x) {
        // Adobe stores 255 - ink, so `white` is 255 - K and 255 - stored is the ink.
        const int white = line[x * 4 + 3];
        for (int c = 0; c < 3; ++c) {
          const int product = (255 - line[x * 4 + c]) * white + 128;
          rgb[x * 3 + c] = static_cast<uint8_t>(white - ((product + (product >> 8)) >> 8));
        }
      }
    }
  }

  const std::string& name_;
  jpeg_decompress_struct cinfo_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf jump_ = {};
  char message_[JMSG_LENGTH_MAX] = {};
  int max_scans_ = static_cast<int>(kMaxScans);
};

}  // namespace

StoredImage decode_jpeg(std::span<const uint8_t> bytes, const std::string& name,
                        const DecodeOptions& options) {
  return JpegReader(name).read(bytes, options);
}

}  // namespace vig
