// A run is repeatable to the last bit: again, with other loaders, interrupted and resumed.
#include <gtest/gtest.h>

#include <cmath>

#include "train/fixtures.h"

namespace vig::test {
namespace {

using train::MetricsRow;
using train::TrainOptions;

// Everything that draws or remembers is on; 200 steps.
TrainOptions full_options() {
  TrainOptions options = tiny_options("imagenet");
  options.fields["drop_path"] = "0.2";
  options.seed = 3;
  options.accumulate = 2;
  options.layer_decay = 0.9;
  options.ema = 0.99;
  options.augment.cutout = 0.2f;
  options.epochs = 200.0 / 14;  // 216 images in batches of 16, and one of 8
  options.warmup_epochs = 2;
  options.eval_every = 4;
  return options;
}

void expect_same_rows(const std::vector<MetricsRow>& rows, const std::vector<MetricsRow>& others) {
  ASSERT_EQ(rows.size(), others.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].step, others[i].step);
    EXPECT_EQ(rows[i].train_loss, others[i].train_loss) << rows[i].step;
    EXPECT_EQ(rows[i].train, others[i].train) << rows[i].step;
    EXPECT_EQ(rows[i].val, others[i].val) << rows[i].step;
  }
}

TEST(Run, IsTheSameAgainAndWhenInterrupted) {
  const TempDir folder;
  const std::string data = (folder / "data").string();
  write_files(data, striped_images(4, 60));
  const auto out = [&](const char* name) { return (folder / name).string(); };

  const RunRecord undisturbed = run_training(full_options(), data, out("undisturbed"));
  EXPECT_EQ(undisturbed.summary.train_images, 216u);
  EXPECT_EQ(undisturbed.summary.val_images, 24u);
  EXPECT_EQ(undisturbed.summary.steps, 200);
  EXPECT_EQ(undisturbed.summary.first_step, 0);
  EXPECT_EQ(undisturbed.losses.size(), 200u);
  EXPECT_TRUE(undisturbed.result.finished);
  EXPECT_TRUE(undisturbed.problems.empty());
  ASSERT_EQ(undisturbed.rows.size(), 4u);  // after 56, 112, 168 and 200 steps
  EXPECT_EQ(undisturbed.rows.back().step, 200);
  EXPECT_NEAR(undisturbed.rows.back().epoch, 200.0 / 14, 1e-9);
  EXPECT_LT(undisturbed.rows.back().train_loss, undisturbed.rows.front().train_loss);

  TrainOptions options = full_options();
  options.loaders = 3;
  const RunRecord again = run_training(options, data, out("again"));
  EXPECT_EQ(again.losses, undisturbed.losses);
  expect_same_rows(again.rows, undisturbed.rows);
  expect_same_runs(out("again"), out("undisturbed"));

  std::vector<double> losses;
  std::vector<MetricsRow> rows;
  int64_t begin = 0;
  for (const int64_t stop : {37, 121, 0}) {
    options.loaders = stop == 121 ? 0 : 2;  // the number of loaders may change
    const RunRecord part = run_training(options, data, out("interrupted"), stop);
    EXPECT_EQ(part.summary.first_step, begin);
    EXPECT_EQ(part.result.finished, stop == 0);
    EXPECT_EQ(part.result.state.step, stop == 0 ? 200 : stop);
    losses.insert(losses.end(), part.losses.begin(), part.losses.end());
    rows.insert(rows.end(), part.rows.begin(), part.rows.end());
    begin = stop;
  }
  EXPECT_EQ(losses, undisturbed.losses);
  expect_same_rows(rows, undisturbed.rows);
  expect_same_runs(out("interrupted"), out("undisturbed"));

  const RunRecord finished = run_training(options, data, out("interrupted"));
  EXPECT_TRUE(finished.result.finished);
  EXPECT_TRUE(finished.losses.empty()) << "there is nothing left to do";
  EXPECT_EQ(finished.result.best, undisturbed.result.best);
  EXPECT_NE(finished.result.best, "");
  expect_same_runs(out("interrupted"), out("undisturbed"));
}

// A stop during validation leaves it for the next time.
TEST(Run, IsTheSameWhenStoppedInTheMiddleOfAValidation) {
  const TempDir folder;
  const std::string data = (folder / "data").string();
  write_files(data, striped_images(3, 30));
  TrainOptions options = full_options();
  options.epochs = 3;
  options.eval_every = 1;
  const std::string out = (folder / "stopped").string();
  const RunRecord whole = run_training(options, data, (folder / "whole").string());
  ASSERT_EQ(whole.rows.size(), 3u);

  int64_t first = 0, last = 0;  // step of this run
  int asked = 0;                // since then: once by the loop, then by the validation
  std::vector<MetricsRow> rows;
  train::TrainEvents events;
  events.begin = [&](const train::RunSummary& run) {
    first = last = run.first_step;
    asked = 0;
  };
  events.step = [&](const train::StepReport& report) {
    last = report.step;
    asked = 0;
  };
  events.row = [&](const MetricsRow& row, double) { rows.push_back(row); };
  events.stop = [&] { return ++asked == 2 && last != first; };
  train::Group alone;
  for (const int64_t step : {6, 12, 18}) {  // 81 images
    const train::TrainResult result = train::train(options, data, out, events, alone);
    EXPECT_FALSE(result.finished);
    EXPECT_EQ(result.state.step, step);
    EXPECT_TRUE(result.state.row_due);
    EXPECT_EQ(result.state.rows.size(), static_cast<size_t>(step / 6 - 1));
  }
  EXPECT_TRUE(train::train(options, data, out, events, alone).finished);
  expect_same_rows(rows, whole.rows);
  expect_same_runs(out, folder / "whole");
}

// Before the first validation an image of it counts as a third of one of training, so that what is
// left, in images of training, does not depend on the speed.
TEST(Run, SaysHowManyValidationsAreLeft) {
  const TempDir folder;
  const std::string data = (folder / "data").string();
  write_files(folder / "data/train", striped_images(2, 40));
  write_files(folder / "data/val", striped_images(2, 3));
  TrainOptions options = tiny_options("small");
  options.batch = 4;
  options.epochs = 3;         // 60 steps
  options.eval_every = 1.25;  // after 25, 50 and 60 of them
  std::vector<double> validations;
  RunRecord record;
  train::TrainEvents events = record_events(record, 25);
  events.step = [&](const train::StepReport& report) {
    record.losses.push_back(report.loss);
    if (report.step < 23) return;  // too few for a guess
    const double images = report.seconds_left * report.images_per_second;
    validations.push_back((images - 4.0 * static_cast<double>(60 - report.step)) / (6.0 / 3));
  };
  train::Group alone;
  train::train(options, data, (folder / "run").string(), events, alone);
  ASSERT_EQ(validations.size(), 3u);  // after steps 23, 24 and 25, where the first one is due
  for (const double left : validations) EXPECT_NEAR(left, 3, 1e-6);
}

// How a batch is cut up, and whose operations compute it, changes nothing but the rounding.
TEST(Run, IsNearlyTheSameHoweverItIsComputed) {
  const TempDir folder;
  const std::string data = (folder / "data").string();
  write_files(data, striped_images(3, 30));
  TrainOptions options = full_options();
  options.warmup_epochs = 0;
  options.lr = 1e-3;
  std::vector<std::vector<double>> losses;
  const auto run = [&](int threads, int accumulate, bool kernels) {
    options.threads = threads;
    options.accumulate = accumulate;
    options.kernels = kernels;
    const std::string out = (folder / std::to_string(losses.size())).string();
    losses.push_back(run_training(options, data, out, 8).losses);
  };
  run(1, 1, true);
  run(2, 3, true);
  run(5, 1, true);  // shards of three and four images
  run(2, 1, false);
  EXPECT_GT(std::abs(losses[0][7] - losses[0][0]), 0.01) << "it learns";
  for (size_t i = 1; i < losses.size(); ++i) {
    ASSERT_EQ(losses[i].size(), 8u);
    for (size_t step = 0; step < 8; ++step) {
      EXPECT_NEAR(losses[i][step], losses[0][step], 2e-5) << i << ", step " << step;
    }
  }
}

// Sixteen small images a pass, unless set otherwise.
TEST(Run, TakesAsManyPassesAsMemoryAsks) {
  const TempDir folder;
  const std::string data = (folder / "data").string();
  write_files(data, striped_images(2, 40));
  TrainOptions options = full_options();
  options.batch = 40;
  options.threads = 1;
  const auto losses = [&](int accumulate) {
    options.accumulate = accumulate;
    return run_training(options, data, (folder / std::to_string(accumulate)).string(), 3).losses;
  };
  const std::vector<double> automatic = losses(0);
  EXPECT_EQ(automatic, losses(3));
  EXPECT_NE(automatic, losses(1)) << "sums are rounded otherwise";
}

// The other family, and a few steps of it.
TEST(Run, IsTheSameFromAnArchive) {
  const TempDir folder;
  const Files images = striped_images(3, 30);
  write_files(folder / "data", images);
  write_file(folder / "data.tar.gz", gzip_bytes(tar_bytes(images)));
  TrainOptions options = full_options();
  options.model = "test_vig_h";
  options.fields = {{"drop_path", "0.2"}};
  options.eval_every = 1;
  const auto run = [&](const char* data, const char* out) {
    return run_training(options, (folder / data).string(), (folder / out).string(), 7);
  };
  const RunRecord from_folder = run("data", "a"), from_archive = run("data.tar.gz", "b");
  EXPECT_EQ(from_archive.losses, from_folder.losses);
  EXPECT_EQ(from_folder.losses.size(), 7u);
  expect_same_runs(folder / "b", folder / "a");
  options.seed = 4;
  EXPECT_NE(run("data", "c").losses[0], from_folder.losses[0]) << "another seed is another run";
}

}  // namespace
}  // namespace vig::test
