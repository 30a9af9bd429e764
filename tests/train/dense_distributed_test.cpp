// Several processes train a segmentation network and a detector: with the result of one.
#include <gtest/gtest.h>

#include "train/dense_fixtures.h"
#include "train/together.h"

namespace vig::test {
namespace {

using train::MetricsRow;
using train::TrainOptions;

class DenseDistributed : public ::testing::Test {
 protected:
  // Runs of 1, 2 and 4 processes on the same data, and how far they are from each other.
  void expect_same_results(TrainOptions options, const std::string& data) {
    options.batch = 8;
    options.norm_group = 2;
    options.threads = 1;
    options.warmup_epochs = 0;
    options.eval_every = 1;
    options.epochs = 2;  // four steps: of 8 and of 3 images
    options.ema = 0.9;
    options.fields.erase("drop_path");     // that of the model
    options.fields.erase("head_dropout");  // likewise
    options.view.resize_min = 0.8f;
    options.view.resize_max = 1.25f;
    options.view.photometric = true;
    const std::vector<MetricsRow> one = train_together(1, options, data, out("one"));
    ASSERT_EQ(one.size(), 2u);
    EXPECT_NE(one[0].train_loss, one[1].train_loss) << "it learns";
    for (const int processes : {2, 4}) {
      options.threads = processes == 2 ? 2 : 1;
      const std::string run = out(std::to_string(processes));
      const std::vector<MetricsRow> rows = train_together(processes, options, data, run);
      // Float sums in another order, four steps long; other groups make a difference of 0.2.
      // Gradients are compared where both runs have the same weights, after one step: fresh
      // networks sample at the corners of cells, where a gradient jumps.
      EXPECT_LT(difference(run, out("one"), {"values", "average"}), 5e-4) << processes;
      ASSERT_EQ(rows.size(), one.size());
      for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_NEAR(rows[i].train_loss / one[i].train_loss, 1, 1e-5) << processes;
        for (size_t k = 0; k < one[i].train.size(); ++k) {
          EXPECT_NEAR(rows[i].train[k], one[i].train[k], 1e-3) << processes << " " << k;
        }
        for (size_t k = 0; k < one[i].val.size(); ++k) {
          EXPECT_NEAR(rows[i].val[k], one[i].val[k], 1e-3) << processes << " " << k;
        }
      }
    }
  }
  // After the first step: the gradients of 1, 2 and 4 processes.
  void expect_same_gradients(TrainOptions options, const std::string& data) {
    options.batch = 8;
    options.norm_group = 2;
    options.threads = 1;
    options.epochs = 1;
    for (const int processes : {1, 2, 4}) {
      train_together(processes, options, data, out(std::to_string(processes)));
    }
    for (const char* run : {"2", "4"}) {
      EXPECT_LT(difference(out(run), out("1"), {"mean", "square"}), 1e-5) << run;
    }
  }
  std::string out(const std::string& name) const { return (folder_ / name).string(); }

  TempDir folder_;
};

TEST_F(DenseDistributed, SegmentationIsThatOfOneProcess) {
  write_files(folder_ / "data", labelled_images(11, 5));
  TrainOptions options = tiny_segmentation();
  options.class_weights = "balanced";
  expect_same_results(options, out("data"));
}

TEST_F(DenseDistributed, DetectionIsThatOfOneProcess) {
  write_files(folder_ / "data", annotated_images(11, 5));
  expect_same_results(tiny_detection(), out("data"));
}

TEST_F(DenseDistributed, GradientsOfSegmentationAreThoseOfOneProcess) {
  write_files(folder_ / "data", labelled_images(8, 2));
  expect_same_gradients(tiny_segmentation(), out("data"));
}

TEST_F(DenseDistributed, GradientsOfDetectionAreThoseOfOneProcess) {
  write_files(folder_ / "data", annotated_images(8, 2));
  expect_same_gradients(tiny_detection(), out("data"));
}

// More processes than groups in a batch: each has work, and the run is the same again.
TEST_F(DenseDistributed, SmallBatchesAreSharedByAll) {
  write_files(folder_ / "data", labelled_images(8, 2));
  TrainOptions options = tiny_segmentation();
  options.batch = 4;
  options.norm_group = 4;
  options.epochs = 1;
  options.threads = 1;
  train_together(2, options, out("data"), out("first"));
  train_together(2, options, out("data"), out("second"));
  expect_same_runs(out("second"), out("first"));
}

}  // namespace
}  // namespace vig::test
