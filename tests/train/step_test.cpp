// What a step does to the network: rates, gradients, dropped branches, partial batches, averages.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "train/fixtures.h"
#include "vig/base/random.h"
#include "vig/torch/forward.h"
#include "vig/train/optimizer.h"
#include "vig/train/tasks/classification.h"
#include "vig/train/trained_model.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using train::kValBalanced;
using train::kValLoss;
using train::kValTop1;
using train::TrainOptions;

// An image keeps a branch, which then counts 1 / (1 - rate), or loses it, with the rate of its
// block: from 0 in the first to the whole in the last.
TEST(DropPath, LeavesOutBranchesByTheRateOfTheirBlock) {
  constexpr int64_t kSamples = 200;
  constexpr double kDropRate = 0.4;
  ModelSpec spec = find_model("test_vig");
  override_field(spec, "depth", "3");
  override_field(spec, "drop_path", "0.4");
  const Graph graph = build_graph(spec, 32, 32);
  const train::Parameters parameters(graph.params, *random_weights(graph.params, 1), at::kCPU);
  at::Tensor images = at::empty({kSamples, 32, 32, 3}, at::kFloat);
  RandomStream stream(5);
  for (int64_t i = 0; i < images.numel(); ++i) {
    images.data_ptr<float>()[i] = stream.uniform(-1, 1);
  }
  for (const bool kernels : {true, false}) {
    train::ForwardOptions options;
    options.kernels = kernels;
    options.drop_branches = true;
    options.seed = 7;
    at::NoGradGuard no_grad;
    const std::vector<at::Tensor> values =
        train::forward(graph, parameters.views(), {images}, options);
    int branch = 0;
    std::set<std::vector<bool>> patterns;  // which images a branch is dropped for
    for (size_t id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.nodes[id];
      const auto* add = std::get_if<AddOp>(&node.op);
      if (add == nullptr || !add->residual) continue;
      const double rate = kDropRate * (branch++ / 2) / 2;
      const at::Tensor left = values[static_cast<size_t>(node.inputs[0])],
                       right = values[static_cast<size_t>(node.inputs[1])];
      const double size = right.abs().max().item<double>();
      int dropped = 0;
      std::vector<bool> pattern;
      for (int64_t i = 0; i < kSamples; ++i) {
        const at::Tensor added = values[id][i] - left[i];
        const bool gone = added.abs().max().item<double>() == 0;
        dropped += gone ? 1 : 0;
        pattern.push_back(gone);
        if (gone) continue;
        const double apart = (added - right[i] / (1 - rate)).abs().max().item<double>();
        EXPECT_LT(apart, 1e-4 * std::max(size, 1.0)) << "branch " << branch - 1 << " of " << i;
      }
      // Three deviations of the count.
      EXPECT_NEAR(dropped, kSamples * rate, 3 * std::sqrt(kSamples * rate * (1 - rate)))
          << "branch " << branch - 1;
      patterns.insert(pattern);
    }
    EXPECT_EQ(branch, 6);
    EXPECT_EQ(patterns.size(), 5u) << "the first block's two drop nothing, others their own";
  }
}

TEST(Step, HasTheRateOfItsIndex) {
  const TempDir folder;
  write_files(folder / "data", striped_images(2, 18));
  TrainOptions options = tiny_options("small");
  options.epochs = 3;
  options.warmup_epochs = 1;
  const RunRecord record =
      run_training(options, (folder / "data").string(), (folder / "run").string());
  const train::Schedule schedule(options, 2, 6);  // 32 images
  ASSERT_EQ(record.lrs.size(), 6u);
  for (int64_t step = 0; step < 6; ++step) {
    EXPECT_EQ(record.lrs[static_cast<size_t>(step)], schedule.lr(step)) << step;
  }
  EXPECT_EQ(record.lrs[0], options.warmup_lr);
  ASSERT_EQ(record.rows.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(record.rows[i].lr, record.lrs[2 * i + 1]);
  EXPECT_EQ(record.summary.warmup_steps, 2);
  EXPECT_EQ(record.summary.steps_per_epoch, 2);
  EXPECT_EQ(record.summary.batch, 16);
  // Of the seconds of a run some are training, at the speed of the rows, and others validation.
  double training = 0;
  for (const train::MetricsRow& row : record.rows) {
    EXPECT_GT(row.seconds, training);
    EXPECT_LT(row.images_per_second, 1e6);
    training += 32 / row.images_per_second;
  }
  EXPECT_GT(record.rows.back().seconds, training);
}

std::map<std::string, std::string> flat_tensors(const TrainOptions& options,
                                                const std::vector<std::string>& classes,
                                                const std::string& flat) {
  const train::TrainedModel model = make_trained_model(options, classes);
  std::map<std::string, std::string> tensors;
  for (size_t i = 0; i < model.parameters.size(); ++i) {
    const auto begin = static_cast<size_t>(model.parameters.begin(i)) * sizeof(float);
    const auto end = static_cast<size_t>(model.parameters.end(i)) * sizeof(float);
    tensors[model.parameters.spec(i).name] = flat.substr(begin, end - begin);
  }
  return tensors;
}

TEST(Step, WhatIsKeptIsTheAverage) {
  const TempDir folder;
  write_files(folder / "data", striped_images(2, 18));
  TrainOptions options = tiny_options("small");
  options.epochs = 2;
  options.warmup_epochs = 0;
  const fs::path run = folder / "run";
  run_training(options, (folder / "data").string(), run.string());
  const auto state = tensor_bytes(run / "checkpoint.safetensors");
  const std::vector<std::string> classes = {"class0", "class1"};
  const auto average = flat_tensors(options, classes, state.at("average"));
  EXPECT_TRUE(tensor_bytes(run / "last.safetensors") == average);
  EXPECT_TRUE(average != flat_tensors(options, classes, state.at("values")));

  options.ema = 0;  // then there is nothing but the values
  run_training(options, (folder / "data").string(), (folder / "plain").string());
  const auto plain = tensor_bytes(folder / "plain/checkpoint.safetensors");
  EXPECT_FALSE(plain.contains("average"));
  EXPECT_TRUE(tensor_bytes(folder / "plain/last.safetensors") ==
              flat_tensors(options, classes, plain.at("values")));
}

// Nothing is drawn by the step, and nothing learnt: steps show their images alone.
TrainOptions still_options() {
  TrainOptions options = tiny_options("small");
  options.lr = options.min_lr = options.warmup_lr = 0;
  options.weight_decay = 0;
  options.val_share = 0;
  options.epochs = 1;
  options.clip = 0;
  return options;
}

TEST(PartialBatch, IsAStepOfItsOwnImages) {
  const TempDir folder;
  const std::string data = (folder / "data").string();
  write_files(data, striped_images(2, 10));
  TrainOptions options = still_options();
  const auto run = [&](int batch) {
    options.batch = batch;
    return run_training(options, data, (folder / std::to_string(batch)).string());
  };
  // An epoch has the same order for any batch: the last four are the fifth batch of four.
  const RunRecord sixteen = run(16), four = run(4), all = run(20), more = run(1000);
  ASSERT_EQ(sixteen.losses.size(), 2u);
  ASSERT_EQ(four.losses.size(), 5u);
  EXPECT_NEAR(sixteen.losses[1], four.losses[4], 1e-6);
  EXPECT_NEAR(sixteen.gradient_norms[1] / four.gradient_norms[4], 1, 1e-4);
  EXPECT_GT(std::abs(sixteen.losses[1] - sixteen.losses[0]), 1e-5) << "other images";
  // Every image counts the same in the mean of an epoch.
  ASSERT_EQ(all.losses.size(), 1u);
  EXPECT_NEAR(sixteen.rows[0].train_loss, all.losses[0], 1e-6);
  EXPECT_NEAR(all.rows[0].train_loss, all.losses[0], 1e-12);
  EXPECT_EQ(sixteen.rows[0].train, all.rows[0].train);
  // More than there is: all of it at once.
  ASSERT_EQ(more.losses.size(), 1u);
  EXPECT_EQ(more.losses[0], all.losses[0]);
  EXPECT_EQ(more.gradient_norms[0], all.gradient_norms[0]);
}

TEST(PartialBatch, RatesFollowTheBatchThatThereIs) {
  const TempDir folder;
  write_files(folder / "data", striped_images(2, 10));
  TrainOptions options = still_options();
  options.warmup_lr = 0.5;
  options.lr_batch = 10;
  options.batch = 1000;
  const RunRecord record =
      run_training(options, (folder / "data").string(), (folder / "run").string());
  EXPECT_DOUBLE_EQ(record.lrs.at(0), 0.5 * 20 / 10);
}

TEST(Validation, CountsEveryClassWhereTheyAreUneven) {
  const std::vector<double> images = {10, 2, 0}, correct = {9, 1, 0};
  EXPECT_DOUBLE_EQ(train::balanced_accuracy(images, correct), (0.9 + 0.5) / 2);
  EXPECT_TRUE(std::isnan(train::balanced_accuracy({}, {})));

  const TempDir folder;
  Files files = striped_images(2, 40);
  for (int i = 3; i < 40; ++i) files.erase("class1/" + std::to_string(i) + ".png");
  write_files(folder / "uneven", files);
  write_files(folder / "even", striped_images(2, 20));
  TrainOptions options = tiny_options("small");
  options.augment.flip = 0;
  options.epochs = 12;
  options.warmup_epochs = 1;
  options.ema = 0.5;
  const auto run = [&](const char* name) {
    return run_training(options, (folder / name).string(), (folder / name).string() + "-run");
  };
  const RunRecord uneven = run("uneven");
  EXPECT_EQ(uneven.summary.val_images, 5u);  // four and one
  ASSERT_EQ(uneven.summary.task.notes.size(), 2u);
  EXPECT_TRUE(uneven.summary.task.notes[0].starts_with("classes have 1 to 4 images"));
  EXPECT_TRUE(uneven.summary.task.warnings.empty());
  EXPECT_TRUE(uneven.summary.task.notes[1].starts_with("5 images to validate on (below 200)"));
  double high = -1, loss = 0;
  int64_t step = 0;
  bool differ = false;
  for (const train::MetricsRow& row : uneven.rows) {
    const double balanced = row.val[kValBalanced];
    differ = differ || balanced != row.val[kValTop1];
    EXPECT_EQ(row.val[train::kValTop5], 1) << "of two classes";
    const bool higher = balanced > high || (balanced == high && row.val[kValLoss] < loss);
    // Four images and one.
    const double error = std::sqrt(high * (1 - high) * (1.0 / 4 + 1) / 4);
    if (higher) {
      high = balanced;
      loss = row.val[kValLoss];
    }
    if (higher || (error > 0 && balanced >= high - error)) step = row.step;
  }
  EXPECT_TRUE(differ) << "or nothing is tested";
  EXPECT_EQ(uneven.result.state.best_step, step);
  EXPECT_NE(uneven.result.best.find("% balanced accuracy ("), std::string::npos);
  EXPECT_NE(read_file(folder / "uneven-run/run.json").find("\"best_by\": \"balanced accuracy\""),
            std::string::npos);

  const RunRecord even = run("even");
  EXPECT_EQ(even.summary.task.notes.size(), 1u);
  EXPECT_EQ(even.result.best.find("balanced"), std::string::npos);
  EXPECT_NEAR(even.rows[0].val[kValBalanced], even.rows[0].val[kValTop1], 1e-12);

  // Two networks of which one knows the many and the other knows all a little.
  for (const bool balanced : {false, true}) {
    const auto task =
        train::open_classification(options, (folder / (balanced ? "uneven" : "even")).string(), 1);
    std::vector<double> many(task->columns().val.size()), all = many;
    many[kValTop1] = 0.8, many[kValBalanced] = 0.5;
    all[kValTop1] = 0.7, all[kValBalanced] = 0.7;
    EXPECT_EQ(task->better(all, many), balanced);
    EXPECT_EQ(task->better(many, all), !balanced);
  }
}

// What cannot be validated is named, and does not hinder.
TEST(Validation, NamesClassesWithoutImages) {
  const TempDir folder;
  Files files = striped_images(3, 6);
  for (int i = 1; i < 6; ++i) files.erase("class1/" + std::to_string(i) + ".png");
  write_files(folder / "data", files);
  TrainOptions options = tiny_options("small");
  options.epochs = 1;
  const RunRecord record =
      run_training(options, (folder / "data").string(), (folder / "run").string());
  EXPECT_EQ(record.summary.task.warnings,
            std::vector<std::string>{
                "no image to validate on for class1: a class needs two images for that"});
  EXPECT_EQ(record.summary.val_images, 2u);

  write_files(folder / "ones", striped_images(6, 1));
  const RunRecord ones =
      run_training(options, (folder / "ones").string(), (folder / "ones-run").string());
  EXPECT_EQ(ones.summary.val_images, 0u);
  EXPECT_EQ(ones.result.best, "");
}

}  // namespace
}  // namespace vig::test
