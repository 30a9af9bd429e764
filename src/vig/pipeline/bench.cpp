#include "vig/pipeline/bench.h"

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
  return work.answer();
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The pictures as [batch, 3, height, width], the layout that other engines read.
void write_planes(const BenchSetting& setting, MemoryFile& file) {
  constexpr int kChannels = 3;
  std::vector<float> row(static_cast<size_t>(setting.width));
  std::vector<float> picture(row.size() * static_cast<size_t>(setting.height) * kChannels);
  for (int image = 0; image < setting.batch; ++image) {
    fill_bench_picture(image, setting, picture.data());
    for (int channel = 0; channel < kChannels; ++channel) {
      const float* in = picture.data() + channel;
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

// Of all numbers, as a share of the largest of `ours`; infinity where a number is not finite.
double relative_difference(const std::vector<float>& ours, const std::vector<float>& theirs) {
  double largest = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const double difference = std::abs(double{ours[i]} - double{theirs[i]});
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest == 0 ? 0 : largest / largest_magnitude(ours);
}

std::vector<std::string> rival_environment(const std::string& model, const BenchSetting& setting) {
  return {"VIG_MODEL=" + model, fmt::format("VIG_HEIGHT={}", setting.height),
          fmt::format("VIG_WIDTH={}", setting.width), fmt::format("VIG_BATCH={}", setting.batch),
          fmt::format("VIG_THREADS={}", setting.threads)};
}

struct Rounds {
  std::vector<double> seconds;   // of each run of the network
  std::vector<double> slowness;  // of each round of the peak loop, seconds per GFLOP
  std::vector<double> rival;     // of each run of the rival, seconds
  bool complete = true;
};

// The engines change places from round to round, so that neither always follows the other. Whoever
// comes next finds the rival's threads at rest.
void run_turns(BenchWork& work, double turn, Rival* rival, bool rival_first, Rounds& rounds) {
  const auto rival_turn = [&] {
    const std::vector<double> times = rival->time(turn);
    rounds.rival.insert(rounds.rival.end(), times.begin(), times.end());
    rival->rest();
  };
  if (rival != nullptr && rival_first) rival_turn();
  const Clock::time_point start = Clock::now();
  do {
    const Clock::time_point run_start = Clock::now();
    work.run();
    rounds.seconds.push_back(since(run_start));
  } while (since(start) < turn);
  if (rival != nullptr && !rival_first) rival_turn();
}

Rounds run_rounds(BenchWork& work, const BenchOptions& options, Rival* rival) {
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
      run_turns(work, model_seconds, rival, round % 2 == 1, rounds);
    } catch (const RivalStopped&) {
      rounds.complete = false;
      break;
    }
  }
  if (rounds.seconds.empty() || (rival != nullptr && rounds.rival.empty())) throw BenchStopped();
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
  if (!result.rival) return;
  static_cast<RunTimes&>(*result.rival) = summarise_times(rounds.rival);
  result.rival->ratio = result.best / result.rival->best;
  result.rival->ratio_median = result.median / result.rival->median;
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
      (setting.batch > 1 || !options.rival.command.empty())) {
    fail_usage("{} is a detector, which is measured picture by picture and without a rival",
               source.name);
  }
}

Bench::Bench(const ModelSource& source) : source_(source) {
  source_.weights = source_weights(source);
  source_.checkpoint.reset();
  if (detects()) return;
  model_ = PackedModel::make(*source.graph, std::move(source_.weights));
}

std::unique_ptr<BenchWork> Bench::work(const BenchSetting& setting, float score,
                                       bool profile) const {
  if (detects()) return std::make_unique<DetectorWork>(source_, setting, score, profile);
  return std::make_unique<NetworkWork>(model_, source_.spec, setting, profile);
}

void Bench::prove_answer(BenchWork& work, const std::vector<float>& alone) const {
  const std::vector<float> first = run_once(work), second = run_once(work);
  if (!std::all_of(first.begin(), first.end(), [](float x) { return std::isfinite(x); })) {
    fail("[bench] {} answers with numbers that are not finite", source_.name);
  }
  if (!same_bits(first, second)) {
    fail("[bench] {} answers differently when run again", source_.name);
  }
  if (!same_bits(first, alone)) {
    fail("[bench] {} answers differently with 1 and {} threads", source_.name, work.threads());
  }
}

RivalResult Bench::prove_rival(Rival& rival, const BenchSetting& setting, const std::string& other,
                               const std::vector<float>& logits) const {
  RivalResult result;
  result.engine = rival.name();
  result.same_network = other.empty();
  result.model = result.same_network ? source_.name : other;
  MemoryFile pictures("pictures");
  write_planes(setting, pictures);
  const std::vector<float> theirs =
      rival.run(pictures, setting.batch, setting.height, setting.width);
  if (!result.same_network) return result;
  if (theirs.size() != logits.size()) {
    fail("[bench] {} answers with {} logits where {} has {}", rival.name(), theirs.size(),
         source_.name, logits.size());
  }
  result.difference = relative_difference(logits, theirs);
  if (!(*result.difference <= kRivalTolerance)) {
    fail(
        "[bench] the logits of {} differ from those of {} by {:.2g} of the largest, expected at "
        "most {:.0e}",
        rival.name(), source_.name, *result.difference, kRivalTolerance);
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
    std::vector<float> answer = run_once(*work);
    score = work->least_score();
    return answer;
  }();
  BenchResult result;
  result.model = source_.name;
  result.setting = setting;
  Rounds rounds;
  {
    const auto timed = work(setting, score, false);
    prove_answer(*timed, alone);
    result.macs = timed->macs();
    result.arena_bytes = timed->arena_bytes();
    result.scratch_bytes = timed->scratch_bytes();
    result.packed_bytes = timed->packed_bytes();
    result.proposals = timed->proposals();
    result.objects = timed->objects();
    std::optional<Rival> rival;
    try {
      if (!options.rival.command.empty()) {
        rival.emplace(options.rival, rival_environment(source_.name, setting), options.keep_going);
        result.rival = prove_rival(*rival, setting, options.rival.other, alone);
        rival->rest();
      }
      rounds = run_rounds(*timed, options, rival ? &*rival : nullptr);
      if (rival && rounds.complete) result.rival->process_bytes = rival->memory();
    } catch (const RivalStopped&) {
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
