// Sizes from the headers of HEVC and AV1: fields of changing length before them, bit by bit.
#include "vig/image/coded_size.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/errors.h"

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

// An AV1 image: the sequence header, then a frame of one byte.
CodedSize av1_size(const Bytes& sequence) {
  const Bytes config(4);
  Bytes data = {0x0a, static_cast<uint8_t>(sequence.size())};
  data.insert(data.end(), sequence.begin(), sequence.end());
  data.insert(data.end(), {0x32, 1, 0});
  CodedImage image;
  image.codec = HeifCodec::kAv1;
  image.config = config;
  return coded_size(image, data, "x");
}

// What follows the operating points: 300 x 200 pixels in 9 and 8 bits each, 10 bits a sample.
void write_av1_rest(BitWriter& to) {
  to.bits(8, 4).bits(7, 4).bits(299, 9).bits(199, 8);
  to.bits(1, 1).ones(7);  // frame numbers
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
    sequence.bits(0, 3 + 2);         // profile; neither a still image nor reduced
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

// Units of data of an AV1 image, of which the size is asked for.
CodedSize av1_units(const Bytes& data) {
  const Bytes config(4);
  CodedImage image;
  image.codec = HeifCodec::kAv1;
  image.config = config;
  return coded_size(image, data, "x");
}

BitWriter plain_av1_sequence(uint64_t profile) {
  BitWriter sequence;
  sequence.bits(profile, 3).bits(0, 2).bits(0, 2).bits(0, 5).ones(12).bits(0, 5);
  write_av1_rest(sequence);
  return sequence;
}

// Profile 0 is 4:2:0; the others may have as many samples of colour as of light.
TEST(CodedSize, OfEveryProfileOfAv1) {
  for (const uint64_t profile : {0, 1, 2}) {
    EXPECT_EQ(av1_size(plain_av1_sequence(profile).bytes()).half_samples, profile == 0 ? 3 : 6);
  }
}

TEST(CodedSize, OfAv1UnitsInEveryForm) {
  const Bytes sequence = plain_av1_sequence(0).bytes();
  const auto length = static_cast<uint8_t>(sequence.size());
  const auto with = [&](Bytes start, const Bytes& end) {
    start.insert(start.end(), sequence.begin(), sequence.end());
    start.insert(start.end(), end.begin(), end.end());
    return av1_units(start);
  };
  // With a byte for its layer; with a length of two bytes; the last one without a length. A frame
  // is one unit, or a header and groups of tiles.
  for (const Bytes& start : {Bytes{0x0a, length}, Bytes{0x0e, 0x28, length},
                             Bytes{0x0a, static_cast<uint8_t>(length | 0x80), 0}}) {
    for (const Bytes& frame :
         {Bytes{0x32, 1, 0}, Bytes{0x30, 9, 9}, Bytes{0x1a, 1, 0, 0x22, 1, 0}}) {
      const CodedSize size = with(start, frame);
      EXPECT_EQ(size.width, 300);
      EXPECT_EQ(size.height, 200);
      EXPECT_EQ(size.frames, 1);
      EXPECT_EQ(size.passes, 1);
    }
  }
  EXPECT_EQ(with({0x0a, length}, {0x1a, 1, 0, 0x32, 1, 0, 0x1a, 1, 0}).frames, 3);
  EXPECT_EQ(test::error_of([&] {
              with({0x0a, length}, {0x22, 1, 0});
            }),
            "x: damaged HEIC or AVIF: data without an image");
  EXPECT_EQ(test::error_of([&] {
              av1_units({0x32, 1, 0});
            }),
            "x: damaged HEIC or AVIF: data without a size");
}

// An HEVC image: the sequence parameters, then slices.
CodedSize hevc_size(const Bytes& sequence, const Bytes& slices = {0, 0, 0, 3, 19 << 1, 1, 0x80},
                    uint8_t lengths = 3) {
  Bytes config(23);
  config[21] = lengths;
  Bytes data = {0, 0, 0, static_cast<uint8_t>(sequence.size())};
  data.insert(data.end(), sequence.begin(), sequence.end());
  data.insert(data.end(), slices.begin(), slices.end());
  CodedImage image;
  image.codec = HeifCodec::kHevc;
  image.config = config;
  return coded_size(image, data, "x");
}

// What stands before the kind of its chroma.
BitWriter hevc_sequence() {
  BitWriter sequence;
  sequence.bits(33 << 9 | 1, 16).ones(4).bits(0, 3).ones(1 + 96).golomb(0);
  return sequence;
}

TEST(CodedSize, OfEveryKindOfHevcSample) {
  constexpr int kHalfSamples[] = {2, 3, 4, 6};
  for (uint64_t chroma = 0; chroma < 4; ++chroma) {
    for (const bool window : {false, true}) {
      for (const auto& [luma, other] : {std::pair{0, 0}, {2, 0}, {0, 2}}) {
        SCOPED_TRACE(testing::Message() << chroma << window << luma << other);
        BitWriter sequence = hevc_sequence().golomb(chroma);
        if (chroma == 3) sequence.bits(1, 1);  // planes apart
        sequence.golomb(300).golomb(200).bits(window ? 1 : 0, 1);
        for (int side = 0; window && side < 4; ++side) sequence.golomb(5);
        sequence.golomb(static_cast<uint64_t>(luma)).golomb(static_cast<uint64_t>(other)).ones(8);
        const CodedSize size = hevc_size(sequence.bytes());
        EXPECT_EQ(size.width, 300);
        EXPECT_EQ(size.height, 200);
        EXPECT_EQ(size.half_samples, kHalfSamples[chroma]);
        EXPECT_EQ(size.sample_bytes, luma + other == 0 ? 1 : 2);
        EXPECT_EQ(size.frame_bytes(), 300 * 200 * size.half_samples * size.sample_bytes / 2);
      }
    }
  }
}

TEST(CodedSize, OfHevcSlicesAndDamage) {
  BitWriter sequence = hevc_sequence().golomb(1).golomb(300).golomb(200).bits(0, 1);
  sequence.golomb(0).golomb(0).ones(8);
  // The first slice of each frame says so. Units from 32 on are no images.
  const Bytes slices = {0, 0, 0, 3, 19 << 1, 1, 0x80, 0, 0, 0, 3, 19 << 1, 1, 0,
                        0, 0, 0, 3, 31 << 1, 1, 0x80, 0, 0, 0, 3, 32 << 1, 1, 0x80};
  const CodedSize size = hevc_size(sequence.bytes(), slices);
  EXPECT_EQ(size.passes, 3);
  EXPECT_EQ(size.frames, 2);
  EXPECT_EQ(test::error_of([&] { hevc_size(sequence.bytes(), {}); }),
            "x: damaged HEIC or AVIF: data without an image");
  EXPECT_EQ(test::error_of([&] { hevc_size(sequence.bytes(), slices, 1); }),
            "x: damaged HEIC: lengths of other than 4 bytes before the units of data");
  // A number of more than 32 bits is larger than any side.
  BitWriter endless = hevc_sequence().golomb(1).bits(0, 40).bits(1, 1).bits(0, 40).golomb(200);
  EXPECT_GT(hevc_size(endless.bits(0, 64).bytes()).width, 1 << 20);
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
