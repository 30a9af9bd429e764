#include "vig/train/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "vig/base/error.h"
#include "vig/base/memory.h"
#include "vig/base/random.h"
#include "vig/bench/statistics.h"
#include "vig/kernels/peak.h"
#include "vig/torch/forward.h"
#include "vig/train/optimizer.h"
#include "vig/train/presets.h"
#include "vig/train/processes/group.h"
#include "vig/train/shard_loop.h"
#include "vig/train/tasks/soft_cross_entropy.h"
#include "vig/train/workers.h"

namespace vig::train {
namespace {

// Of the peak loop: about as long as a step, so that both meet the same disturbances.
constexpr double kPeakSeconds = 0.05, kMostPeakSeconds = 1;
constexpr int kFewestRounds = 5;
constexpr double kSameGradient = 1e-3;

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Step {
 public:
  Step(const ModelSpec& spec, int size, int batch, int threads)
      : options_(preset_options("imagenet")),
        graph_(build_graph(spec, size, size)),
        parameters_(graph_.params, *random_weights(graph_.params, 1), at::kCPU),
        workers_(std::min(threads, batch)),
        shards_(parameters_, workers_.size()),
        optimizer_(options_, parameters_, workers_) {
    images_ = at::empty({batch, size, size, 3}, at::kFloat);
    targets_ = at::zeros({batch, model_classes(spec)}, at::kFloat);
    RandomStream stream(2);
    for (int64_t i = 0; i < images_.numel(); ++i) {
      images_.data_ptr<float>()[i] = stream.uniform(-2, 2);
    }
    for (int64_t i = 0; i < batch; ++i) {
      targets_[i][static_cast<int64_t>(stream.below(targets_.size(1)))] = 1;
    }
  }

  // Gives the loss.
  double gradients(bool kernels) {
    ForwardOptions options;
    options.kernels = kernels;
    std::vector<BatchStatistics> statistics(shards_.size());
    const auto loss = [&](const ShardWork& pass) {
      ForwardOptions own = options;
      own.statistics = &statistics[pass.shard];
      const at::Tensor logits =
          forward_logits(graph_, pass.values, images_.narrow(0, pass.first, pass.count), own);
      return soft_cross_entropy(logits, targets_.narrow(0, pass.first, pass.count));
    };
    const int64_t batch = images_.size(0);
    return run_shards({workers_, shards_, alone_, 1, inseparable_images({&graph_, 1})}, batch,
                      batch, loss)
        .loss;
  }

  double seconds(bool kernels) {
    const Clock::time_point start = Clock::now();
    gradients(kernels);
    optimizer_.step(1e-4);
    return since(start);
  }

  const Graph& graph() const { return graph_; }
  const at::Tensor& gradient() { return parameters_.gradients(); }

 private:
  const TrainOptions options_;
  const Graph graph_;
  Parameters parameters_;
  Workers workers_;
  Shards shards_;
  AdamW optimizer_;
  Group alone_;
  at::Tensor images_, targets_;
};

void prove(Step& step) {
  const double loss = step.gradients(true);
  const at::Tensor gradient = step.gradient().clone();
  const double plain = step.gradients(false);
  const double largest = step.gradient().abs().max().item<double>();
  const double apart = (gradient - step.gradient()).abs().max().item<double>();
  if (!(std::abs(loss - plain) <= 1e-3 * plain) || !(apart <= kSameGradient * largest)) {
    fail("[bench] losses are {} and {}, gradients differ by {} of {}", loss, plain, apart, largest);
  }
}

}  // namespace

BenchResult bench_training(const ModelSpec& spec, const BenchOptions& options) {
  const int size = options.size > 0 ? options.size : spec.recipe.crop;
  Step step(spec, size, options.batch, options.threads);
  BenchResult result;
  step.seconds(true);
  const double peak_seconds = std::clamp(step.seconds(true), kPeakSeconds, kMostPeakSeconds);
  result.process_bytes = process_peak();
  if (options.expansion) prove(step);
  std::vector<double> times, expansion, slowness;
  const Clock::time_point start = Clock::now();
  for (int round = 0; round < kFewestRounds || since(start) < options.seconds; ++round) {
    if (round > 0 && options.keep_going && !options.keep_going()) break;
    slowness.push_back(1 / measure_fma_peak(options.threads, peak_seconds));
    times.push_back(step.seconds(true));
    // Slow and no goal of ours: now and then will do.
    if (options.expansion && round % 4 == 1) expansion.push_back(step.seconds(false));
  }
  std::sort(times.begin(), times.end());
  std::sort(expansion.begin(), expansion.end());
  std::sort(slowness.begin(), slowness.end());
  result.steps = static_cast<int>(times.size());
  result.median = quantile(times, 0.5);
  result.p95 = quantile(times, 0.95);
  result.spread = (quantile(times, 0.75) - quantile(times, 0.25)) / result.median;
  result.best = mean_of_first_quarter(times);
  result.expansion_best = mean_of_first_quarter(expansion);
  result.images_per_second = options.batch / result.median;
  result.gflops = 3 * 2e-9 * static_cast<double>(count_macs(step.graph()).total()) * options.batch /
                  result.best;
  result.peak_gflops = 1 / mean_of_first_quarter(slowness);
  result.peak_share = result.gflops / result.peak_gflops;
  return result;
}

}  // namespace vig::train
