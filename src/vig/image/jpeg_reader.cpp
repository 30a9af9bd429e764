#include "vig/image/jpeg_reader.h"

#include <jerror.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "vig/image/exif.h"
#include "vig/image/jpeg_segments.h"

namespace vig {
namespace {

// A progressive file may repeat scans of a few bytes each, and every one of them visits
// coefficients of the whole image, in about 1 ns each. Honest encoders visit each of them up to
// four times in about ten scans. The limit allows that for the largest images and ends within 2
// s.
constexpr int kMaxScans = 500;
constexpr uint64_t kMaxVisits = uint64_t{3} << 29;
// Blocks cost something even where a scan takes one coefficient of each.
constexpr uint64_t kMinVisitsPerBlock = 8;
// Arithmetic coding takes up to 90 ns for a coefficient and as little as one bit of the file.
constexpr uint64_t kMaxArithmeticVisits = uint64_t{1} << 25;

}  // namespace

// libjpeg would hand out segments, too, but it copies all of a kind into a list whose end it
// searches each time.
int find_jpeg_orientation(std::span<const uint8_t> jpeg) {
  constexpr uint8_t kApp1 = 0xE1;
  for (JpegSegments segments(jpeg); segments.next();) {
    const std::span<const uint8_t> data = segments.data();
    // Other data, such as XMP, uses the same marker with another title.
    if (segments.marker() == kApp1 && data.size() >= 6 &&
        std::equal(data.begin(), data.begin() + 4, "Exif")) {
      return exif_orientation(data);
    }
  }
  return 1;
}

JpegReader::JpegReader(std::span<const uint8_t> bytes, const std::string& name,
                       const DecodeOptions& options)
    : name_(name) {
  create();
  // Once created, libjpeg's memory must be given back also when the header is invalid.
  try {
    read_header([&] { jpeg_mem_src(&cinfo_, bytes.data(), bytes.size()); });
    check_size(name_, cinfo_.image_width, cinfo_.image_height, options);
    if (!count_scan()) fail("{}: damaged JPEG: {}", name_, message_);
  } catch (...) {
    jpeg_destroy_decompress(&cinfo_);
    throw;
  }
}

JpegReader::JpegReader(FileBytes bytes, const std::string& name) : name_(name), bounded_(false) {
  blocks_.file = std::move(bytes);
  blocks_.block.resize(size_t{1} << 16);
  create();
  try {
    read_header([&] { set_blocks(); });
  } catch (...) {
    jpeg_destroy_decompress(&cinfo_);
    throw;
  }
}

JpegReader::~JpegReader() { jpeg_destroy_decompress(&cinfo_); }

void JpegReader::create() {
  cinfo_.err = jpeg_std_error(&errors_);
  errors_.error_exit = [](j_common_ptr cinfo) {
    self(cinfo).no_memory_ = cinfo->err->msg_code == JERR_OUT_OF_MEMORY;
    self(cinfo).errors_.format_message(cinfo, self(cinfo).message_);
    std::longjmp(self(cinfo).jump_, 1);
  };
  errors_.emit_message = [](j_common_ptr cinfo, int level) {
    if (level < 0 && !is_harmless(cinfo->err->msg_code)) cinfo->err->error_exit(cinfo);
  };
  cinfo_.client_data = this;
  progress_.progress_monitor = [](j_common_ptr cinfo) {
    if (!self(cinfo).count_scan()) std::longjmp(self(cinfo).jump_, 1);
  };
  guarded([&] { jpeg_create_decompress(&cinfo_); });
  cinfo_.progress = &progress_;
}

template <typename F>
void JpegReader::read_header(const F& set_source) {
  guarded([&] {
    set_source();
    jpeg_read_header(&cinfo_, TRUE);
  });
  const int channels = cinfo_.num_components;
  if (channels != 1 && channels != 3 && channels != 4) {
    fail("{}: a JPEG of {} colour components, expected 1, 3 or 4", name_, channels);
  }
  cinfo_.out_color_space = channels == 4 ? JCS_CMYK : JCS_RGB;
  cinfo_.dct_method = JDCT_ISLOW;
  cinfo_.do_fancy_upsampling = TRUE;
}

void JpegReader::set_blocks() {
  jpeg_source_mgr& manager = blocks_.manager;
  manager.init_source = [](j_decompress_ptr) {};
  manager.term_source = [](j_decompress_ptr) {};
  manager.resync_to_restart = jpeg_resync_to_restart;
  manager.fill_input_buffer = [](j_decompress_ptr cinfo) -> boolean {
    if (!self(reinterpret_cast<j_common_ptr>(cinfo)).next_block()) {
      ERREXIT(cinfo, JERR_INPUT_EOF);
    }
    return TRUE;
  };
  manager.skip_input_data = [](j_decompress_ptr cinfo, long count) {
    Blocks& blocks = self(reinterpret_cast<j_common_ptr>(cinfo)).blocks_;
    if (count <= 0) return;
    const auto skipped = static_cast<size_t>(count);
    const size_t inside = std::min(skipped, blocks.manager.bytes_in_buffer);
    blocks.manager.next_input_byte += inside;
    blocks.manager.bytes_in_buffer -= inside;
    blocks.position += skipped - inside;
  };
  cinfo_.src = &manager;
}

// Called by libjpeg, through which nothing may be thrown.
bool JpegReader::next_block() {
  size_t count = 0;
  try {
    count = blocks_.file.read(blocks_.position, blocks_.block.data(), blocks_.block.size());
  } catch (const std::exception&) {
    return false;
  }
  blocks_.position += count;
  blocks_.manager.next_input_byte = blocks_.block.data();
  blocks_.manager.bytes_in_buffer = count;
  return count > 0;
}

// Oddities that cost no pixels. All other warnings mean that part of the image is guesswork.
bool JpegReader::is_harmless(int code) {
  return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
         code == JWRN_BOGUS_ICC || code == JWRN_NOT_SEQUENTIAL || code == JWRN_BOGUS_PROGRESSION;
}

// Adds what a scan that has just begun will cost. False, with a message, when it is too much.
bool JpegReader::count_scan() {
  if (!bounded_) return true;
  if (cinfo_.input_scan_number <= counted_scans_) return true;
  counted_scans_ = cinfo_.input_scan_number;
  // A sequential scan reads whole blocks and ignores the band it states.
  const auto band = static_cast<uint64_t>(
      cinfo_.progressive_mode ? std::max(cinfo_.Se - cinfo_.Ss + 1, 1) : DCTSIZE2);
  for (int i = 0; i < cinfo_.comps_in_scan; ++i) {
    const jpeg_component_info& component = *cinfo_.cur_comp_info[i];
    visits_ += uint64_t{component.width_in_blocks} * component.height_in_blocks *
               std::max(band, kMinVisitsPerBlock);
  }
  const uint64_t most = cinfo_.arith_code ? kMaxArithmeticVisits : kMaxVisits;
  if (visits_ <= most && counted_scans_ <= kMaxScans) return true;
  std::snprintf(
      message_, sizeof(message_),
      "%d scans that visit %llu coefficients, expected at most %d and %llu%s (fixed limits)",
      counted_scans_, static_cast<unsigned long long>(visits_), kMaxScans,
      static_cast<unsigned long long>(most), cinfo_.arith_code ? " with arithmetic coding" : "");
  return false;
}

// Images of several scans keep all coefficients. Beside them there are the sample rows of one
// row of blocks with its neighbours, which count for images that are very wide.
uint64_t JpegReader::working_bytes() {
  constexpr uint64_t kFixed = uint64_t{1} << 20;  // tables
  constexpr uint64_t kBlockBytes = DCTSIZE2 * sizeof(JCOEF);
  const bool all = jpeg_has_multiple_scans(&cinfo_) != 0;
  uint64_t most_h = 1, most_v = 1;
  for (int c = 0; c < cinfo_.num_components; ++c) {
    most_h = std::max<uint64_t>(most_h, static_cast<uint64_t>(cinfo_.comp_info[c].h_samp_factor));
    most_v = std::max<uint64_t>(most_v, static_cast<uint64_t>(cinfo_.comp_info[c].v_samp_factor));
  }
  const auto blocks = [](uint64_t side, uint64_t factor, uint64_t most) {
    // Rounded up to whole MCUs.
    return (side + most * DCTSIZE - 1) / (most * DCTSIZE) * factor;
  };
  uint64_t bytes = kFixed;
  for (int c = 0; c < cinfo_.num_components; ++c) {
    const auto h = static_cast<uint64_t>(cinfo_.comp_info[c].h_samp_factor);
    const auto v = static_cast<uint64_t>(cinfo_.comp_info[c].v_samp_factor);
    const uint64_t across = blocks(cinfo_.image_width, h, most_h);
    if (all) bytes += across * blocks(cinfo_.image_height, v, most_v) * kBlockBytes;
    const uint64_t rows = v * DCTSIZE * 2;  // blocks, and the rows above and below them
    bytes += across * DCTSIZE * rows + uint64_t{cinfo_.image_width} * (most_v + 4);
  }
  return bytes;
}

void JpegReader::start() {
  guarded([&] { jpeg_start_decompress(&cinfo_); });
  if (cinfo_.num_components == 4) line_.resize(static_cast<size_t>(cinfo_.image_width) * 4);
}

void JpegReader::read_row(uint8_t* rgb) {
  JSAMPROW row = line_.empty() ? rgb : line_.data();
  guarded([&] { jpeg_read_scanlines(&cinfo_, &row, 1); });
  if (line_.empty()) return;
  for (size_t x = 0; x < cinfo_.image_width; ++x) {
    // Adobe stores 255 - ink, so `white` is 255 - K and 255 - stored is the ink.
    const int white = line_[x * 4 + 3];
    for (size_t c = 0; c < 3; ++c) {
      const int product = (255 - line_[x * 4 + c]) * white + 128;
      rgb[x * 3 + c] = static_cast<uint8_t>(white - ((product + (product >> 8)) >> 8));
    }
  }
}

void JpegReader::finish() {
  guarded([&] { jpeg_finish_decompress(&cinfo_); });
}

}  // namespace vig
