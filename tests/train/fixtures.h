// Small images to learn from, runs on them, and what runs leave.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/archive_bytes.h"
#include "support/files.h"
#include "vig/train/trainer.h"

namespace vig::test {

// CLASS/NUMBER.png, 24 x 24: stripes whose direction and colour are the class's, with noise.
Files striped_images(int classes, int each);

// A network of milliseconds.
train::TrainOptions tiny_options(const std::string& preset);

// What a run reported, step by step.
struct RunRecord {
  train::RunSummary summary;
  std::vector<double> losses, lrs, gradient_norms;
  std::vector<train::MetricsRow> rows;
  std::vector<std::string> problems;
  train::TrainResult result;
};

// Events that fill `record`, and stop the run after the step `stop_at`, if that is not 0.
train::TrainEvents record_events(RunRecord& record, int64_t stop_at);

RunRecord run_training(const train::TrainOptions& options, const std::string& data,
                       const std::string& out, int64_t stop_at = 0);

// By name: the tensors of a file as they lie in it.
std::map<std::string, std::string> tensor_bytes(const std::filesystem::path& file);

// Both folders hold the same networks and the same state to resume from, bit by bit.
void expect_same_runs(const std::filesystem::path& actual, const std::filesystem::path& expected);

// The environment in which a program sends a signal at an exact point, such as
// "renamed:checkpoint.safetensors:4:INT": see tests/support/preload/signal_at.cpp.
std::vector<std::string> signal_at(const std::string& point);

}  // namespace vig::test
