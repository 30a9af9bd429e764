#include "vig/kernels/resize.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "vig/kernels/reference/resize.h"

namespace vig {
namespace {

constexpr uint8_t kSentinel = 0xA5;
constexpr size_t kGuard = 64;

std::vector<uint8_t> noise(size_t bytes) {
  std::mt19937 random(static_cast<uint32_t>(bytes));
  std::vector<uint8_t> result(bytes);
  // Mostly extremes: they drive the cubic out of 0..255, where clamping matters.
  for (uint8_t& value : result) {
    const uint32_t draw = random();
    value = (draw & 3) == 0 ? static_cast<uint8_t>(draw >> 8) : (draw & 4) ? 255 : 0;
  }
  return result;
}

std::string name_of(const ResizeAxis& x, const ResizeAxis& y, Interpolation interpolation) {
  const auto axis = [](const ResizeAxis& a) {
    return std::to_string(a.in) + "->" + std::to_string(a.out) + "[" + std::to_string(a.first) +
           "+" + std::to_string(a.count) + "]";
  };
  return "x " + axis(x) + " y " + axis(y) +
         (interpolation == Interpolation::kBicubic ? " bicubic" : " bilinear");
}

void expect_reference(const ResizeAxis& x, const ResizeAxis& y, Interpolation interpolation) {
  // An exact allocation, so that the address sanitiser sees reads past the last pixel.
  const std::vector<uint8_t> source = noise(static_cast<size_t>(x.in * y.in * 3));
  const size_t bytes = static_cast<size_t>(x.count * y.count * 3);
  std::vector<uint8_t> fast(bytes + kGuard, kSentinel), slow(bytes + kGuard, kSentinel);
  resize_rgb(source.data(), x, y, interpolation, fast.data());
  reference::resize_rgb(source.data(), x, y, interpolation, slow.data());
  ASSERT_EQ(fast, slow) << name_of(x, y, interpolation);
}

ResizeAxis whole(int64_t in, int64_t out) { return {in, out, 0, out}; }

class ResizeOnTarget : public test::OnTarget {};

TEST_P(ResizeOnTarget, EqualsReferenceOnUglySizes) {
  for (const Interpolation interpolation : {Interpolation::kBilinear, Interpolation::kBicubic}) {
    for (const int64_t in : {1, 2, 3, 5, 16, 31, 67, 130}) {
      for (const int64_t out : {1, 2, 7, 16, 33, 65, 131}) {
        expect_reference(whole(in, out), whole(3, 2), interpolation);
        expect_reference(whole(3, 2), whole(in, out), interpolation);
        expect_reference(whole(in, out), whole(out, in), interpolation);
      }
    }
    expect_reference(whole(640, 13653), whole(12, 3), interpolation);
    expect_reference(whole(1, 4), whole(10000, 37), interpolation);
    expect_reference(whole(10000, 3), whole(1, 2), interpolation);
  }
}

TEST_P(ResizeOnTarget, WindowEqualsCut) {
  for (const Interpolation interpolation : {Interpolation::kBilinear, Interpolation::kBicubic}) {
    for (const int64_t first : {0, 1, 13, 58}) {
      for (const int64_t count : {0, 1, 5, 22}) {
        const ResizeAxis shrink = {301, 80, first, count};
        const ResizeAxis grow = {29, 80, first, count};
        expect_reference(shrink, grow, interpolation);
        expect_reference(grow, shrink, interpolation);
      }
    }
  }
}

TEST_P(ResizeOnTarget, SameSizeIsACopy) {
  const std::vector<uint8_t> source = noise(37 * 19 * 3);
  std::vector<uint8_t> result(source.size());
  resize_rgb(source.data(), whole(37, 37), whole(19, 19), Interpolation::kBicubic, result.data());
  EXPECT_EQ(result, source);
}

// The reference sums in 64 bits. White is the worst case; noise would cancel.
TEST_P(ResizeOnTarget, LargestSideDoesNotOverflow) {
  const std::vector<uint8_t> white(static_cast<size_t>(kMaxResizeSide) * 3, 255);
  const ResizeAxis shrink = whole(kMaxResizeSide, 2), grow = whole(1, 3);
  for (const Interpolation interpolation : {Interpolation::kBilinear, Interpolation::kBicubic}) {
    std::vector<uint8_t> fast(2 * 3 * 3), slow(fast.size());
    resize_rgb(white.data(), shrink, grow, interpolation, fast.data());
    reference::resize_rgb(white.data(), shrink, grow, interpolation, slow.data());
    EXPECT_EQ(fast, slow);
    resize_rgb(white.data(), grow, shrink, interpolation, fast.data());
    reference::resize_rgb(white.data(), grow, shrink, interpolation, slow.data());
    EXPECT_EQ(fast, slow);
  }
}

// The whole result would have 2^32 columns; the window shows the middles of three source pixels.
TEST_P(ResizeOnTarget, WindowOfAnEnormousResultIsCheap) {
  const std::vector<uint8_t> source = noise(static_cast<size_t>(kMaxResizeSide) * 3);
  for (const int64_t pixel : {int64_t{0}, kMaxResizeSide / 2, kMaxResizeSide - 1}) {
    uint8_t result[3];
    resize_rgb(source.data(), {kMaxResizeSide, kMaxResizeSide * 4096, pixel * 4096 + 2048, 1},
               {1, 4096, 2048, 1}, Interpolation::kBicubic, result);
    for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(result[c], source[pixel * 3 + c], 1);
  }
}

VIG_ON_EVERY_TARGET(ResizeOnTarget);

}  // namespace
}  // namespace vig
