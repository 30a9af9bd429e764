// The best network is the last one within the noise of the highest figure.
#include "vig/train/best_network.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/dense_fixtures.h"
#include "vig/train/tasks/classification.h"

namespace vig::test {
namespace {

using train::MetricsRow;
using train::TrainOptions;

class BestNetwork : public ::testing::Test {
 protected:
  // `classes` of as many validation images as given, and some to train on.
  std::unique_ptr<train::Task> classification(const std::vector<int>& counts) {
    std::filesystem::remove_all(folder_ / "data");
    write_files(folder_ / "data/train", striped_images(static_cast<int>(counts.size()), 2));
    Files val;
    for (const auto& [name, bytes] : striped_images(static_cast<int>(counts.size()), 20)) {
      const size_t c = static_cast<size_t>(name[5] - '0');  // classC/NUMBER.png
      if (std::stoi(name.substr(7)) < counts[c]) val[name] = bytes;
    }
    write_files(folder_ / "data/val", val);
    return train::open_task(tiny_options("small"), (folder_ / "data").string(), 1);
  }

  static MetricsRow row(const train::Task& task, double figure, double loss = 1) {
    MetricsRow row;
    row.val.assign(task.columns().val.size(), 0);
    row.val[train::kValLoss] = loss;
    row.val[task.best_column()] = figure;
    return row;
  }

  // The rows, from 0, whose networks become the best one.
  static std::vector<size_t> best_rows(const train::Task& task,
                                       const std::vector<MetricsRow>& all) {
    std::vector<size_t> best;
    for (size_t i = 0; i < all.size(); ++i) {
      if (becomes_best(task, std::span(all).first(i), all[i])) best.push_back(i);
    }
    return best;
  }

  TempDir folder_;
};

TEST_F(BestNetwork, TheStandardErrorIsThatOfAShare) {
  const auto even = classification({15, 15});
  EXPECT_EQ(even->best_by(), "top-1");
  EXPECT_DOUBLE_EQ(even->best_error(row(*even, 0.8).val), std::sqrt(0.8 * 0.2 / 30));
  EXPECT_EQ(even->best_error(row(*even, 1).val), 0);
  EXPECT_EQ(even->best_error(row(*even, 0).val), 0);
  const auto uneven = classification({16, 4, 2});
  EXPECT_EQ(uneven->best_by(), "balanced accuracy");
  EXPECT_DOUBLE_EQ(uneven->best_error(row(*uneven, 0.8).val),
                   std::sqrt(0.8 * 0.2 * (1.0 / 16 + 1.0 / 4 + 1.0 / 2)) / 3);
}

// At 27 of 30 one standard error is 5.5 points: one image less is noise, two are not.
TEST_F(BestNetwork, IsTheLastOneWithinTheNoise) {
  const auto task = classification({15, 15});
  std::vector<MetricsRow> rows;
  for (const double correct : {20, 27, 26, 25, 26, 24}) rows.push_back(row(*task, correct / 30));
  EXPECT_EQ(best_rows(*task, rows), (std::vector<size_t>{0, 1, 2, 4}));
  EXPECT_EQ(highest_row(*task, rows), &rows[1]);
}

// Each compared with the highest, not with the one before: the best cannot sink step by step.
TEST_F(BestNetwork, DoesNotDriftDown) {
  const auto task = classification({15, 15});
  std::vector<MetricsRow> rows;
  for (const double correct : {27, 26, 25, 24, 23, 22}) rows.push_back(row(*task, correct / 30));
  EXPECT_EQ(best_rows(*task, rows), (std::vector<size_t>{0, 1}));
}

TEST_F(BestNetwork, OfAllImagesRightTheSmallerLossDecides) {
  const auto task = classification({15, 15});
  const std::vector<MetricsRow> rows = {row(*task, 1, 0.5), row(*task, 1, 0.6), row(*task, 1, 0.4)};
  EXPECT_EQ(best_rows(*task, rows), (std::vector<size_t>{0, 2}));
}

// mIoU and AP are no shares of independent trials.
TEST_F(BestNetwork, OfOtherTasksIsTheHighest) {
  write_files(folder_ / "labelled", labelled_images(2, 2));
  const auto task = train::open_task(tiny_segmentation(), (folder_ / "labelled").string(), 1);
  EXPECT_EQ(task->best_error(row(*task, 0.5).val), 0);
  const std::vector<MetricsRow> rows = {row(*task, 0.5), row(*task, 0.499), row(*task, 0.51)};
  EXPECT_EQ(best_rows(*task, rows), (std::vector<size_t>{0, 2}));
}

TEST_F(BestNetwork, FewImagesAreNamed) {
  write_files(folder_ / "data/train", striped_images(2, 4));
  write_files(folder_ / "data/val", striped_images(2, 100));
  TrainOptions options = tiny_options("small");
  options.epochs = 1;
  const auto notes = [&](const char* out) {
    return run_training(options, (folder_ / "data").string(), (folder_ / out).string())
        .summary.task.notes;
  };
  EXPECT_EQ(notes("enough"), std::vector<std::string>{}) << "200 images";
  std::filesystem::remove(folder_ / "data/val/class0/0.png");
  std::filesystem::remove(folder_ / "data/val/class1/0.png");
  EXPECT_EQ(notes("few"),
            std::vector<std::string>{
                "198 images to validate on (below 200): top-1 has a standard error of up to 3.6 "
                "points; the best network is the last one within it of the highest"});
  write_files(folder_ / "labelled", labelled_images(2, 1));
  options = tiny_segmentation();
  options.epochs = 1;
  const RunRecord dense =
      run_training(options, (folder_ / "labelled").string(), (folder_ / "segment").string());
  EXPECT_EQ(
      dense.summary.task.notes,
      std::vector<std::string>{
          "1 image to validate on (below 200): differences in mIoU may be chance; compare the "
          "best and the last network on other images"});
}

// A run that learns nothing: of equal figures the first is the highest and the last the best one.
// Interruptions do not matter, and the end says why the best one is not the highest.
TEST_F(BestNetwork, IsTheSameWhenInterrupted) {
  write_files(folder_ / "data", striped_images(3, 30));
  TrainOptions options = tiny_options("small");
  options.epochs = 4;
  options.val_share = 0.3;
  options.lr = options.min_lr = options.warmup_lr = options.ema = 0;
  const std::string data = (folder_ / "data").string();
  const RunRecord whole = run_training(options, data, (folder_ / "a/run").string());
  const auto task = train::open_task(options, data, 1);
  const std::vector<size_t> best = best_rows(*task, whole.rows);
  EXPECT_EQ(whole.result.state.best_step, whole.rows[best.back()].step);
  const MetricsRow* high = highest_row(*task, whole.rows);
  EXPECT_NE(high->step, whole.result.state.best_step) << "or nothing is tested";
  EXPECT_TRUE(
      whole.result.best_note.starts_with("the last within one standard error of the highest ("))
      << whole.result.best_note;
  for (const int64_t stop : {5, 13, 0}) {
    run_training(options, data, (folder_ / "b/run").string(), stop);
  }
  expect_same_runs(folder_ / "b/run", folder_ / "a/run");
  EXPECT_EQ(read_file(folder_ / "b/run/curves.svg"), read_file(folder_ / "a/run/curves.svg"));
}

}  // namespace
}  // namespace vig::test
