// Weights of classes in the losses, and drawing classes equally often.
#include "vig/train/tasks/class_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "support/errors.h"
#include "train/dense_fixtures.h"
#include "train/together.h"
#include "vig/data/mixup.h"
#include "vig/train/epochs.h"
#include "vig/train/tasks/pixel_loss.h"
#include "vig/train/tasks/soft_cross_entropy.h"

namespace vig::test {
namespace {

using train::TrainOptions;

TrainOptions weighted(const std::string& weights) {
  TrainOptions options;
  options.class_weights = weights;
  return options;
}

TEST(ClassWeights, OfImages) {
  const std::vector<int64_t> images = {1, 3, 4};
  EXPECT_TRUE(image_weights(weighted("none"), images).empty());
  const std::vector<float> balanced = image_weights(weighted("balanced"), images);
  ASSERT_EQ(balanced.size(), 3u);
  EXPECT_FLOAT_EQ(balanced[0], 8.0f / 3);
  EXPECT_FLOAT_EQ(balanced[1], 8.0f / 9);
  EXPECT_FLOAT_EQ(balanced[2], 8.0f / 12);
  double mean = 0;
  for (size_t c = 0; c < 3; ++c) mean += balanced[c] * static_cast<double>(images[c]) / 8;
  EXPECT_NEAR(mean, 1, 1e-6) << "over the training images";
  EXPECT_EQ(image_weights(weighted("1,2.5,0"), images), (std::vector<float>{1, 2.5f, 0}));
  expect_error(ErrorCode::kUsage, {"--class-weights has 2 values, expected 3"},
               [&] { image_weights(weighted("1,2"), images); });
}

TEST(ClassWeights, OfPixels) {
  // Frequencies 1/2, 1/4, 1/8 and none: the median is 1/4.
  EXPECT_EQ(train::balanced_pixel_weights({{50, 25, 2, 0}, {100, 100, 16, 0}}),
            (std::vector<float>{0.5f, 1, 2, 1}));
  // Of an even number of classes the mean of the middle ones.
  EXPECT_EQ(train::balanced_pixel_weights({{50, 25}, {100, 100}}),
            (std::vector<float>{0.75f, 1.5f}));
  EXPECT_EQ(train::balanced_pixel_weights({{1, 500, 1000}, {100000, 1000, 1000}}),
            (std::vector<float>{10, 1, 0.5f}))
      << "rare classes are bounded";
  EXPECT_EQ(train::balanced_pixel_weights({{10, 11, 1000}, {1000, 1000, 1000}})[2], 0.1f);
  EXPECT_EQ(train::balanced_pixel_weights({{0, 0}, {0, 0}}), (std::vector<float>{1, 1}));
}

TEST(ClassWeights, PixelsAreCountedInTheMapsThatShowThem) {
  const TempDir folder;
  write_files(folder.path(), labelled_images(7, 1));
  const LabelPairs data = *open_label_pairs(folder.path().string()).train;
  std::vector<int64_t> pixels(3), labelled(3);
  for (size_t i = 0; i < data.size(); ++i) {
    const std::vector<uint8_t> labels = data.labels(i).labels;
    const int64_t all = std::ranges::count_if(labels, [](uint8_t l) { return l != kNoLabel; });
    for (size_t c = 0; c < 3; ++c) {
      const int64_t count = std::ranges::count(labels, c);
      pixels[c] += count;
      labelled[c] += count > 0 ? all : 0;
    }
  }
  EXPECT_LT(labelled[2], labelled[0]) << "not every map shows a disc";
  for (const int threads : {1, 3}) {
    const train::PixelShares shares = train::count_pixels(data, threads);
    EXPECT_EQ(shares.pixels, pixels);
    EXPECT_EQ(shares.labelled, labelled);
  }
}

// Smoothed and mixed targets: each class's share has the weight of the class; the divisor is the
// number of images.
TEST(ClassWeights, OfSoftTargets) {
  constexpr int kImages = 6, kClasses = 4;
  std::vector<int> labels = {0, 3, 1, 1, 2, 0};
  BatchMixup mix;
  mix.kind = BatchMixup::Kind::kMixup;
  mix.lambda = 0.7;
  at::Tensor targets = at::empty({kImages, kClasses});
  mixup_targets(mix, labels, kClasses, 0.1f, targets.data_ptr<float>());
  const at::Tensor logits = at::randn({kImages, kClasses});
  const std::vector<float> weights = {0.5f, 2, 0, 3};
  double expected = 0;
  for (int64_t i = 0; i < kImages; ++i) {
    const at::Tensor log_share = at::log_softmax(logits[i].to(at::kDouble), 0);
    for (int64_t c = 0; c < kClasses; ++c) {
      expected -= weights[static_cast<size_t>(c)] * targets[i][c].item<double>() *
                  log_share[c].item<double>() / kImages;
    }
  }
  const double found =
      train::soft_cross_entropy(logits, targets, at::tensor(weights)).item<double>();
  EXPECT_NEAR(found, expected, 1e-6);
  EXPECT_TRUE(at::equal(train::soft_cross_entropy(logits, targets, at::ones({kClasses})),
                        train::soft_cross_entropy(logits, targets)));
}

TEST(ClassWeights, OfLabelledPixels) {
  const at::Tensor labels = at::randint(0, 4, {2, 13, 9}, at::kByte);
  labels[0][3].fill_(kNoLabel);
  labels[1][5][7] = kNoLabel;
  const at::Tensor weights = at::tensor(std::vector<float>{0.5f, 2, 0, 3});
  const at::Tensor values = at::randn({2, 5, 4, 4});
  const auto run = [&](bool plain, const at::Tensor& by) {
    const at::Tensor logits = values.clone().requires_grad_();
    const at::Tensor loss = plain ? train::plain_pixel_cross_entropy(logits, labels, by)
                                  : train::pixel_cross_entropy(logits, labels, by).loss;
    loss.backward();
    return std::pair{loss.item<double>(), logits.grad()};
  };
  const auto [loss, gradient] = run(false, weights);
  const auto [plain_loss, plain_gradient] = run(true, weights);
  EXPECT_NEAR(loss, plain_loss, 1e-6);
  EXPECT_LT((gradient - plain_gradient).abs().max().item<double>(), 1e-6);
  const auto [none, none_gradient] = run(false, {});
  const auto [ones, ones_gradient] = run(false, at::ones({4}));
  EXPECT_NE(loss, none);
  EXPECT_EQ(ones, none);
  EXPECT_TRUE(at::equal(ones_gradient, none_gradient));
}

class ClassWeightRuns : public ::testing::Test {
 protected:
  // 4 training images of one class and 12 of another.
  ClassWeightRuns() {
    Files files;
    for (const auto& [name, bytes] : striped_images(2, 12)) {
      if (!name.starts_with("class0/") || name < "class0/2") files["train/" + name] = bytes;
      files["val/" + name] = bytes;
    }
    write_files(folder_ / "data", files);
  }
  TrainOptions options() const {
    TrainOptions options = tiny_options("small");
    options.batch = 8;
    options.epochs = 3;
    options.threads = 1;
    return options;
  }
  RunRecord run(const TrainOptions& options, const std::string& out, int64_t stop_at = 0) {
    return run_training(options, (folder_ / "data").string(), (folder_ / out).string(), stop_at);
  }

  TempDir folder_;
};

TEST_F(ClassWeightRuns, WeighTheLoss) {
  TrainOptions some = options();
  const RunRecord plain = run(some, "plain");
  some.class_weights = "2,2";
  const RunRecord doubled = run(some, "doubled");
  EXPECT_NEAR(doubled.losses[0], 2 * plain.losses[0], 1e-6);
  EXPECT_NEAR(doubled.gradient_norms[0], 2 * plain.gradient_norms[0], 1e-5);
  EXPECT_NE(doubled.summary.task.subject, "");
  some.class_weights = "balanced";
  const RunRecord balanced = run(some, "balanced");
  // 16 images, of which 4: 16 / (2 * 4) and 16 / (2 * 12).
  some.class_weights = fmt::format("{},{}", 2, 16.0f / 24);
  EXPECT_EQ(run(some, "listed").losses, balanced.losses);
  EXPECT_NE(balanced.losses, plain.losses);
  some.class_weights = "1,2,3";
  expect_error(ErrorCode::kUsage, {"--class-weights has 3 values, expected 2"},
               [&] { run(some, "three"); });
}

TEST_F(ClassWeightRuns, BalancedSamplingResumesToTheBit) {
  TrainOptions some = options();
  some.sampling = "balanced";
  some.epochs = 4;
  some.threads = 2;
  const RunRecord whole = run(some, "whole");
  EXPECT_EQ(whole.losses.size(), 8u) << "an epoch has as many images as before";
  some.loaders = 3;
  run(some, "stopped", 3);
  const RunRecord rest = run(some, "stopped");
  EXPECT_EQ(rest.summary.first_step, 3);
  expect_same_runs(folder_ / "stopped", folder_ / "whole");
  EXPECT_NE(run(options(), "natural").losses[0], whole.losses[0]);
}

TEST_F(ClassWeightRuns, BalancedSamplingIsThatOfOneProcess) {
  TrainOptions some = options();
  some.sampling = "balanced";
  some.class_weights = "balanced";
  const std::string data = (folder_ / "data").string();
  train_together(1, some, data, (folder_ / "one").string());
  train_together(2, some, data, (folder_ / "two").string());
  EXPECT_LT(difference(folder_ / "two", folder_ / "one"), 1e-5);
}

// An image that comes again in an epoch is another augmentation of itself.
TEST_F(ClassWeightRuns, RepeatedImagesAreAugmentedAnew) {
  TrainOptions some = options();
  some.sampling = "balanced";
  some.batch = 16;  // the whole epoch
  const auto task = train::open_task(some, (folder_ / "data").string(), 1);
  train::Group alone;
  train::Epochs epochs(*task, some, alone);
  const Batch& batch = epochs.next(0);
  ASSERT_EQ(batch.samples.size(), 16u);
  const size_t floats = task->image_floats();
  std::map<size_t, std::set<std::string>> seen;
  std::array<int, 2> drawn = {0, 0};
  for (size_t i = 0; i < 16; ++i) {
    ++drawn.at(static_cast<size_t>(target_of<int>(batch.items[i])));
    seen[batch.samples[i]].insert(std::string(
        reinterpret_cast<const char*>(batch.data + i * floats), floats * sizeof(float)));
  }
  EXPECT_EQ(drawn, (std::array<int, 2>{8, 8}));
  int different = 0;
  for (const auto& [sample, images] : seen) {
    if (sample < 4) different += images.size() == 2 ? 1 : 0;  // each of the first class twice
  }
  EXPECT_GE(different, 3) << "crops and flips may be the same once";
}

TEST(ClassWeightErrors, OptionsThatMakeNoSense) {
  for (const char* text : {"", "some", "1,x", "-1,2", "0,0", "nan,1", "1e9,1", "1,,2"}) {
    EXPECT_THROW(check_options(weighted(text)), Error) << text;
  }
  for (const char* text : {"none", "balanced", "1,0", "0.5"}) {
    EXPECT_NO_THROW(check_options(weighted(text))) << text;
  }
  TrainOptions options;
  options.sampling = "even";
  expect_error(ErrorCode::kUsage, {"--sampling is 'even', expected natural or balanced"},
               [&] { check_options(options); });
  options.sampling = "natural";
  options.patience = -1;
  expect_error(ErrorCode::kUsage, {"--patience is -1"}, [&] { check_options(options); });
}

TEST(ClassWeightErrors, TasksThatHaveNone) {
  const TempDir folder;
  write_files(folder / "labelled", labelled_images(2, 1));
  write_files(folder / "annotated", annotated_images(2, 1));
  TrainOptions options = tiny_segmentation();
  options.sampling = "balanced";
  expect_error(ErrorCode::kUsage, {"--sampling balanced is for classification"},
               [&] { train::open_task(options, (folder / "labelled").string(), 1); });
  options = tiny_segmentation();
  options.class_weights = "1,2";
  expect_error(ErrorCode::kUsage, {"--class-weights has 2 values, expected 3"},
               [&] { train::open_task(options, (folder / "labelled").string(), 1); });
  options = tiny_detection();
  options.class_weights = "balanced";
  expect_error(ErrorCode::kUsage, {"--class-weights is for classification and segmentation"},
               [&] { train::open_task(options, (folder / "annotated").string(), 1); });
}

TEST(ClassWeightErrors, SegmentationIsWeighedInBothHeads) {
  const TempDir folder;
  const std::string data = (folder / "data").string();
  write_files(data, labelled_images(8, 1));
  TrainOptions options = tiny_segmentation();
  options.epochs = 1;
  const RunRecord plain = run_training(options, data, (folder / "plain").string());
  options.class_weights = "3,3,3";
  const RunRecord tripled = run_training(options, data, (folder / "tripled").string());
  EXPECT_NEAR(tripled.losses[0] / plain.losses[0], 3, 1e-5);
  EXPECT_NEAR(tripled.rows[0].train[0], plain.rows[0].train[0], 1e-9) << "pixels are pixels";
}

}  // namespace
}  // namespace vig::test
