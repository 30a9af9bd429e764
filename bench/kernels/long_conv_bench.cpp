// The long convolution of S4 over the tokens of an image, its gradients, and the taps that it
// takes, which are made when weights are packed. One thread. %peak counts two operations per pair
// of tokens and channel.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/rounds.h"
#include "vig/base/buffer.h"
#include "vig/kernels/backward/long_conv.h"
#include "vig/kernels/reference/long_conv.h"
#include "vig/kernels/s4_taps.h"

namespace vig::bench {
namespace {

std::vector<float> noise(int64_t count, float low, float high, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) x = low + (high - low) * static_cast<float>(random() >> 8) * 0x1p-24f;
  return values;
}

void convolution(benchmark::State& state) {
  const int64_t tokens = state.range(0), channels = state.range(1);
  const std::vector<float> x = noise(tokens * channels, -1.0f, 1.0f, 1),
                           rows = noise(2 * tokens * channels, -0.1f, 0.1f, 2),
                           dy = noise(tokens * channels, -1.0f, 1.0f, 3);
  std::vector<float> y(x.size()), want(x.size()), dtaps(rows.size());
  const LongTaps taps = {rows.data(), channels, tokens, tokens};
  Buffer packed(long_conv_packed_floats(tokens, tokens, channels) * sizeof(float));
  Buffer scratch(long_conv_taps_floats(tokens) * sizeof(float));
  long_conv_pack(taps, channels, packed.floats());
  LongConvArgs args;
  args.tokens = tokens;
  args.channels = args.in_stride = args.out_stride = channels;
  args.in = x.data();
  args.packed = packed.floats();
  args.past = args.future = tokens;
  args.out = want.data();
  args.scratch = scratch.floats();
  LongConvArgs few = args;  // the reference is slow
  few.channels = 1;
  reference::long_conv(few, taps);
  args.out = y.data();
  long_conv(args);
  for (int64_t t = 0; t < tokens; ++t) {
    const size_t at = static_cast<size_t>(t * channels);
    if (!(std::fabs(y[at] - want[at]) <= 1e-4)) return state.SkipWithError("it is wrong");
  }
  LongConvTapsArgs sums;
  sums.tokens = tokens;
  sums.channels = sums.in_stride = sums.dy_stride = sums.dtaps_stride = channels;
  sums.in = x.data();
  sums.dy = dy.data();
  sums.past = sums.future = tokens;
  sums.dtaps = dtaps.data();
  sums.scratch = scratch.floats();
  time_rounds(
      state,
      {{"forward", [&] { long_conv(args); }}, {"dtaps", [&] { long_conv_taps_backward(sums); }}},
      2.0 * static_cast<double>(tokens * tokens * channels));
}

void taps(benchmark::State& state) {
  const int64_t length = state.range(0), channels = state.range(1), pairs = 32, rows = 4;
  const std::vector<float> inv_dt = noise(channels, -6.9f, -2.3f, 1),
                           a_real = noise(pairs, -1.0f, -0.5f, 2),
                           a_imag = noise(pairs, 0.0f, 300.0f, 3),
                           b = noise(2 * pairs, -2.0f, 2.0f, 4),
                           p = noise(2 * pairs, -2.0f, 2.0f, 5),
                           c = noise(rows * channels * pairs * 2, -1.0f, 1.0f, 6);
  std::vector<float> made(static_cast<size_t>(rows * length * channels));
  S4TapsArgs args;
  args.channels = channels;
  args.rows = rows;
  args.pairs = pairs;
  args.inv_dt = inv_dt.data();
  args.a_real = a_real.data();
  args.a_imag = a_imag.data();
  args.b = b.data();
  args.p = p.data();
  args.c = c.data();
  args.length = length;
  args.taps = made.data();
  args.l_kernel = state.range(2);  // 0: more nodes
  for (auto _ : state) s4_taps(args);
}

BENCHMARK(convolution)
    ->ArgNames({"T", "C"})
    ->Args({196, 768})
    ->Args({196, 64})
    ->Args({1024, 64})
    ->UseManualTime()
    ->MinTime(0.2)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(taps)
    ->ArgNames({"T", "C", "l_kernel"})
    ->Args({196, 768, 196})
    ->Args({196, 768, 0})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace vig::bench
