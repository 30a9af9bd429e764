// The loop of training knows no labels: a task of another kind learns, chooses its best network by
// another rule, names its own columns and resumes to the bit.
#include "vig/train/task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "support/errors.h"
#include "train/fixtures.h"
#include "vig/image/preprocess.h"
#include "vig/train/steps.h"

namespace vig::test {
namespace {

using train::Column;
using train::Columns;
using train::StepBatch;
using train::TrainedModel;
using train::TrainOptions;

constexpr int kColours = 3;
using Colour = std::array<float, kColours>;

// A colour in [-1, 1] as a target: a byte for each channel.
LabelMap encode_colour(const Colour& colour) {
  LabelMap bytes(kColours, 1);
  for (size_t i = 0; i < kColours; ++i) {
    bytes.labels[i] = static_cast<uint8_t>(std::lround(127.5f + 127.5f * colour[i]));
  }
  return bytes;
}

float decode_channel(uint8_t byte) { return static_cast<float>(byte) / 127.5f - 1.0f; }

// Plain images with noise; the target is the mean of each channel.
class ColouredImages : public SampleSource {
 public:
  ColouredImages(size_t size, uint64_t seed) : size_(size), seed_(seed) {}
  size_t size() const override { return size_; }
  std::string location(size_t sample) const override { return "image " + std::to_string(sample); }
  Sample load(size_t sample) const override {
    if (sample == 5) fail("{}: it cannot be read", location(sample));
    RandomStream stream = RandomStream(seed_).fork(sample);
    Colour colour;
    for (float& channel : colour) channel = stream.uniform(-0.8f, 0.8f);
    Image image(24, 24);
    for (size_t i = 0; i < image.rgb.size(); ++i) {
      const float value = colour[i % kColours] + stream.uniform(-0.2f, 0.2f);
      image.rgb[i] = static_cast<uint8_t>(127.5f + 127.5f * value);
    }
    return {std::make_shared<const Image>(std::move(image)), make_target(encode_colour(colour))};
  }

 private:
  const size_t size_;
  const uint64_t seed_;
};

// The squared error of a pass, a column for each channel: [count, colours].
at::Tensor squared_errors(const TrainedModel& model, const std::vector<at::Tensor>& values,
                          const at::Tensor& images, const at::Tensor& targets,
                          const train::ForwardOptions& options) {
  return (train::forward_logits(model.graph(), values, images, options) - targets).square();
}

at::Tensor colour_tensor(const Batch& batch) {
  at::Tensor colours = at::empty({static_cast<int64_t>(batch.items.size()), kColours});
  for (size_t i = 0; i < batch.items.size(); ++i) {
    std::ranges::transform(target_of<LabelMap>(batch.items[i]).labels,
                           colours.data_ptr<float>() + i * kColours, decode_channel);
  }
  return colours;
}

at::Tensor image_tensor(const Batch& batch, int size) {
  return at::from_blob(batch.data, {static_cast<int64_t>(batch.samples.size()), size, size, 3});
}

class ColourEvaluator : public train::Evaluator {
 public:
  explicit ColourEvaluator(const TrainedModel& model) : model_(model) {}
  void add(const Batch& batch, const std::vector<at::Tensor>& values, train::Workers&) override {
    const at::NoGradGuard no_grad;
    sums_[0] +=
        squared_errors(model_, values, image_tensor(batch, model_.width), colour_tensor(batch), {})
            .sum()
            .item<double>();
    sums_[1] += static_cast<double>(batch.samples.size());
  }
  std::vector<double> figures(train::Group& group) override {
    group.sum(sums_);
    return {sums_[0] / sums_[1]};
  }

 private:
  const TrainedModel& model_;
  std::array<double, 2> sums_ = {0, 0};
};

class ColourTask : public train::Task {
 public:
  explicit ColourTask(const TrainOptions& options)
      : model_(make_trained_model(options, {"red", "green", "blue"})) {
    data_.train = std::make_shared<const ColouredImages>(70, 1);
    data_.val = std::make_shared<const ColouredImages>(20, 2);
    data_.train_mark = data_.val_mark = "colours";
    for (const char* name : {"train_red", "train_green", "train_blue"}) {
      columns_.train.push_back({name, "", "loss", name, false, false});
    }
    columns_.val = {{"val_error", "error", "error", "validation", false, true}};
  }

  const train::TaskData& data() const override { return data_; }
  TrainedModel& model() override { return model_; }
  train::TaskSummary summary() const override {
    return {"3 colours", {"a note"}, {"a warning"}, columns_};
  }
  const Columns& columns() const override { return columns_; }
  size_t image_floats() const override {
    return static_cast<size_t>(model_.width * model_.width * 3);
  }
  // Inverts half of the images, and their targets along.
  void write_training(const Image& image, Target& target, const RandomStream& stream,
                      float* out) const override {
    write_validation(image, target, out);
    if (!RandomStream(stream).chance(0.5)) return;
    for (size_t i = 0; i < image_floats(); ++i) out[i] = -out[i];
    for (uint8_t& channel : std::get<LabelMap>(target).labels) channel = 255 - channel;
  }
  void write_validation(const Image& image, Target&, float* out) const override {
    preprocess(image, model_.spec.recipe, out);
  }
  StepBatch prepare(Batch& batch, const RandomStream&) const override {
    return {image_tensor(batch, model_.width), {colour_tensor(batch)}};
  }
  at::Tensor loss(const train::ShardPass& pass, std::span<double> sums) const override {
    const at::Tensor errors =
        squared_errors(model_, pass.values, pass.images,
                       pass.targets[0].narrow(0, pass.first, pass.images.size(0)), pass.options);
    for (int64_t i = 0; i < kColours; ++i) {
      sums[static_cast<size_t>(i)] += errors.select(1, i).sum().item<double>();
    }
    return errors.sum(1).mean();
  }
  std::unique_ptr<train::Evaluator> new_evaluator() const override {
    return std::make_unique<ColourEvaluator>(model_);
  }
  std::string best_by() const override { return "squared error"; }
  size_t best_column() const override { return 0; }
  bool better(std::span<const double> a, std::span<const double> b) const override {
    return a[0] < b[0];
  }
  std::string best_label(std::span<const double> figures) const override {
    return fmt::format("{:.3f} squared", figures[0]);
  }
  std::string best_sentence(std::span<const double> figures) const override {
    return fmt::format("a squared error of {:.6f}", figures[0]);
  }
  std::string loss_note() const override { return ""; }

 private:
  TrainedModel model_;
  train::TaskData data_;
  Columns columns_;
};

RunRecord train_colours(const TrainOptions& options, const std::string& out, int64_t stop_at = 0) {
  RunRecord record;
  const train::TrainEvents events = record_events(record, stop_at);
  train::Group alone;
  record.result =
      train::train(std::make_unique<ColourTask>(options), options, "colours", out, events, alone);
  return record;
}

TEST(Task, OfAnotherKindTrains) {
  TrainOptions options = tiny_options("small");
  options.epochs = 12;
  options.ema = 0.9;
  options.warmup_epochs = 1;
  const TempDir folder;
  const std::string out = (folder / "run").string();
  const RunRecord record = train_colours(options, out);
  EXPECT_EQ(record.summary.task.subject, "3 colours");
  EXPECT_EQ(record.problems, std::vector<std::string>(2, "image 5: it cannot be read"));
  ASSERT_EQ(record.rows.size(), 12u);
  const double first = record.rows.front().val[0];
  double best = first;
  int64_t best_step = record.rows.front().step;
  for (const train::MetricsRow& row : record.rows) {
    // The loss of an epoch is the sum of its terms, but for the weight of the image that is not
    // there.
    ASSERT_EQ(row.train.size(), 3u);
    EXPECT_NEAR(row.train[0] + row.train[1] + row.train[2], row.train_loss, 0.05 * row.train_loss);
    if (row.val[0] < best) {
      best = row.val[0];
      best_step = row.step;
    }
  }
  EXPECT_LT(best, 0.3 * first) << "it learns";
  EXPECT_EQ(record.result.state.best_step, best_step);
  EXPECT_EQ(record.result.best, fmt::format("a squared error of {:.6f}", best));

  const std::string table = read_file(out + "/metrics.csv");
  EXPECT_TRUE(
      table.starts_with("epoch,step,lr,train_loss,train_red,train_green,train_blue,"
                        "val_error,images_per_second,seconds\n"))
      << table;
  const std::string curves = read_file(out + "/curves.svg");
  for (const char* words : {"train_green", ">error<", " squared at epoch "}) {
    EXPECT_NE(curves.find(words), std::string::npos) << words;
  }
  EXPECT_NE(read_file(out + "/run.json").find("\"best_by\": \"squared error\""), std::string::npos);
  EXPECT_NE(read_file(out + "/best.safetensors").find("val_error"), std::string::npos);
}

TEST(Task, OfAnotherKindResumesToTheBit) {
  TrainOptions options = tiny_options("small");
  options.epochs = 3;
  const TempDir folder;
  const auto out = [&](const char* name) { return (folder / name).string(); };
  const RunRecord whole = train_colours(options, out("whole"));
  const RunRecord first = train_colours(options, out("stopped"), 7);
  EXPECT_FALSE(first.result.finished);
  const RunRecord rest = train_colours(options, out("stopped"));
  EXPECT_EQ(rest.summary.first_step, 7);
  EXPECT_EQ(rest.rows.back().train, whole.rows.back().train);
  EXPECT_EQ(rest.rows.back().val, whole.rows.back().val);
  expect_same_runs(out("stopped"), out("whole"));
}

// Writes down what each step draws from; on one thread.
class RecordingTask : public ColourTask {
 public:
  using ColourTask::ColourTask;
  StepBatch prepare(Batch& batch, const RandomStream& stream) const override {
    prepared.push_back(stream.bits_at(0));
    return ColourTask::prepare(batch, stream);
  }
  at::Tensor loss(const train::ShardPass& pass, std::span<double> sums) const override {
    passed.push_back(pass.options.seed);
    firsts.push_back(pass.options.first_image);
    return ColourTask::loss(pass, sums);
  }
  mutable std::vector<uint64_t> prepared, passed;
  mutable std::vector<int64_t> firsts;
};

// What is mixed and dropped belongs to the seed and the step, not to the passes over its images.
TEST(Task, EveryStepDrawsItsOwn) {
  std::set<uint64_t> mixed, dropped;
  for (const uint64_t seed : {1, 2}) {
    TrainOptions options = tiny_options("small");
    options.seed = seed;
    options.batch = 40;  // 70 images
    options.accumulate = 2;
    RecordingTask task(options);
    train::Workers workers(1);
    train::Group alone;
    train::Steps steps(task, options, workers, alone);
    train::RunState state = new_state(task.columns());
    for (int step = 0; step < 4; ++step) steps.run(state, [](const Batch&) {});
    EXPECT_EQ(state.step, 4);
    EXPECT_EQ(state.seen, 2 * 69) << "one image cannot be read";
    mixed.insert(task.prepared.begin(), task.prepared.end());
    ASSERT_EQ(task.passed.size(), 8u);
    for (size_t i = 0; i < 8; i += 2) {
      EXPECT_EQ(task.passed[i], task.passed[i + 1]);
      EXPECT_EQ(task.firsts[i], 0);
      EXPECT_GT(task.firsts[i + 1], 0);
      dropped.insert(task.passed[i]);
    }
  }
  EXPECT_EQ(mixed.size(), 8u) << "two seeds of four steps";
  EXPECT_EQ(dropped.size(), 8u);
}

}  // namespace
}  // namespace vig::test
