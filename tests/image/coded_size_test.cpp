// Sizes from the headers of HEVC and AV1: fields of changing length before them, bit by bit.
#include "vig/image/coded_size.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vig {
namespace {

using Bytes = std::vector<uint8_t>;

// Bits from the highest of each byte on; the last byte is filled with zeros.
class BitWriter {
 public:
  BitWriter& bits(uint64_t value, int count) {
    for (int i = count - 1; i >= 0; --i, ++at_) {
      if (at_ % 8 == 0) bytes_.push_back(0);
      bytes_.back() |= static_cast<uint8_t>((value >> i & 1) << (7 - at_ % 8));
    }
    return *this;
  }
  BitWriter& ones(int count) {
    for (int i = 0; i < count; ++i) bits(1, 1);
    return *this;
  }
  BitWriter& golomb(uint64_t value) {
    int length = 1;
    while ((value + 1) >> length != 0) ++length;
    return bits(0, length - 1).bits(value + 1, length);
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  size_t at_ = 0;
};

// An AV1 picture: the sequence header, then a frame of one byte.
CodedSize av1_size(const Bytes& sequence) {
  const Bytes config(4);
  Bytes data = {0x0a, static_cast<uint8_t>(sequence.size())};
  data.insert(data.end(), sequence.begin(), sequence.end());
  data.insert(data.end(), {0x32, 1, 0});
  CodedPicture picture;
  picture.codec = HeifCodec::kAv1;
  picture.config = config;
  return coded_size(picture, data, "x");
}

// What follows the operating points: 300 x 200 pixels in 9 and 8 bits each, 10 bits a sample.
void write_av1_rest(BitWriter& to) {
  to.bits(8, 4).bits(7, 4).bits(299, 9).bits(199, 8);
  to.bits(1, 1).ones(7);  // numbers of frames
  to.bits(0, 3 + 4);
  to.bits(1, 1).ones(2);  // order hints
  to.bits(0, 1)
      .bits(1, 1)
      .bits(0, 1)  // screen content: forced, with a fixed precision
      .bits(1, 1);
  to.bits(6, 3).bits(0, 3).bits(1, 1);
}

void expect_av1_size(const BitWriter& sequence) {
  const CodedSize size = av1_size(sequence.bytes());
  EXPECT_EQ(size.width, 300);
  EXPECT_EQ(size.height, 200);
  EXPECT_EQ(size.sample_bytes, 2);
  EXPECT_EQ(size.frames, 1);
}

// Only levels above 7 are followed by a tier.
TEST(CodedSize, OfEveryLevelOfAv1) {
  for (uint32_t level = 0; level < 32; ++level) {
    SCOPED_TRACE(level);
    BitWriter sequence;
    sequence.bits(0, 3 + 2);         // profile; neither a still picture nor reduced
    sequence.bits(0, 2).bits(0, 5);  // no timing, no delays, one point
    sequence.ones(12).bits(level, 5).ones(level > 7 ? 1 : 0);
    write_av1_rest(sequence);
    expect_av1_size(sequence);
  }
}

TEST(CodedSize, OfAv1WithEverythingBefore) {
  BitWriter sequence;
  sequence.bits(0, 3 + 2);
  sequence.bits(1, 1).ones(64).bits(1, 1).golomb(9);  // timing
  sequence.bits(1, 1).bits(3, 5).ones(42);            // the model of a decoder: delays of 4 bits
  sequence.bits(1, 1).bits(2, 5);                     // delays of display, three points
  sequence.ones(12).bits(7, 5).bits(0, 1).bits(0, 1);
  sequence.ones(12).bits(8, 5).bits(1, 1).bits(1, 1).ones(9).bits(1, 1).ones(4);
  sequence.ones(12).bits(31, 5).bits(0, 1).bits(1, 1).ones(9).bits(0, 1);
  write_av1_rest(sequence);
  expect_av1_size(sequence);
}

// An HEVC picture: the sequence parameters, then one slice.
CodedSize hevc_size(const Bytes& sequence) {
  Bytes config(23);
  config[21] = 3;
  Bytes data = {0, 0, 0, static_cast<uint8_t>(sequence.size())};
  data.insert(data.end(), sequence.begin(), sequence.end());
  data.insert(data.end(), {0, 0, 0, 3, 19 << 1, 1, 0x80});
  CodedPicture picture;
  picture.codec = HeifCodec::kHevc;
  picture.config = config;
  return coded_size(picture, data, "x");
}

// Each sub-layer has two flags, for a profile of 88 bits and a level of 8 bits. Where there is a
// sub-layer, those missing up to 8 have two bits as well.
TEST(CodedSize, OfHevcWithSubLayers) {
  for (uint32_t layers = 0; layers < 8; ++layers) {
    for (uint32_t flags = 0; flags < 4; ++flags) {
      SCOPED_TRACE(testing::Message() << layers << " sub-layers, flags " << flags);
      BitWriter sequence;
      sequence.bits(33 << 9 | 1, 16).ones(4).bits(layers, 3).ones(1 + 96);
      for (uint32_t i = 0; i < layers; ++i) sequence.bits(flags, 2);
      if (layers > 0) sequence.bits(0, static_cast<int>(2 * (8 - layers)));
      for (uint32_t i = 0; i < layers; ++i) {
        sequence.ones((flags & 2 ? 88 : 0) + (flags & 1 ? 8 : 0));
      }
      sequence.golomb(0).golomb(1).golomb(300).golomb(200).bits(0, 1).golomb(2).golomb(0);
      const CodedSize size = hevc_size(sequence.bytes());
      EXPECT_EQ(size.width, 300);
      EXPECT_EQ(size.height, 200);
      EXPECT_EQ(size.half_samples, 3);
      EXPECT_EQ(size.sample_bytes, 2);
      EXPECT_EQ(size.frames, 1);
    }
  }
}

}  // namespace
}  // namespace vig
