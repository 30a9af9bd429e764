#include "vig/pipeline/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "vig/base/error.h"
#include "vig/base/memory.h"
#include "vig/pipeline/bench_statistics.h"
#include "vig/runtime/machine.h"

namespace vig {
namespace {

// Of a round's peak loop: as long as a run of the network, so that both meet the same disturbances,
// but within these bounds.
constexpr double kPeakSeconds = 0.02, kMostPeakSeconds = 1;
constexpr double kModelSeconds = 0.06;  // of a round's network runs, at least one run
constexpr int kFewestRounds = 5;
constexpr double kProfileSeconds = 1;

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Numbers like a normalised picture's, different for each picture of the batch.
void fill_inputs(Session& session, const BenchSetting& setting) {
  const int64_t count = int64_t{setting.height} * setting.width * 3;
  for (int image = 0; image < setting.batch; ++image) {
    float* out = session.input(image);
    uint32_t state = 12345u + 7919u * static_cast<uint32_t>(image);
    for (int64_t i = 0; i < count; ++i) {
      state = state * 1664525u + 1013904223u;
      out[i] = static_cast<float>(state >> 8) * 0x1p-22f - 2.0f;
    }
  }
}

std::vector<float> run_once(Session& session) {
  session.run(session.batch());
  const Graph& graph = session.graph();
  const int64_t count = graph.node(graph.find_output("logits")).grid.elements();
  std::vector<float> logits;
  for (int image = 0; image < session.batch(); ++image) {
    const float* values = session.output("logits", image);
    logits.insert(logits.end(), values, values + count);
  }
  return logits;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct Rounds {
  std::vector<double> seconds;   // of each run of the network
  std::vector<double> slowness;  // of each round of the peak loop, seconds per GFLOP
  bool complete = true;
};

Rounds run_rounds(Session& session, const BenchOptions& options) {
  Rounds rounds;
  // A short measurement has short rounds, so that it stays short.
  const Clock::time_point warm_start = Clock::now();
  session.run(session.batch());
  const double peak_seconds = std::max(std::min(kPeakSeconds, options.seconds / 20),
                                       std::min(since(warm_start), kMostPeakSeconds));
  const double model_seconds = std::min(kModelSeconds, options.seconds / 5);
  const Clock::time_point start = Clock::now();
  for (int round = 0; round < kFewestRounds || since(start) < options.seconds; ++round) {
    if (round > 0 && options.keep_going && !options.keep_going()) {
      rounds.complete = false;
      break;
    }
    rounds.slowness.push_back(1 / measure_machine_peak(session.threads(), peak_seconds));
    const Clock::time_point round_start = Clock::now();
    do {
      const Clock::time_point run_start = Clock::now();
      session.run(session.batch());
      rounds.seconds.push_back(since(run_start));
    } while (since(round_start) < model_seconds);
  }
  return rounds;
}

void summarise(Rounds rounds, BenchResult& result) {
  std::vector<double>& times = rounds.seconds;
  std::sort(times.begin(), times.end());
  std::sort(rounds.slowness.begin(), rounds.slowness.end());
  result.complete = rounds.complete;
  result.runs = static_cast<int>(times.size());
  result.median = quantile(times, 0.5);
  result.p95 = quantile(times, 0.95);
  result.spread = (quantile(times, 0.75) - quantile(times, 0.25)) / result.median;
  result.best = mean_of_first_quarter(times);
  const int batch = result.setting.batch;
  result.images_per_second = batch / result.median;
  result.gflops = 2e-9 * static_cast<double>(result.macs.total()) * batch / result.best;
  result.peak_gflops = 1 / mean_of_first_quarter(rounds.slowness);
  result.peak_share = result.gflops / result.peak_gflops;
}

}  // namespace

Bench::Bench(const ModelSource& source) : name_(source.name), spec_(source.spec) {
  model_ = PackedModel::make(*source.graph, source_weights(source));
}

Session Bench::session(const BenchSetting& setting, bool profile) const {
  Session session(
      model_, build_graph(spec_, setting.height, setting.width),
      {.batch = setting.batch, .threads = setting.threads, .profile = profile, .keep = {}});
  if (session.threads() < setting.threads) {
    fail("{} of {} threads can be started: the system's limit of threads or of memory is reached",
         session.threads(), setting.threads);
  }
  fill_inputs(session, setting);
  return session;
}

std::vector<float> Bench::answer_alone(BenchSetting setting) const {
  setting.threads = 1;
  Session alone = session(setting, false);
  return run_once(alone);
}

void Bench::prove_answer(Session& session, const std::vector<float>& alone) const {
  const std::vector<float> first = run_once(session), second = run_once(session);
  if (!std::all_of(first.begin(), first.end(), [](float x) { return std::isfinite(x); })) {
    fail("[bench] {} answers with numbers that are not finite", name_);
  }
  if (!same_bits(first, second)) fail("[bench] {} answers differently when run again", name_);
  if (!same_bits(first, alone)) {
    fail("[bench] {} answers differently with 1 and {} threads", name_, session.threads());
  }
}

BenchResult Bench::measure(const BenchSetting& setting, const BenchOptions& options) const {
  check_input_size(setting.height, setting.width);
  if (setting.batch < 1 || setting.threads < 1) {
    fail_usage("a batch of {} on {} threads, expected at least 1 of each", setting.batch,
               setting.threads);
  }
  reset_process_peak();
  const std::vector<float> alone = answer_alone(setting);
  BenchResult result;
  result.model = name_;
  result.setting = setting;
  Rounds rounds;
  {
    Session timed = session(setting, false);
    prove_answer(timed, alone);
    result.macs = count_macs(timed.graph());
    result.arena_bytes = timed.arena_bytes();
    result.scratch_bytes = timed.scratch_bytes();
    result.packed_bytes = model_->bytes();
    rounds = run_rounds(timed, options);
    result.process_bytes = process_peak();
  }
  summarise(rounds, result);
  if (options.profile && rounds.complete) {
    Session profiled = session(setting, true);
    const Clock::time_point start = Clock::now();
    do {
      profiled.run(setting.batch);
      ++result.profile_runs;
    } while (since(start) < std::min(kProfileSeconds, options.seconds));
    result.profile_seconds = since(start);
    result.profile = profiled.profile();
  }
  return result;
}

}  // namespace vig
