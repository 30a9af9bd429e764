// How fast a network trains here: forward, backward and the optimiser's step on random images, as
// a share of what the machine can do, and beside the same network in LibTorch's own operations with
// the scan as its expansion. All take turns, and the fastest quarters are compared, because the
// machine is shared with others.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "vig/models/family.h"

namespace vig::train {

struct BenchOptions {
  int size = 0;  // 0: the model's own
  int batch = 16;
  int threads = 1;
  double seconds = 20;
  bool expansion = true;  // also measure it
  std::function<bool()> keep_going;
};

struct BenchResult {
  int steps = 0;
  double median = 0, p95 = 0, spread = 0, best = 0;  // seconds of a step; see bench/bench.h
  double images_per_second = 0;                      // at the median
  double gflops = 0;  // at `best`; a backward pass counts two forward passes
  double peak_gflops = 0;
  double peak_share = 0;
  double expansion_best = 0;  // seconds of a step; 0: not measured
  size_t process_bytes = 0;   // largest resident size before the expansion ran
};

// Proves first that both give the same loss and gradients.
BenchResult bench_training(const ModelSpec& spec, const BenchOptions& options);

}  // namespace vig::train
