// The progress output of a training run: a status that is overwritten on a terminal, now and then a
// line elsewhere, and the table of its validations.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "vig/train/trainer.h"

namespace vig::cli {

class Display {
 public:
  Display();
  ~Display() { hide(); }  // what is said next, be it an error, begins a line
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  // To someone who may have gone: training continues without.
  void say(const std::string& text);
  // Throws an Error if something could not be written for another reason than that.
  void check() const;

  void begin(const train::RunSummary& run);
  void step(const train::StepReport& report);
  void row(const train::MetricsRow& row, double seconds_left);
  void problem(const std::string& sentence);
  void end(const train::TrainResult& result, const std::string& out);

  // Takes the status away.
  void hide();

 private:
  const bool terminal_;
  bool shown_ = false;
  bool alone_ = false;
  std::string failure_;  // to write
  train::Columns columns_;
  int64_t steps_per_epoch_ = 1;
  std::optional<std::chrono::steady_clock::time_point> last_;  // when a status was shown
};

}  // namespace vig::cli
