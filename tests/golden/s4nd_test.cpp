// The taps and the long convolution against the original layer of two axes, which is separable: a
// convolution along the rows of the grid, then one along its columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "golden/operator_case.h"
#include "kernels/on_targets.h"
#include "vig/base/buffer.h"
#include "vig/kernels/long_conv.h"
#include "vig/kernels/s4_taps.h"

namespace vig {
namespace {

using Values = std::vector<float>;

// [rows, length, d] of one axis.
Values taps_of(const test::OperatorCase& golden, const std::string& kernel, int64_t length) {
  const auto read = [&](const char* name) { return golden.read("param/" + kernel + "." + name); };
  const Shape c_shape = golden.view("param/" + kernel + ".C").shape;
  const Values inv_dt = read("inv_dt"), a_real = read("A_real"), a_imag = read("A_imag"),
               b = read("B"), p = read("P"), c = read("C");
  S4TapsArgs args;
  args.rows = c_shape[0];
  args.channels = c_shape[1];
  args.pairs = c_shape[2];
  args.inv_dt = inv_dt.data();
  args.a_real = a_real.data();
  args.a_imag = a_imag.data();
  args.b = b.data();
  args.p = p.data();
  args.c = c.data();
  args.l_kernel = s4_kernel_length(read("l_kernel")[0]);
  args.length = length;
  Values taps(static_cast<size_t>(args.rows * length * args.channels));
  args.taps = taps.data();
  s4_taps(args);
  return taps;
}

// Sequences of `tokens` rows of `in`, `stride` floats apart, by the taps of copy m of two.
void convolve(const Values& taps, int64_t length, int64_t channels, int64_t m, int64_t tokens,
              int64_t stride, const float* in, float* out) {
  Values rows;
  const auto row = [&](int64_t r, int64_t j) { return taps.begin() + (r * length + j) * channels; };
  for (int64_t j = length - 1; j >= 0; --j) {
    rows.insert(rows.end(), row(2 + m, j), row(2 + m, j) + channels);
  }
  for (int64_t j = 0; j < length; ++j) rows.insert(rows.end(), row(m, j), row(m, j) + channels);
  Buffer packed(long_conv_packed_floats(length, length, channels) * sizeof(float));
  long_conv_pack({rows.data(), channels, length, length}, channels, packed.floats());
  Buffer scratch(long_conv_floats(tokens) * sizeof(float));
  LongConvArgs args;
  args.tokens = tokens;
  args.channels = channels;
  args.in = in;
  args.in_stride = args.out_stride = stride;
  args.packed = packed.floats();
  args.past = args.future = length;
  args.out = out;
  args.scratch = scratch.floats();
  long_conv(args);
}

// [channels, positions] to [positions, channels] of one image.
Values channels_last(const float* from, int64_t channels, int64_t positions) {
  Values to(static_cast<size_t>(channels * positions));
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t p = 0; p < positions; ++p) {
      to[static_cast<size_t>(p * channels + c)] = from[c * positions + p];
    }
  }
  return to;
}

class S4ndGoldenOnTarget : public test::OnTarget {};

TEST_P(S4ndGoldenOnTarget, TheLayerOfTwoAxes) {
  const test::OperatorCase golden("s4nd_2d");
  const Shape shape = golden.view("input").shape;  // [batch, d, rows, columns]
  const int64_t batch = shape[0], d = shape[1], height = shape[2], width = shape[3];
  const int64_t positions = height * width;
  constexpr int64_t kCopies = 2, kHigh = 8, kWide = 9;
  const Values high = taps_of(golden, "kernel.0", kHigh), wide = taps_of(golden, "kernel.1", kWide);
  for (const auto& [name, taps, length] :
       {std::tuple{"act/kernel.0", &high, kHigh}, std::tuple{"act/kernel.1", &wide, kWide}}) {
    Values original;  // [rows, d, length] there
    const Values stored = golden.read(name);
    for (int64_t r = 0; r < 2 * kCopies; ++r) {
      const Values rows = channels_last(stored.data() + r * d * length, d, length);
      original.insert(original.end(), rows.begin(), rows.end());
    }
    EXPECT_LE(test::relative_distance(*taps, original), 5e-6) << name;
  }
  const Values input = golden.read("input"), output = golden.read("output");
  const Values skip = golden.read("param/D");
  for (int64_t i = 0; i < batch; ++i) {
    const Values x = channels_last(input.data() + i * d * positions, d, positions);
    for (int64_t m = 0; m < kCopies; ++m) {
      Values between(x.size()), y(x.size());
      for (int64_t column = 0; column < width; ++column) {
        convolve(high, kHigh, d, m, height, width * d, x.data() + column * d,
                 between.data() + column * d);
      }
      for (int64_t line = 0; line < height; ++line) {
        const int64_t at = line * width * d;
        convolve(wide, kWide, d, m, width, d, between.data() + at, y.data() + at);
      }
      for (size_t k = 0; k < y.size(); ++k) {
        y[k] += skip[static_cast<size_t>(m * d) + k % static_cast<size_t>(d)] * x[k];
      }
      const Values want =
          channels_last(output.data() + (i * kCopies + m) * d * positions, d, positions);
      EXPECT_LE(test::relative_distance(y, want), 5e-6) << "image " << i << ", copy " << m;
    }
  }
}

VIG_ON_EVERY_TARGET(S4ndGoldenOnTarget);

}  // namespace
}  // namespace vig
