// How fast a network runs here, as a share of what the machine can do.
//
// The machine is shared with others, so rounds of a loop of plain multiply-adds and rounds of the
// network take turns, and the fastest quarters of both are compared: those had the machine to
// themselves.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "vig/pipeline/model_source.h"
#include "vig/runtime/session.h"

namespace vig {

struct BenchSetting {
  int height = 0;
  int width = 0;
  int batch = 1;
  int threads = 1;
};

struct BenchOptions {
  double seconds = 3;    // per setting, about
  bool profile = false;  // also time every kind of operation, in a session of its own
  // Asked between rounds; false ends the measurement with what there is.
  std::function<bool()> keep_going;
};

struct BenchResult {
  std::string model;
  BenchSetting setting;
  MacCount macs;  // of one picture
  int runs = 0;
  bool complete = true;  // false when keep_going ended it early

  // Seconds of a run of the whole batch.
  double median = 0;
  double p95 = 0;
  double spread = 0;  // between the quartiles, as a share of the median
  double best = 0;    // mean of the fastest quarter

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
};

class Bench {
 public:
  explicit Bench(const ModelSource& source);

  // Proves the answer first: finite, the same bits when run again and with one thread. Throws when
  // it is not, because the speed of a wrong answer is of no interest.
  BenchResult measure(const BenchSetting& setting, const BenchOptions& options) const;

 private:
  Session session(const BenchSetting& setting, bool profile) const;
  void prove_answer(Session& session, const std::vector<float>& alone) const;
  // Logits of a run on one thread.
  std::vector<float> answer_alone(BenchSetting setting) const;

  std::string name_;
  ModelSpec spec_;
  std::shared_ptr<const PackedModel> model_;
};

}  // namespace vig
