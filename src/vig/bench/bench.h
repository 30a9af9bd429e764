// How fast a network runs here, as a share of what the machine can do.
//
// The machine is shared with others, so rounds of a loop of plain multiply-adds and rounds of the
// network take turns, and the fastest quarters of both are compared: those had the machine to
// themselves. Rounds of another engine may take their turns with them.
//
// A detector is measured from the network's input to the masks. With weights that were never
// trained no score is high, so the least score is set to where as many objects are left as the
// model finds at most (100).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vig/bench/baseline.h"
#include "vig/bench/statistics.h"
#include "vig/bench/work.h"
#include "vig/pipeline/model_source.h"
#include "vig/runtime/session.h"

namespace vig {

struct BenchOptions {
  double seconds = 3;    // per setting, about
  bool profile = false;  // also time every kind of operation, in a session of its own
  // Asked between rounds, and while a baseline is waited for; false ends the measurement with what
  // there is.
  std::function<bool()> keep_going;
  // Started once for each setting, with VIG_MODEL, VIG_HEIGHT, VIG_WIDTH, VIG_BATCH and VIG_THREADS
  // in its environment.
  BaselineOptions baseline;
};

// Times are those of a run of the whole batch.
struct BaselineResult : RunTimes {
  std::string engine;  // its own name for itself
  std::string model;   // the network it runs
  Arithmetic arithmetic = Arithmetic::kFloat32;
  bool same_network = true;
  // Largest difference of the logits as a share of our largest one; nothing for another network.
  std::optional<double> difference;
  size_t process_bytes = 0;  // largest resident size of its process; 0 when stopped early
  // Our time as a multiple of its time, by the fastest quarters and by the medians.
  double ratio = 0;
  double ratio_median = 0;
};

// keep_going ended the measurement before there was anything to report.
struct BenchStopped {};

// Times are those of a run of the whole batch.
struct BenchResult : RunTimes {
  std::string model;
  Arithmetic arithmetic = Arithmetic::kFloat32;
  BenchSetting setting;
  MacCount macs;         // of one image; of a detector with its boxes and objects
  size_t proposals = 0;  // of a detector: boxes that went through the box head, and objects
  size_t objects = 0;    // that went through the mask head
  bool complete = true;  // false when keep_going ended it early

  double images_per_second = 0;  // at the median
  double gflops = 0;             // at `best`; a multiply-add counts two, the scan's included
  double peak_gflops = 0;        // of the machine: mean of the fastest quarter of its rounds
  double peak_share = 0;         // gflops / peak_gflops

  size_t arena_bytes = 0;
  size_t scratch_bytes = 0;
  size_t packed_bytes = 0;   // of the weights
  size_t process_bytes = 0;  // largest resident size of the process during this setting
  std::vector<ProfileEntry> profile;
  int profile_runs = 0;
  double profile_seconds = 0;  // of all profile runs, by the clock
  std::optional<BaselineResult> baseline;
};

// Largest difference of a baseline's logits, as a share of our largest one, with which it still
// counts as the same result: where both compute in float, and where one of them does not. Engines
// quantise differently (docs/onnx.md).
inline constexpr double kBaselineTolerance = 1e-4;
inline constexpr double kInt8BaselineTolerance = 0.1;

// Throws a usage error for a setting that cannot be measured.
void check_bench(const ModelSource& source, const BenchSetting& setting,
                 const BenchOptions& options);

class Bench {
 public:
  explicit Bench(const ModelSource& source, const Precision& precision = {});

  // Checks the outputs first: finite, the same bits when run again and with one thread. Throws when
  // it is not, because the speed of a wrong result does not matter. A baseline that runs the same
  // network must give the same logits within the tolerance. Throws BenchStopped, too.
  BenchResult measure(const BenchSetting& setting, const BenchOptions& options) const;

 private:
  // `score`: of a detector, see above.
  std::unique_ptr<BenchWork> work(const BenchSetting& setting, float score, bool profile) const;
  void prove_outputs(BenchWork& work, const std::vector<float>& alone) const;
  // `logits` are ours.
  BaselineResult prove_baseline(Baseline& baseline, const BenchSetting& setting,
                                const BaselineOptions& options,
                                const std::vector<float>& logits) const;
  bool detects() const { return source_.spec.config->task() == ModelTask::kDetect; }

  ModelSource source_;  // without its file
  Precision precision_;
  std::shared_ptr<const PackedModel> model_;  // null for a detector, which packs its own
};

}  // namespace vig
