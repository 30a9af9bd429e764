#include "vig/bench/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "vig/base/error.h"
#include "vig/base/memory.h"
#include "vig/runtime/machine.h"
#include "vig/runtime/packed_model.h"

namespace vig {
namespace {

// Of a round's peak loop: as long as a run of the network, so that both meet the same disturbances,
// but within these bounds.
constexpr double kPeakSeconds = 0.02, kMostPeakSeconds = 1;
constexpr double kModelSeconds = 0.06;  // of an engine's turn in a round, at least one run
constexpr int kFewestRounds = 5;
constexpr double kProfileSeconds = 1;

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<float> run_once(BenchWork& work) {
  work.run();
  return work.outputs();
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The images as [batch, 3, height, width], the layout that other engines read.
void write_planes(const BenchSetting& setting, MemoryFile& file) {
  constexpr int kChannels = 3;
  std::vector<float> row(static_cast<size_t>(setting.width));
  std::vector<float> values(row.size() * static_cast<size_t>(setting.height) * kChannels);
  for (int image = 0; image < setting.batch; ++image) {
    fill_bench_image(image, setting, values.data());
    for (int channel = 0; channel < kChannels; ++channel) {
      const float* in = values.data() + channel;
      for (int y = 0; y < setting.height; ++y) {
        for (float& value : row) {
          value = *in;
          in += kChannels;
        }
        file.append(row.data(), row.size() * sizeof(float));
      }
    }
  }
}

double largest_magnitude(const std::vector<float>& values) {
  double largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(double{value}));
  return largest;
}

// Of all values, as a share of the largest of `ours`; infinity where a number is not finite.
double relative_difference(const std::vector<float>& ours, const std::vector<float>& theirs) {
  double largest = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const double difference = std::abs(double{ours[i]} - double{theirs[i]});
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest == 0 ? 0 : largest / largest_magnitude(ours);
}

std::vector<std::string> baseline_environment(const std::string& model,
                                              const BenchSetting& setting) {
  return {"VIG_MODEL=" + model, fmt::format("VIG_HEIGHT={}", setting.height),
          fmt::format("VIG_WIDTH={}", setting.width), fmt::format("VIG_BATCH={}", setting.batch),
          fmt::format("VIG_THREADS={}", setting.threads)};
}

struct Rounds {
  std::vector<double> seconds;   // of each run of the network
  std::vector<double> slowness;  // of each round of the peak loop, seconds per GFLOP
  std::vector<double> baseline;  // of each run of the baseline, seconds
  bool complete = true;
};

// The engines change order from round to round, so that neither always follows the other. Ours
// finds the baseline's threads at rest.
void run_turns(BenchWork& work, double turn, Baseline* baseline, bool baseline_first,
               Rounds& rounds) {
  const auto baseline_turn = [&] {
    const std::vector<double> times = baseline->time(turn);
    rounds.baseline.insert(rounds.baseline.end(), times.begin(), times.end());
    baseline->rest();
  };
  if (baseline != nullptr && baseline_first) baseline_turn();
  const Clock::time_point start = Clock::now();
  do {
    const Clock::time_point run_start = Clock::now();
    work.run();
    rounds.seconds.push_back(since(run_start));
  } while (since(start) < turn);
  if (baseline != nullptr && !baseline_first) baseline_turn();
}

Rounds run_rounds(BenchWork& work, const BenchOptions& options, Baseline* baseline) {
  Rounds rounds;
  // A short measurement has short rounds, so that it stays short.
  const Clock::time_point warm_start = Clock::now();
  work.run();
  const double peak_seconds = std::max(std::min(kPeakSeconds, options.seconds / 20),
                                       std::min(since(warm_start), kMostPeakSeconds));
  const double model_seconds = std::min(kModelSeconds, options.seconds / 5);
  const Clock::time_point start = Clock::now();
  for (int round = 0; round < kFewestRounds || since(start) < options.seconds; ++round) {
    if (round > 0 && options.keep_going && !options.keep_going()) {
      rounds.complete = false;
      break;
    }
    rounds.slowness.push_back(1 / measure_machine_peak(work.threads(), peak_seconds));
    try {
      run_turns(work, model_seconds, baseline, round % 2 == 1, rounds);
    } catch (const BaselineStopped&) {
      rounds.complete = false;
      break;
    }
  }
  if (rounds.seconds.empty() || (baseline != nullptr && rounds.baseline.empty()))
    throw BenchStopped();
  return rounds;
}

void summarise(Rounds rounds, BenchResult& result) {
  static_cast<RunTimes&>(result) = summarise_times(rounds.seconds);
  std::sort(rounds.slowness.begin(), rounds.slowness.end());
  result.complete = rounds.complete;
  const int batch = result.setting.batch;
  result.images_per_second = batch / result.median;
  result.gflops = 2e-9 * static_cast<double>(result.macs.total()) * batch / result.best;
  result.peak_gflops = 1 / mean_of_first_quarter(rounds.slowness);
  result.peak_share = result.gflops / result.peak_gflops;
  if (!result.baseline) return;
  static_cast<RunTimes&>(*result.baseline) = summarise_times(rounds.baseline);
  result.baseline->ratio = result.best / result.baseline->best;
  result.baseline->ratio_median = result.median / result.baseline->median;
}

}  // namespace

void check_bench(const ModelSource& source, const BenchSetting& setting,
                 const BenchOptions& options) {
  check_input_size(setting.height, setting.width);
  if (setting.batch < 1 || setting.threads < 1) {
    fail_usage("a batch of {} on {} threads, expected at least 1 of each", setting.batch,
               setting.threads);
  }
  if (source.spec.config->task() == ModelTask::kDetect &&
      (setting.batch > 1 || !options.baseline.command.empty())) {
    fail_usage("{} is a detector, which is measured image by image and without a baseline",
               source.name);
  }
}

Bench::Bench(const ModelSource& source, const Precision& precision)
    : source_(source), precision_(precision) {
  source_.weights = source_weights(source);
  source_.checkpoint.reset();
  if (detects()) return;
  model_ = PackedModel::make(*source.graph, std::move(source_.weights), precision);
}

std::unique_ptr<BenchWork> Bench::work(const BenchSetting& setting, float score,
                                       bool profile) const {
  if (detects())
    return std::make_unique<DetectorWork>(source_, precision_, setting, score, profile);
  return std::make_unique<NetworkWork>(model_, source_.spec, setting, profile);
}

void Bench::prove_outputs(BenchWork& work, const std::vector<float>& alone) const {
  const std::vector<float> first = run_once(work), second = run_once(work);
  if (!std::all_of(first.begin(), first.end(), [](float x) { return std::isfinite(x); })) {
    fail("[bench] the outputs of {} are not finite", source_.name);
  }
  if (!same_bits(first, second)) {
    fail("[bench] the outputs of {} differ when run again", source_.name);
  }
  if (!same_bits(first, alone)) {
    fail("[bench] the outputs of {} differ with 1 and {} threads", source_.name, work.threads());
  }
}

BaselineResult Bench::prove_baseline(Baseline& baseline, const BenchSetting& setting,
                                     const BaselineOptions& options,
                                     const std::vector<float>& logits) const {
  BaselineResult result;
  result.engine = baseline.name();
  result.arithmetic = options.arithmetic;
  result.same_network = options.other.empty();
  result.model = result.same_network ? source_.name : options.other;
  MemoryFile images("images");
  write_planes(setting, images);
  const std::vector<float> theirs =
      baseline.run(images, setting.batch, setting.height, setting.width);
  if (!result.same_network) return result;
  if (theirs.size() != logits.size()) {
    fail("[bench] {} has {} logits, but {} has {}", baseline.name(), theirs.size(), source_.name,
         logits.size());
  }
  result.difference = relative_difference(logits, theirs);
  const bool floats =
      precision_.arithmetic == Arithmetic::kFloat32 && options.arithmetic == Arithmetic::kFloat32;
  const double tolerance = floats ? kBaselineTolerance : kInt8BaselineTolerance;
  if (!(*result.difference <= tolerance)) {
    fail(
        "[bench] the logits of {} differ from those of {} by {:.2g} of the largest, expected at "
        "most {:.2g}",
        baseline.name(), source_.name, *result.difference, tolerance);
  }
  return result;
}

BenchResult Bench::measure(const BenchSetting& setting, const BenchOptions& options) const {
  check_bench(source_, setting, options);
  reset_process_peak();
  float score = 0;
  const std::vector<float> alone = [&] {
    BenchSetting one = setting;
    one.threads = 1;
    const auto work = this->work(one, score, false);
    std::vector<float> outputs = run_once(*work);
    score = work->least_score();
    return outputs;
  }();
  BenchResult result;
  result.model = source_.name;
  result.arithmetic = precision_.arithmetic;
  result.setting = setting;
  Rounds rounds;
  {
    const auto timed = work(setting, score, false);
    prove_outputs(*timed, alone);
    result.macs = timed->macs();
    result.arena_bytes = timed->arena_bytes();
    result.scratch_bytes = timed->scratch_bytes();
    result.packed_bytes = timed->packed_bytes();
    result.proposals = timed->proposals();
    result.objects = timed->objects();
    std::optional<Baseline> baseline;
    try {
      if (!options.baseline.command.empty()) {
        baseline.emplace(options.baseline, baseline_environment(source_.name, setting),
                         options.keep_going);
        result.baseline = prove_baseline(*baseline, setting, options.baseline, alone);
        baseline->rest();
      }
      rounds = run_rounds(*timed, options, baseline ? &*baseline : nullptr);
      if (baseline && rounds.complete) result.baseline->process_bytes = baseline->memory();
    } catch (const BaselineStopped&) {
      throw BenchStopped();
    }
    result.process_bytes = process_peak();
  }
  summarise(rounds, result);
  if (options.profile && rounds.complete) {
    const auto profiled = work(setting, score, true);
    const Clock::time_point start = Clock::now();
    do {
      profiled->run();
      ++result.profile_runs;
    } while (since(start) < std::min(kProfileSeconds, options.seconds));
    result.profile_seconds = since(start);
    result.profile = profiled->profile();
  }
  return result;
}

}  // namespace vig
