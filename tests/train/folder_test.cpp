// What a run leaves: checkpoints read back to the bit, metrics, and a folder that is one run's.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/errors.h"
#include "support/xml.h"
#include "train/fixtures.h"
#include "vig/train/optimizer.h"
#include "vig/train/run_folder.h"
#include "vig/train/tasks/classification.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using train::AdamW;
using train::MetricsRow;
using train::Parameters;
using train::RunFolder;
using train::RunState;
using train::TrainOptions;
using train::Workers;

// With what older versions did not write.
const std::map<std::string, std::string> kDescription = {
    {"batch", "8"}, {"best_by", "top-1"}, {"model", "a \"b\" é"}, {"steps_per_epoch", "3"}};

const train::Columns kColumns = train::classification_columns(train::BestBy::kTop1);

// A network of two tensors with an optimiser that has seen a step.
struct Trained {
  TrainOptions options;
  Workers workers{1};
  std::vector<ParamSpec> specs;
  Parameters parameters;
  AdamW optimizer;

  explicit Trained(uint64_t seed, int64_t rows = 3, double ema = 0.9)
      : options(with_ema(ema)),
        specs{{"a", {rows, 5}, normal_init(1.0f)}, {"b", {7}, normal_init(1.0f)}},
        parameters(specs, *random_weights(specs, seed), at::kCPU),
        optimizer(options, parameters, workers) {
    for (const at::Tensor& view : parameters.views()) view.mutable_grad().copy_(view.cos());
    optimizer.step(0.1);
  }

  static TrainOptions with_ema(double ema) {
    TrainOptions options;
    options.ema = ema;
    return options;
  }
};

RunState some_state() {
  RunState state;
  state.step = 1234567890123;
  state.loss_sum = 0.1 + 0.2;
  state.sums = {5};
  state.seen = 9;
  state.loss_steps = 3.3;
  state.row_seconds = 1.0 / 3;
  state.seconds = 1e9 / 7;
  state.row_due = true;
  state.best_step = 10;
  state.rows.resize(2);
  state.rows[0] = {0.5, 10, 1e-3, 2.25, {0.125}, {1.0 / 3, 0.75, 1.0, 0.5}, 812.5, 33.25};
  state.rows[1].step = 20;  // nothing else measured
  state.rows[1].train = {0};
  state.rows[1].val.assign(4, train::kNotMeasured);
  return state;
}

TEST(Checkpoint, GivesBackEveryBit) {
  const TempDir folder;
  const std::string file = (folder / "c.safetensors").string();
  Trained saved(1), other(2);
  const RunState state = some_state();
  write_checkpoint(file, state, saved.parameters, saved.optimizer, kDescription);
  EXPECT_EQ(train::read_description(file), kDescription);
  const RunState read = read_checkpoint(file, kColumns, other.parameters, other.optimizer);
  EXPECT_TRUE(at::equal(other.parameters.values(), saved.parameters.values()));
  EXPECT_TRUE(at::equal(other.optimizer.mean(), saved.optimizer.mean()));
  EXPECT_TRUE(at::equal(other.optimizer.square(), saved.optimizer.square()));
  EXPECT_TRUE(at::equal(other.optimizer.average(), saved.optimizer.average()));
  EXPECT_EQ(other.optimizer.steps(), state.step);
  EXPECT_EQ(read.step, state.step);
  EXPECT_EQ(read.loss_sum, state.loss_sum);
  EXPECT_EQ(read.sums, state.sums);
  EXPECT_EQ(read.seen, state.seen);
  EXPECT_EQ(read.loss_steps, state.loss_steps);
  EXPECT_EQ(read.row_seconds, state.row_seconds);
  EXPECT_EQ(read.seconds, state.seconds);
  EXPECT_TRUE(read.row_due);
  EXPECT_EQ(train::read_step(file), state.step);
  EXPECT_EQ(read.best_step, state.best_step);
  ASSERT_NE(read.best(), nullptr);
  EXPECT_EQ(read.best()->val, state.rows[0].val);
  EXPECT_EQ(metrics_csv(kColumns, read.rows), metrics_csv(kColumns, state.rows));
  // The parameters that learn are views of what was read.
  EXPECT_TRUE(at::equal(other.parameters[1].detach(), saved.parameters[1].detach()));
}

TEST(Checkpoint, OfAnotherNetworkOrNoneAtAllIsRefused) {
  const TempDir folder;
  const std::string file = (folder / "c.safetensors").string();
  Trained saved(1), wider(1, 40);
  write_checkpoint(file, {}, saved.parameters, saved.optimizer, kDescription);
  const at::Tensor before = wider.parameters.values().clone();
  const auto read = [&](Trained& into) {
    return error_of([&] { read_checkpoint(file, kColumns, into.parameters, into.optimizer); });
  };
  EXPECT_NE(read(wider).find("expected a tensor values of"), std::string::npos);
  EXPECT_TRUE(at::equal(wider.parameters.values(), before));

  Trained plain(1, 3, 0);  // keeps no average, so its checkpoint has none
  write_checkpoint(file, {}, plain.parameters, plain.optimizer, kDescription);
  EXPECT_NE(read(saved).find("expected a tensor average"), std::string::npos);

  RunState other_task = some_state();
  other_task.rows[0].val.push_back(1);
  write_checkpoint(file, other_task, saved.parameters, saved.optimizer, kDescription);
  EXPECT_NE(read(saved).find("expected 1 training and 4 validation figures"), std::string::npos);

  write_safetensors(file, {}, {});
  EXPECT_NE(error_of([&] { train::read_description(file); }).find("training checkpoint"),
            std::string::npos);
  write_safetensors(file, {}, {{"vig.train.run", "{\"a\": 1}"}});
  EXPECT_NE(error_of([&] { train::read_description(file); }).find("cannot be read"),
            std::string::npos);
  write_file(file, "hello");
  EXPECT_NE(error_of([&] { train::read_description(file); }).find(file), std::string::npos);
}

// As versions wrote it that knew classification alone.
TEST(Checkpoint, OfAnOlderVersionIsRead) {
  const TempDir folder;
  const std::string file = (folder / "c.safetensors").string();
  Trained saved(1), other(2);
  write_checkpoint(file, {}, saved.parameters, saved.optimizer, kDescription);
  const SafeTensors written = SafeTensors::open(file);
  const std::string old = (folder / "old.safetensors").string();
  write_safetensors(old, written.tensors(),
                    {{"vig.train.run", "{}"},
                     {"vig.train.state",
                      R"({"step": 30, "loss_sum": 1.5, "hits": 7, "seen": 9, "loss_steps": 2,
                          "row_seconds": 0.5, "seconds": 4, "row_due": false, "best_score": 0.75,
                          "best_top1": 0.75, "best_loss": 0.5, "best_step": 10, "rows": [
                          [0.5, 10, 0.001, 2.25, 0.125, 0.5, 0.75, 1.0, 812.5, 33.25, 0.25],
                          [1.0, 20, 0.001, 2.25, 0.125, null, null, null, 812.5, 33.25]]})"}});
  const RunState read = read_checkpoint(old, kColumns, other.parameters, other.optimizer);
  EXPECT_EQ(read.step, 30);
  EXPECT_EQ(read.sums, std::vector<double>{7});
  ASSERT_NE(read.best(), nullptr);
  EXPECT_EQ(metrics_csv(kColumns, read.rows),
            "epoch,step,lr,train_loss,train_top1,val_loss,val_top1,val_top5,val_balanced,"
            "images_per_second,seconds\n"
            "0.5,10,0.001,2.250000,0.125000,0.500000,0.750000,1.000000,0.250000,812.5,33.2\n"
            "1,20,0.001,2.250000,0.125000,,,,,812.5,33.2\n");
}

TEST(Metrics, AreATableAndAImage) {
  const std::vector<MetricsRow> rows = some_state().rows;
  EXPECT_EQ(metrics_csv(kColumns, rows),
            "epoch,step,lr,train_loss,train_top1,val_loss,val_top1,val_top5,val_balanced,"
            "images_per_second,seconds\n"
            "0.5,10,0.001,2.250000,0.125000,0.333333,0.750000,1.000000,0.500000,812.5,33.2\n"
            "0,20,0,0.000000,0.000000,,,,,0.0,0.0\n");
  EXPECT_EQ(xml_problem(curves_svg({"a <b> & c", "note", kColumns, 10, 1, "1"}, rows)), "");
  EXPECT_EQ(xml_problem(train::curves_svg({}, {})), "");
}

TEST(Curves, MarkTheBestAndSayWhyLossesDiffer) {
  std::vector<MetricsRow> rows(3);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].epoch = static_cast<double>(i + 1);
    rows[i].step = static_cast<int64_t>(10 * (i + 1));
    rows[i].lr = 1e-3;
    rows[i].train_loss = 0.75;
    rows[i].train = {0.5};
    rows[i].val = {0.5, 0.9, 1, 0.125 * static_cast<double>(i + 1)};
  }
  const std::string svg =
      curves_svg({"run: m on d", "why", kColumns, 20, train::kValTop1, "90.00 %"}, rows);
  for (const char* words :
       {"best: 90.00 % at epoch 2", ">0.5000<", "learning rate", "run: m on d", ">why<"}) {
    EXPECT_NE(svg.find(words), std::string::npos) << words;
  }
  EXPECT_EQ(svg.find("balanced"), std::string::npos);
  train::CurvesInfo info = {"",
                            "",
                            train::classification_columns(train::BestBy::kBalanced),
                            20,
                            train::kValBalanced,
                            "25.00 % balanced"};
  const std::string balanced = curves_svg(info, rows);
  EXPECT_NE(balanced.find("best: 25.00 % balanced at epoch 2"), std::string::npos);
  EXPECT_NE(balanced.find("validation, balanced"), std::string::npos);
  info.best_step = -1;
  EXPECT_EQ(curves_svg(info, rows).find("best"), std::string::npos);

  EXPECT_EQ(train::curves_title("/photos/run/", "vig_t", "../some/photos.tar.gz"),
            "run: vig_t on photos.tar.gz");

  TrainOptions options;
  options.ema = 0;
  options.augment.flip = 0;
  EXPECT_EQ(train::classification_loss_note(options, 0), "");
  // Each by itself, and nothing else.
  const std::pair<const char*, std::function<void(TrainOptions&, double&)>> causes[] = {
      {"label smoothing 0.1", [](auto& o, double&) { o.mix.smoothing = 0.1f; }},
      {"mixup", [](auto& o, double&) { o.mix.mixup = 1; }},
      {"CutMix", [](auto& o, double&) { o.mix.cutmix = 1; }},
      {"drop path 0.2", [](auto&, double& drop_path) { drop_path = 0.2f; }},
      {"random crops", [](auto& o, double&) { o.augment.crop = AugmentOptions::Crop::kPadded; }},
      {"mirroring", [](auto& o, double&) { o.augment.flip = 0.5f; }},
      {"RandAugment", [](auto& o, double&) { o.augment.rand_augment_ops = 2; }},
      {"colour jitter", [](auto& o, double&) { o.augment.color_jitter = 0.4f; }},
      {"random erasing", [](auto& o, double&) { o.augment.erase = 0.25f; }},
      {"cutout", [](auto& o, double&) { o.augment.cutout = 0.2f; }}};
  for (const auto& [words, change] : causes) {
    TrainOptions changed = options;
    double drop_path = 0;
    change(changed, drop_path);
    EXPECT_EQ(train::classification_loss_note(changed, drop_path),
              fmt::format("The training loss may well lie above the validation loss: only training "
                          "has {}.",
                          words));
  }
}

TEST(RunFolder, SaysBeforeTheRunWhatWillNotWork) {
  const TempDir folder;
  const auto open = [&](const std::string& path, size_t bytes = 1000) {
    return error_of([&] { RunFolder(path, kDescription, bytes, true); });
  };
  write_file(folder / "file", "");
  for (const std::string& path : {(folder / "file").string(), (folder / "file/run").string(),
                                  std::string("/proc/run"), std::string("/dev/null/run")}) {
    const std::string problem = open(path);
    EXPECT_NE(problem.find(path + ": "), std::string::npos) << problem;
  }
  const std::string full = open((folder / "run").string(), size_t{1} << 60);
  EXPECT_NE(full.find("MB left, expected 3298534883329 MB"), std::string::npos) << full;
}

TEST(RunFolder, BelongsToOneProcessAtATime) {
  const TempDir folder;
  const std::string path = (folder / "deep/run").string();
  {
    const RunFolder first(path, kDescription, 1000, true);
    EXPECT_NE(error_of([&] {
                RunFolder(path, kDescription, 1000, true);
              }).find("another process is training"),
              std::string::npos);
    EXPECT_FALSE(RunFolder(path, kDescription, 1000, false).has_checkpoint()) << "may read";
  }
  RunFolder(path, kDescription, 1000, true);
}

TEST(RunFolder, RemovesWhatAKilledProcessLeft) {
  const TempDir folder;
  const std::vector<std::string> kept = {"best.safetensors", "metrics.csv.tmp", "notes.tmp-1-1"};
  for (const std::string& name : kept) write_file(folder / name, "x");
  std::vector<std::string> all = kept;
  for (const char* file :
       {"best.safetensors", "checkpoint.safetensors", "curves.svg", "events.out.tfevents.vig",
        "last.safetensors", "metrics.csv", "run.json", "validation.txt"}) {
    all.push_back(std::string(file) + ".tmp-12-0");
    write_file(folder / all.back(), "x");
  }
  std::ranges::sort(all);
  const auto left = [&] {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  };
  // A process that only reads leaves the files alone that the first one may be writing.
  { const RunFolder reader(folder.path().string(), kDescription, 1000, false); }
  EXPECT_EQ(left(), all);
  const std::string nowhere = (folder / "run").string();
  EXPECT_FALSE(RunFolder(nowhere, kDescription, 1000, false).has_checkpoint());
  EXPECT_FALSE(fs::exists(nowhere)) << "nor does it make the folder";
  { const RunFolder run(folder.path().string(), kDescription, 1000, true); }
  EXPECT_EQ(left(), kept);
}

TEST(RunFolder, LiesBesideTheImages) {
  const TempDir folder;
  fs::create_directories(folder / "photos/cat");
  fs::create_directory_symlink(folder / "photos", folder / "link");
  const auto check = [&](const char* data, const char* out) {
    train::check_apart((folder / data).string(), (folder / out).string());
  };
  for (const auto& [data, out] : {std::pair("photos", "photos"),
                                  {"photos", "photos/cat/run"},
                                  {"photos", "link/run"},
                                  {"link", "photos/run"},
                                  {"photos", "x/../photos/run"}}) {
    expect_error(ErrorCode::kUsage, {"--out", "lies inside of"},
                 [&, data = data, out = out] { check(data, out); });
  }
  for (const auto& [data, out] : {std::pair("photos", "photos-run"),
                                  {"photos/cat", "photos/run"},
                                  {"nowhere", "nowhere/run"},
                                  {"photos", "photos/../run"}}) {
    EXPECT_NO_THROW(check(data, out)) << out;
  }
}

TEST(RunFolder, OfAnotherRunIsNotTouched) {
  const TempDir folder;
  Trained trained(1);
  const std::string path = folder.path().string();
  write_checkpoint(path + "/checkpoint.safetensors", {}, trained.parameters, trained.optimizer,
                   kDescription);
  expect_error(ErrorCode::kUsage,
               {path, "another run", "batch was 8, is 16", "lr was absent, is 1",
                "model was a \"b\" é;", "give the same options or another folder"},
               [&] {
                 RunFolder(path, {{"batch", "16"}, {"lr", "1"}}, 1000, true);
               });
  EXPECT_FALSE(fs::exists(folder / "run.json"));
  EXPECT_TRUE(RunFolder(path, kDescription, 1000, true).has_checkpoint());
}

TEST(RunFolder, GoesOnWithAPathThatIsNoText) {
  const TempDir folder;
  const std::string path = (folder / "run").string();
  const std::map<std::string, std::string> description = {
      {"best_by", "top-1"}, {"model", "caf\xe9.safetensors"}, {"steps_per_epoch", "3"}};
  Trained trained(1);
  {
    const RunFolder first(path, description, 1000, true);
    write_checkpoint(first.checkpoint(), some_state(), trained.parameters, trained.optimizer,
                     first.description());
  }
  const RunFolder again(path, description, 1000, true);
  EXPECT_TRUE(again.has_checkpoint());
}

}  // namespace
}  // namespace vig::test
