// Timing baselines in turns: on a shared machine a neighbour then slows all of them, not just one.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "vig/kernels/peak.h"
#include "vig/kernels/targets.h"

namespace vig::bench {

struct Contender {
  std::string name;
  std::function<void()> run;
};

// Mean of the fastest quarter: what the machine does when it is left alone.
inline double fastest_quarter(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const size_t count = std::max<size_t>(1, seconds.size() / 4);
  double sum = 0.0;
  for (size_t i = 0; i < count; ++i) sum += seconds[i];
  return sum / static_cast<double>(count);
}

inline double median(std::vector<double> seconds) {
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return seconds[seconds.size() / 2];
}

// One iteration runs every contender once; the first is ours and gives the time shown. Counters:
// GFLOP/s of each at its fastest quarter, how many times faster ours is than each, ours in percent
// of the multiply-add peak measured between them, and median over fastest quarter as the spread.
inline void time_rounds(benchmark::State& state, const std::vector<Contender>& contenders,
                        double flop) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::vector<double>> seconds(contenders.size());
  std::vector<double> peak;  // seconds per GFLOP
  for (auto _ : state) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      const auto start = Clock::now();
      contenders[i].run();
      benchmark::ClobberMemory();
      seconds[i].push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
    peak.push_back(1.0 / measure_fma_peak(1, 1e-4));
    state.SetIterationTime(seconds[0].back());
  }
  const double ours = fastest_quarter(seconds[0]);
  state.counters["%peak"] = 100.0 * flop / ours * 1e-9 * fastest_quarter(peak);
  state.counters["spread"] = median(seconds[0]) / ours;
  for (size_t i = 0; i < contenders.size(); ++i) {
    const double time = fastest_quarter(seconds[i]);
    state.counters[contenders[i].name + "_GF/s"] = flop / time * 1e-9;
    if (i > 0) state.counters["vs_" + contenders[i].name] = time / ours;
  }
  state.SetLabel(simd_target() + ", 1 thread");
}

}  // namespace vig::bench
