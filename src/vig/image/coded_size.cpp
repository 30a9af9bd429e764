#include "vig/image/coded_size.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/image/byte_reader.h"

namespace vig {
namespace {

// Bits from the highest of each byte on. Past the end they are zeros, and `ok` says so.
class BitReader {
 public:
  explicit BitReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint32_t bits(int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; ++i, ++at_) {
      const uint32_t bit = ok() ? bytes_[at_ / 8] >> (7 - at_ % 8) & 1 : 0;
      value = value << 1 | bit;
    }
    return value;
  }
  bool bit() { return bits(1) != 0; }
  void skip(uint64_t count) { at_ += count; }
  bool ok() const { return at_ < bytes_.size() * 8; }

  // Exponential Golomb code: as many bits after the first 1 as there were zeros before it.
  uint32_t golomb() {
    int zeros = 0;
    while (ok() && !bit()) ++zeros;
    if (zeros > 31) zeros = 31;  // longer ones are damage and become a size that is refused
    return (1u << zeros) - 1 + bits(zeros);
  }

 private:
  std::span<const uint8_t> bytes_;
  uint64_t at_ = 0;
};

// --- HEVC (ITU-T H.265): units of data, each with its length before it.

constexpr int kSequenceSet = 33, kFirstNonImage = 32;

void read_hevc_sequence(std::span<const uint8_t> unit, CodedSize& size) {
  // 0 0 3 stands for 0 0, so that no unit holds a start code. The fields up to the sizes are short.
  constexpr size_t kEnough = 512;
  std::vector<uint8_t> plain;
  int zeros = 0;
  for (const uint8_t byte : unit.first(std::min(unit.size(), kEnough))) {
    if (zeros >= 2 && byte == 3) {
      zeros = 0;
      continue;
    }
    zeros = byte == 0 ? zeros + 1 : 0;
    plain.push_back(byte);
  }
  BitReader in(plain);
  in.skip(16 + 4);  // header of the unit, number of the video parameter set
  const uint32_t sub_layers = in.bits(3);
  in.skip(1 + 96);  // nesting; profile, tier and level
  uint32_t flags[8] = {};
  for (uint32_t i = 0; i < sub_layers; ++i) flags[i] = in.bits(2);
  if (sub_layers > 0) in.skip(2 * (8 - sub_layers));
  for (uint32_t i = 0; i < sub_layers; ++i) {
    in.skip((flags[i] & 2 ? 88 : 0) + (flags[i] & 1 ? 8 : 0));
  }
  in.golomb();  // number of this set
  const uint32_t chroma = in.golomb();
  if (chroma == 3) in.skip(1);
  const int64_t width = in.golomb(), height = in.golomb();
  if (in.bit()) {
    for (int i = 0; i < 4; ++i) in.golomb();  // the window that is shown
  }
  const uint32_t luma_bits = in.golomb() + 8, chroma_bits = in.golomb() + 8;
  size.width = std::max(size.width, width);
  size.height = std::max(size.height, height);
  constexpr int kHalfSamples[] = {2, 3, 4, 6};
  size.half_samples = std::max(size.half_samples, kHalfSamples[std::min(chroma, 3u)]);
  size.sample_bytes = std::max(size.sample_bytes, luma_bits > 8 || chroma_bits > 8 ? 2 : 1);
}

void read_hevc_unit(std::span<const uint8_t> unit, CodedSize& size) {
  if (unit.empty()) return;
  const int type = unit[0] >> 1 & 63;
  if (type == kSequenceSet) read_hevc_sequence(unit, size);
  if (type >= kFirstNonImage) return;
  ++size.passes;
  if (unit.size() > 2 && (unit[2] & 0x80) != 0) ++size.frames;  // the first slice of one
}

void read_hevc(const CodedImage& image, std::span<const uint8_t> data, const std::string& name,
               CodedSize& size) {
  ByteReader config(image.config, name, "HEIC");
  config.skip(21);
  if ((config.u8() & 3) != 3) {
    fail("{}: damaged HEIC: lengths of other than 4 bytes before the units of data", name);
  }
  const int arrays = config.u8();
  for (int i = 0; i < arrays; ++i) {
    config.skip(1);  // type, which every unit repeats
    const uint32_t units = config.be16();
    for (uint32_t unit = 0; unit < units; ++unit) {
      read_hevc_unit(config.take(config.be16()), size);
    }
  }
  ByteReader in(data, name, "HEIC");
  while (in.remaining() > 0) read_hevc_unit(in.take(in.be32()), size);
}

// --- AV1: open bitstream units (OBUs).

constexpr int kObuSequence = 1, kObuFrameHeader = 3, kObuFrame = 6;

// The operating points and what they depend on: nothing here matters but its length.
void skip_av1_operating_points(BitReader& in) {
  bool decoder_model = false;
  uint32_t delay_bits = 0;
  if (in.bit()) {  // timing
    in.skip(64);
    if (in.bit()) in.golomb();
    decoder_model = in.bit();
    if (decoder_model) {
      delay_bits = in.bits(5) + 1;
      in.skip(42);
    }
  }
  const bool display_delay = in.bit();
  const uint32_t points = in.bits(5) + 1;
  for (uint32_t i = 0; i < points; ++i) {
    in.skip(12);
    if (in.bits(5) > 7) in.skip(1);
    if (decoder_model && in.bit()) in.skip(2 * delay_bits + 1);
    if (display_delay && in.bit()) in.skip(4);
  }
}

void skip_av1_inter_tools(BitReader& in) {
  in.skip(4);
  const bool order = in.bit();
  if (order) in.skip(2);
  const bool screen_tools = in.bit() || in.bit();
  if (screen_tools && !in.bit()) in.skip(1);
  if (order) in.skip(3);
}

void read_av1_sequence(std::span<const uint8_t> unit, CodedSize& size) {
  BitReader in(unit);
  const uint32_t profile = in.bits(3);
  in.skip(1);  // whether it is a still image
  const bool reduced = in.bit();
  if (reduced) {
    in.skip(5);  // level
  } else {
    skip_av1_operating_points(in);
  }
  const int width_bits = static_cast<int>(in.bits(4)) + 1;
  const int height_bits = static_cast<int>(in.bits(4)) + 1;
  size.width = std::max(size.width, int64_t{in.bits(width_bits)} + 1);
  size.height = std::max(size.height, int64_t{in.bits(height_bits)} + 1);
  if (!reduced && in.bit()) in.skip(7);  // frame numbers
  in.skip(3);                            // superblocks, intra tools
  if (!reduced) skip_av1_inter_tools(in);
  in.skip(3);  // super-resolution, filters
  // Profile 0 has 4:2:0, profile 1 has 4:4:4, profile 2 has all.
  size.half_samples = std::max(size.half_samples, profile == 0 ? 3 : 6);
  size.sample_bytes = std::max(size.sample_bytes, in.bit() ? 2 : 1);
}

void read_av1_units(std::span<const uint8_t> bytes, const std::string& name, CodedSize& size) {
  ByteReader in(bytes, name, "AVIF");
  while (in.remaining() > 0) {
    const uint8_t header = in.u8();
    const int type = header >> 3 & 15;
    if (header & 4) in.skip(1);  // layers
    uint64_t length = in.remaining();
    if (header & 2) {
      length = 0;
      for (int shift = 0; shift < 56; shift += 7) {
        const uint8_t byte = in.u8();
        length |= uint64_t{byte & 0x7Fu} << shift;
        if ((byte & 0x80) == 0) break;
      }
    }
    const auto unit = in.take(length);
    if (type == kObuSequence) read_av1_sequence(unit, size);
    if (type == kObuFrameHeader || type == kObuFrame) {
      ++size.passes;
      ++size.frames;
    }
  }
}

}  // namespace

CodedSize coded_size(const CodedImage& image, std::span<const uint8_t> data,
                     const std::string& name) {
  CodedSize size;
  if (image.codec == HeifCodec::kHevc) {
    read_hevc(image, data, name, size);
  } else {
    ByteReader config(image.config, name, "AVIF");
    config.skip(4);
    read_av1_units(config.take(config.remaining()), name, size);
    read_av1_units(data, name, size);
  }
  if (size.width < 1 || size.height < 1 || size.passes < 1) {
    fail("{}: damaged HEIC or AVIF: data without {}", name,
         size.passes < 1 ? "an image" : "a size");
  }
  return size;
}

}  // namespace vig
