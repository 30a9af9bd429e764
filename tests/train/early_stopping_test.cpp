// --patience: runs that end when they do not get better any more.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/errors.h"
#include "support/run_program.h"
#include "support/tree.h"
#include "train/fixtures.h"

namespace vig::test {
namespace {

using nlohmann::json;
using train::TrainOptions;

// A rate of 0: no validation is higher than the first. Two steps an epoch.
class EarlyStopping : public ::testing::Test {
 protected:
  EarlyStopping() { write_files(folder_ / "data", striped_images(3, 12)); }
  static TrainOptions options(int patience, double epochs = 8) {
    TrainOptions options = tiny_options("small");
    options.lr = options.min_lr = options.warmup_lr = 0;
    options.epochs = epochs;
    options.patience = patience;
    options.threads = 1;
    return options;
  }
  RunRecord run(const TrainOptions& options, const std::string& out, int64_t stop_at = 0) {
    return run_training(options, data(), (folder_ / out).string(), stop_at);
  }
  std::string data() const { return (folder_ / "data").string(); }
  json record(const std::string& out) {
    return json::parse(read_file(folder_ / (out + "/run.json")));
  }

  TempDir folder_;
};

TEST_F(EarlyStopping, EndsTheRunAndSaysSo) {
  const RunRecord stopped = run(options(2), "run");
  EXPECT_TRUE(stopped.result.finished);
  EXPECT_TRUE(stopped.result.stopped_early);
  EXPECT_FALSE(stopped.summary.stopped_early);
  EXPECT_EQ(stopped.rows.size(), 3u) << "the highest, and two that are no better";
  EXPECT_EQ(stopped.result.state.step, 6);
  EXPECT_EQ(stopped.result.state.best_step, 6) << "the last of equals";
  EXPECT_EQ(record("run")["stopped_early"], (json{{"epoch", 3.0}, {"step", 6}}));
  EXPECT_EQ(record("run")["patience"], 2);

  // Again, it is finished and stays as it is.
  const RunRecord again = run(options(2), "run");
  EXPECT_TRUE(again.result.finished && again.result.stopped_early);
  EXPECT_TRUE(again.summary.stopped_early);
  EXPECT_TRUE(again.losses.empty());
  EXPECT_EQ(again.result.best, stopped.result.best);
  EXPECT_TRUE(record("run").contains("stopped_early"));

  const RunRecord whole = run(options(0, 4), "whole");
  EXPECT_TRUE(whole.result.finished);
  EXPECT_FALSE(whole.result.stopped_early);
  EXPECT_EQ(whole.rows.size(), 4u);
  EXPECT_FALSE(record("whole").contains("stopped_early"));
  // At the very end nothing is cut short.
  EXPECT_FALSE(run(options(3, 4), "end").result.stopped_early);
}

TEST_F(EarlyStopping, IsTheSameWhenInterrupted) {
  const RunRecord whole = run(options(3), "whole");
  run(options(3), "stopped", 3);
  run(options(3), "stopped", 5);
  const RunRecord rest = run(options(3), "stopped");
  EXPECT_EQ(rest.summary.first_step, 5);
  EXPECT_TRUE(rest.result.stopped_early);
  EXPECT_EQ(rest.result.state.step, whole.result.state.step);
  expect_same_runs(folder_ / "stopped", folder_ / "whole");
}

// A validation that counts makes a run patient again.
TEST_F(EarlyStopping, CountsFromTheHighestFigure) {
  train::RunState state;
  for (const int64_t step : {2, 4, 6, 8}) {
    state.rows.emplace_back();
    state.rows.back().step = step;
  }
  EXPECT_EQ(state.rows_since(4, 0), 2);
  EXPECT_EQ(state.rows_since(4, 6), 1);
  EXPECT_EQ(state.rows_since(8, 0), 0);
}

TEST_F(EarlyStopping, MorePatienceContinues) {
  run(options(1), "run");
  const RunRecord more = run(options(3), "run");
  EXPECT_EQ(more.summary.first_step, 4);
  EXPECT_FALSE(more.summary.stopped_early);
  EXPECT_TRUE(more.result.stopped_early);
  EXPECT_EQ(more.result.state.step, 8);
  run(options(3), "from the start");
  expect_same_runs(folder_ / "run", folder_ / "from the start");
  EXPECT_EQ(record("run")["patience"], 3);
  EXPECT_EQ(record("run")["stopped_early"]["step"], 8);

  const RunRecord endless = run(options(0), "run");
  EXPECT_FALSE(endless.result.stopped_early);
  EXPECT_EQ(endless.result.state.step, 16);
  EXPECT_FALSE(record("run").contains("stopped_early"));
  run(options(0), "endless");
  expect_same_runs(folder_ / "run", folder_ / "endless");
}

TEST_F(EarlyStopping, LessPatienceIsAnotherRun) {
  run(options(3), "run", 3);
  for (const int patience : {1, 2}) {
    expect_error(ErrorCode::kUsage,
                 {"holds another run", fmt::format("patience was 3, is {}", patience)},
                 [&] { run(options(patience), "run"); });
  }
  run(options(4), "run", 4);
  run(options(0), "run", 5);
  expect_error(ErrorCode::kUsage, {"patience was 0, is 9"}, [&] { run(options(9), "run"); });
}

TEST_F(EarlyStopping, MoreEpochsAreForRunsThatCameToTheirEnd) {
  run(options(1), "run");
  expect_error(ErrorCode::kUsage,
               {"stands at step 4 of 16", "stopped early continues with a larger --patience"},
               [&] { run(options(1, 12), "run"); });
  expect_error(ErrorCode::kUsage, {"stands at step 4 of 16"}, [&] { run(options(2, 12), "run"); });
  // One that ended by itself is extended, and counts from there.
  EXPECT_FALSE(run(options(2, 2), "whole").result.stopped_early);
  const RunRecord more = run(options(2, 9), "whole");
  EXPECT_TRUE(more.result.stopped_early);
  EXPECT_EQ(more.summary.extended, "2");
  EXPECT_EQ(more.rows.size(), 2u) << "not one";
  EXPECT_EQ(more.result.state.step, 8);
}

TEST_F(EarlyStopping, NeedsImagesToValidateOn) {
  TrainOptions none = options(2);
  none.val_share = 0;
  expect_error(ErrorCode::kUsage, {"--patience is 2", "no images to validate on"},
               [&] { run(none, "run"); });
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(EarlyStopping, OfTheProgram) {
  const std::vector<std::string> arguments = {
      kVig,          "train",   data(),  "--out",      (folder_ / "run").string(),
      "--preset",    "small",   "-m",    "test_vig",   "--size",
      "32",          "--lr",    "0",     "--min-lr",   "0",
      "--warmup-lr", "0",       "--ema", "0",          "--epochs",
      "8",           "--batch", "16",    "--patience", "1"};
  const RunResult first = run_program(arguments);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_NE(first.out.find("stopped early at epoch 2: no better network for"), std::string::npos)
      << first.out;
  EXPECT_NE(first.out.find("best: "), std::string::npos) << first.out;
  const RunResult again = run_program(arguments);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find("finished: it stopped early at step 4 of 16"), std::string::npos)
      << again.out;
  EXPECT_EQ(again.out.find("resuming"), std::string::npos) << again.out;
}

}  // namespace
}  // namespace vig::test
