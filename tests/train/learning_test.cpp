// Runs that learn, begin from other networks, or break.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/errors.h"
#include "train/fixtures.h"
#include "vig/train/optimizer.h"
#include "vig/train/tasks/classification.h"
#include "vig/train/trained_model.h"
#include "vig/weights/model_info.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using train::kTrainTop1;
using train::kValLoss;
using train::kValTop1;
using train::TrainedModel;
using train::TrainOptions;

const std::vector<std::string> kFour = {"class0", "class1", "class2", "class3"};

// Some network of four classes, as a run leaves it.
std::string trained_file(const TempDir& folder) {
  TrainOptions options = tiny_options("small");
  options.seed = 11;
  const TrainedModel model = make_trained_model(options, kFour);
  const std::string file = (folder / "four.safetensors").string();
  write_trained_model(file, model, model.parameters.values(), {{"step", "7"}});
  return file;
}

bool is_head(const std::string& name) { return name.starts_with("head."); }

std::string bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()};
}

// How many of the network's tensors are those of the file, head aside; and of the head.
std::pair<int, int> taken(const TrainedModel& model, const std::string& file) {
  const auto stored = tensor_bytes(file);
  std::pair<int, int> same;
  for (size_t i = 0; i < model.parameters.size(); ++i) {
    const std::string& name = model.parameters.spec(i).name;
    if (stored.at(name) == bytes_of(model.parameters[i]))
      ++(is_head(name) ? same.second : same.first);
  }
  return same;
}

bool all_finite(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return std::ranges::all_of(values, [](float number) { return std::isfinite(number); });
}

TEST(FineTuning, KeepsAllButAHeadOfOtherClasses) {
  const TempDir folder;
  TrainOptions options = tiny_options("small");
  options.model = trained_file(folder);
  options.fields = {};
  options.size = 0;
  const int others = static_cast<int>(tensor_bytes(options.model).size()) - 2;
  const TrainedModel same = make_trained_model(options, kFour);
  EXPECT_EQ(same.beginning.file, options.model);
  EXPECT_EQ(same.beginning.loaded, same.graph().param_count());
  EXPECT_EQ(same.beginning.fresh, 0);
  EXPECT_EQ(same.beginning.learning, same.graph().param_count());
  EXPECT_EQ(same.width, 24);
  EXPECT_EQ(taken(same, options.model), std::pair(others, 2));

  const TrainedModel more = make_trained_model(options, {"a", "b", "c", "d", "e"});
  EXPECT_EQ(more.parameters.specs().back().shape[0], 5);
  EXPECT_EQ(taken(more, options.model), std::pair(others, 0));
  EXPECT_EQ(more.beginning.fresh, 5 * 32 + 5);
  EXPECT_EQ(more.beginning.loaded, more.graph().param_count() - more.beginning.fresh);
  EXPECT_EQ(more.beginning.fresh_names, (std::vector<std::string>{"head.weight", "head.bias"}));
  EXPECT_EQ(more.beginning.fresh_reason, "the file's 4 classes are not these 5");
  options.probe = true;
  EXPECT_EQ(make_trained_model(options, kFour).beginning.learning, 4 * 32 + 4);
  options.probe = false;
  const auto fresh = random_weights(more.graph().params, options.seed);
  EXPECT_EQ(std::memcmp(fresh->find("head.weight"),
                        more.parameters[fresh->index("head.weight")].data_ptr<float>(),
                        5 * 32 * sizeof(float)),
            0);

  const TrainedModel renamed = make_trained_model(options, {"a", "b", "c", "d"});
  EXPECT_EQ(taken(renamed, options.model).first, others);
  EXPECT_LT(taken(renamed, options.model).second, 2) << "as many classes, but others";

  options.size = 40;  // the table of positions stays and is resized
  const TrainedModel larger = make_trained_model(options, kFour);
  EXPECT_EQ(larger.width, 40);
  EXPECT_EQ(larger.spec.recipe.crop, 40);
  EXPECT_EQ(larger.graph().node(0).grid.height, 40);
  EXPECT_EQ(taken(larger, options.model), std::pair(others, 2));
}

TEST(FineTuning, PredictsAtTheNewSizeAfterwards) {
  const TempDir folder;
  write_files(folder / "data", striped_images(3, 10));
  TrainOptions options = tiny_options("small");
  options.model = trained_file(folder);
  options.fields = {};
  options.size = 40;
  options.batch = 8;
  options.epochs = 1;
  const std::string out = (folder / "run").string();
  const RunRecord record = run_training(options, (folder / "data").string(), out);
  EXPECT_TRUE(record.result.finished);
  const SafeTensors file = SafeTensors::open(out + "/last.safetensors");
  const ModelInfo info = read_model_info(file.metadata(), "last").value();
  EXPECT_EQ(info.classes, (std::vector<std::string>{"class0", "class1", "class2"}));
  EXPECT_EQ(info.recipe.crop, 40);
  EXPECT_EQ(info.overrides.at("image_size"), "24") << "of the table of positions";
}

TEST(Probe, LeavesTheBackboneBitByBit) {
  const TempDir folder;
  write_files(folder / "data", striped_images(4, 12));
  TrainOptions options = tiny_options("imagenet");
  options.model = trained_file(folder);
  options.fields = {};
  options.probe = true;
  options.epochs = 2;
  const std::string out = (folder / "run").string();
  run_training(options, (folder / "data").string(), out);
  const auto before = tensor_bytes(options.model);
  for (const char* file : {"/last.safetensors", "/best.safetensors"}) {
    const auto after = tensor_bytes(out + file);
    ASSERT_EQ(after.size(), before.size());
    for (const auto& [name, bytes] : before)
      EXPECT_EQ(after.at(name) != bytes, is_head(name)) << name;
  }
}

// Statistics of batch norms are no gradient's business, but they belong to the backbone.
TEST(Probe, KeepsTheStatisticsOfBatchNorms) {
  const TempDir folder;
  write_files(folder / "data", striped_images(2, 4));
  TrainOptions options = tiny_options("small");
  options.model = "test_resnet";
  options.fields = {};
  options.size = 32;
  options.epochs = 1;
  options.val_share = 0;
  options.warmup_epochs = 0;
  const TrainedModel fresh = make_trained_model(options, {"class0", "class1"});
  for (const bool probe : {true, false}) {
    options.probe = probe;
    const std::string out = (folder / (probe ? "probe" : "whole")).string();
    run_training(options, (folder / "data").string(), out);
    const auto after = tensor_bytes(out + "/last.safetensors");
    int statistics = 0;
    for (size_t i = 0; i < fresh.parameters.size(); ++i) {
      const ParamSpec& spec = fresh.parameters.spec(i);
      if (spec.trained) continue;
      EXPECT_EQ(after.at(spec.name) == bytes_of(fresh.parameters[i]), probe) << spec.name;
      ++statistics;
    }
    EXPECT_GT(statistics, 10);
  }
}

// The classifier is to learn what the network will show it afterwards.
TEST(Probe, DropsNoPath) {
  const TempDir folder;
  write_files(folder / "data", striped_images(4, 12));
  TrainOptions options = tiny_options("imagenet");
  options.model = trained_file(folder);
  options.probe = true;
  options.epochs = 1;
  const auto losses = [&](const char* drop_path) {
    options.fields = {{"drop_path", drop_path}};
    return run_training(options, (folder / "data").string(), (folder / drop_path).string()).losses;
  };
  EXPECT_EQ(losses("0.9"), losses("0"));
}

TEST(Learning, AnEasyTaskInSeconds) {
  const TempDir folder;
  write_files(folder / "train", striped_images(3, 40));
  write_files(folder / "val", striped_images(3, 50));
  TrainOptions options = tiny_options("small");
  options.augment.flip = 0;  // the stripes' direction is the class
  options.epochs = 10;
  options.ema = 0.9;
  const TempDir out;
  const RunRecord record = run_training(options, folder.path().string(), (out / "run").string());
  EXPECT_GT(record.result.state.best()->val[kValTop1], 0.9);
  EXPECT_GT(record.rows.back().train[kTrainTop1], 0.9);
  EXPECT_LT(record.rows.back().val[kValLoss], record.rows.front().val[kValLoss]);
}

TEST(Learning, ALossThatIsNotFiniteKeepsTheLastGoodCheckpoint) {
  const TempDir folder;
  write_files(folder / "data", striped_images(2, 20));
  TrainOptions options = tiny_options("small");
  options.batch = 4;
  options.lr = 100;  // with this decay weights grow ten thousandfold a step
  options.weight_decay = 100;
  options.warmup_epochs = 0;
  options.clip = 0;
  options.checkpoint_minutes = 0;
  const std::string data = (folder / "data").string(), out = (folder / "run").string();
  const std::string problem = error_of([&] { run_training(options, data, out); });
  EXPECT_NE(problem.find("the last good checkpoint stays"), std::string::npos) << problem;

  const auto good = tensor_bytes(out + "/checkpoint.safetensors");
  for (const char* name : {"values", "average", "mean", "square"}) {
    EXPECT_TRUE(all_finite(good.at(name))) << name;
  }
  TrainedModel model = make_trained_model(options, {"class0", "class1"});
  train::Workers workers(1);
  train::AdamW optimizer(options, model.parameters, workers);
  const train::RunState state = read_checkpoint(out + "/checkpoint.safetensors",
                                                train::classification_columns(train::BestBy::kTop1),
                                                model.parameters, optimizer);
  EXPECT_GT(state.step, 0);

  // Where each step is validated, scores overflow before a weight does. No such network is written.
  options.eval_every = 1e-3;
  const std::string rows = (folder / "rows").string();
  const std::string other = error_of([&] { run_training(options, data, rows); });
  EXPECT_NE(other.find("the last good checkpoint stays"), std::string::npos) << other;
  for (const char* file : {"/best.safetensors", "/last.safetensors"}) {
    for (const auto& [name, bytes] : tensor_bytes(rows + file)) {
      EXPECT_TRUE(all_finite(bytes)) << file << " " << name;
    }
  }
  options.eval_every = 1;

  // Resuming from there ends the same, and there it still is.
  EXPECT_NE(error_of([&] { run_training(options, data, out); }).find("stays"), std::string::npos);
  EXPECT_TRUE(tensor_bytes(out + "/checkpoint.safetensors") == good);
}

}  // namespace
}  // namespace vig::test
