// The selective scan of one direction, one thread. %peak counts 2 (4 N + 2) operations per token
// and channel, the multiply-adds of the recurrence without its exponentials: at best a vector of
// states takes ten multiplications or multiply-adds, seven of them for its exponential.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/rounds.h"
#include "vig/base/buffer.h"
#include "vig/kernels/reference/selective_scan.h"
#include "vig/kernels/selective_scan.h"

namespace vig::bench {
namespace {

std::vector<float> noise(int64_t count, float low, float high, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) x = low + (high - low) * static_cast<float>(random() >> 8) * 0x1p-24f;
  return values;
}

struct Scan {
  Scan(int64_t t, int64_t e, int64_t n)
      : tokens(t),
        channels(e),
        states(n),
        u(noise(t * e, -1.0f, 1.0f, 1)),
        raw(noise(t * e, -3.0f, 3.0f, 2)),
        bc(noise(t * 2 * n, -1.0f, 1.0f, 3)),
        bias(noise(e, -5.0f, -1.0f, 4)),
        d(noise(e, -1.0f, 1.0f, 5)),
        rates(static_cast<size_t>(n * e)),
        gate(noise(t * e, -3.0f, 3.0f, 6)),
        y(static_cast<size_t>(t * e)),
        state(selective_scan_state_floats(e, n) * sizeof(float)) {
    std::vector<float> a_log(rates.size());
    for (size_t i = 0; i < a_log.size(); ++i) {
      a_log[i] = std::log(static_cast<float>(i % static_cast<size_t>(n) + 1));
    }
    selective_scan_rates(a_log.data(), e, n, rates.data());
  }
  SelectiveScanArgs args(bool gated) {
    SelectiveScanArgs args;
    args.tokens = tokens;
    args.channels = channels;
    args.states = states;
    args.u = {u.data(), channels, nullptr};
    args.raw = {raw.data(), channels, nullptr};
    args.b = {bc.data(), 2 * states, nullptr};
    args.c = {bc.data() + states, 2 * states, nullptr};
    args.bias = bias.data();
    args.rates = rates.data();
    args.rates_stride = channels;
    args.d = d.data();
    args.y = {y.data(), channels, nullptr};
    if (gated) args.gate = {gate.data(), channels, nullptr};
    args.state = state.floats();
    return args;
  }

  int64_t tokens, channels, states;
  std::vector<float> u, raw, bc, bias, d, rates, gate, y;
  Buffer state;
};

void scan(benchmark::State& state) {
  Scan s(state.range(0), state.range(1), state.range(2));
  reference::selective_scan(s.args(true));
  const std::vector<float> want = s.y;
  selective_scan(s.args(true));
  for (size_t i = 0; i < want.size(); ++i) {
    if (!(std::fabs(s.y[i] - want[i]) <= 1e-5)) return state.SkipWithError("the scan is wrong");
  }
  const double elements = static_cast<double>(s.tokens * s.channels * s.states);
  const std::vector<Contender> contenders = {{"scan", [&] { selective_scan(s.args(false)); }},
                                             {"gated", [&] { selective_scan(s.args(true)); }}};
  const double flop = 2.0 * static_cast<double>(s.tokens * s.channels * (4 * s.states + 2));
  time_rounds(state, contenders, flop);
  state.counters["ns/state"] = flop / elements / state.counters["scan_GF/s"].value;
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"T", "E", "N"});
  bench->Args({197, 384, 16})->Args({197, 768, 16})->Args({4097, 384, 16});  // vim_t, vim_s
  bench->Args({3136, 192, 1})->Args({784, 384, 1})->Args({196, 768, 1});     // vmamba_t
  bench->Args({196, 384, 4});
  bench->UseManualTime()->MinTime(0.2)->Unit(benchmark::kMicrosecond);
}

BENCHMARK(scan)->Apply(shapes);

}  // namespace
}  // namespace vig::bench
