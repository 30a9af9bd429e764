// Bidirectional WKV by the published formula and by the published kernel's, and the token shift
// with three mixes before it. One thread. %peak counts 22 operations per token and channel, the
// 11 multiply-adds of the recurrences, without exponentials and divisions.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/rounds.h"
#include "vig/base/buffer.h"
#include "vig/kernels/q_shift.h"
#include "vig/kernels/reference/wkv.h"
#include "vig/kernels/wkv.h"

namespace vig::bench {
namespace {

std::vector<float> noise(int64_t count, float low, float high, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) x = low + (high - low) * static_cast<float>(random() >> 8) * 0x1p-24f;
  return values;
}

void sums(benchmark::State& state) {
  const int64_t side = state.range(0), channels = state.range(1), tokens = side * side;
  const std::vector<float> k = noise(tokens * channels, -3.0f, 3.0f, 1),
                           v = noise(tokens * channels, -1.0f, 1.0f, 2),
                           decay = noise(channels, -5.0f, 3.0f, 3),
                           first = noise(channels, -2.0f, 0.0f, 4);
  std::vector<float> y(k.size()), want(k.size());
  Buffer scratch(wkv_scratch_floats(tokens) * sizeof(float));
  WkvArgs args;
  args.tokens = tokens;
  args.channels = channels;
  args.k = k.data();
  args.v = v.data();
  args.k_stride = args.v_stride = args.y_stride = channels;
  args.decay = decay.data();
  args.first = first.data();
  args.y = y.data();
  args.scratch = scratch.floats();
  WkvArgs released = args;
  released.released = true;
  for (const WkvArgs& each : {args, released}) {
    // The reference takes the square of the tokens: a few channels of it.
    WkvArgs few = each;
    few.channels = 1;
    few.y = want.data();
    reference::wkv(few);
    wkv(each);
    for (int64_t t = 0; t < tokens; ++t) {
      const size_t at = static_cast<size_t>(t * channels);
      if (!(std::fabs(y[at] - want[at]) <= 1e-5)) return state.SkipWithError("WKV is wrong");
    }
  }
  const float* mix = decay.data();
  std::vector<float> mixed[3] = {y, y, y};
  QShiftArgs shift;
  shift.in = k.data();
  shift.in_stride = shift.out_stride = channels;
  shift.height = shift.width = side;
  shift.channels = channels;
  shift.last_row = tokens;
  shift.mixes = 3;
  for (int n = 0; n < 3; ++n) {
    shift.mix[n] = mix;
    shift.out[n] = mixed[n].data();
  }
  const double flop = 22.0 * static_cast<double>(tokens * channels);
  time_rounds(state,
              {{"formula", [&] { wkv(args); }},
               {"released", [&] { wkv(released); }},
               {"shift", [&] { q_shift_mix(shift); }}},
              flop);
  state.counters["ns/channel"] =
      flop / static_cast<double>(tokens * channels) / state.counters["formula_GF/s"].value;
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"side", "C"});
  bench->Args({14, 192})->Args({14, 768})->Args({32, 192})->Args({64, 192});
  bench->UseManualTime()->MinTime(0.2)->Unit(benchmark::kMicrosecond);
}

BENCHMARK(sums)->Apply(shapes);

}  // namespace
}  // namespace vig::bench
