// Invalid runs are refused in one sentence before the first step.
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/tree.h"
#include "train/fixtures.h"
#include "vig/train/presets.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using train::TrainOptions;

TEST(Options, ValuesAreChecked) {
  TrainOptions options;
  const auto expect = [&](const char* name, const char* text,
                          std::initializer_list<std::string> words) {
    expect_error(ErrorCode::kUsage, words, [&] { set_option(options, name, text); });
  };
  expect("batch", "many", {"--batch is 'many', expected a whole number"});
  expect("batch", "1.5", {"--batch", "whole"});
  expect("batch", "99999999999", {"--batch"});
  expect("lr", "1e-3x", {"--lr is '1e-3x', expected a number"});
  expect("lr", "", {"--lr"});
  expect("seed", "-1", {"--seed"});
  expect("probe", "maybe", {"--probe is 'maybe', expected true or false"});
  expect("crop", "round", {"--crop is 'round', expected center, resized or padded"});
  expect("wheels", "4", {"no training option --wheels"});
  expect_error(ErrorCode::kUsage, {"no preset 'large'", "imagenet", "small"},
               [] { train::preset_options("large"); });
}

TEST(Options, ValuesOutOfRangeAreNamed) {
  const std::pair<const char*, const char*> bad[] = {{"epochs", "0"},
                                                     {"epochs", "nan"},
                                                     {"batch", "0"},
                                                     {"batch", "-3"},
                                                     {"accumulate", "-1"},
                                                     {"accumulate", "99999"},
                                                     {"max-pixels", "0"},
                                                     {"val-share", "1"},
                                                     {"loaders", "-1"},
                                                     {"threads", "5000"},
                                                     {"size", "-1"},
                                                     {"size", "99999"},
                                                     {"eval-every", "0"},
                                                     {"patience", "-1"},
                                                     {"norm-group", "0"},
                                                     {"preview", "-1"},
                                                     {"proposal-samples", "0"},
                                                     {"box-samples", "0"},
                                                     {"lr", "-1"},
                                                     {"lr", "inf"},
                                                     {"lr-batch", "-1"},
                                                     {"min-lr", "-1"},
                                                     {"warmup-lr", "nan"},
                                                     {"warmup-epochs", "-1"},
                                                     {"warmup-steps", "-1"},
                                                     {"weight-decay", "-1"},
                                                     {"beta1", "1"},
                                                     {"beta2", "1.5"},
                                                     {"adam-eps", "0"},
                                                     {"clip", "-1"},
                                                     {"layer-decay", "0"},
                                                     {"layer-decay", "1.1"},
                                                     {"ema", "1"},
                                                     {"checkpoint-minutes", "-1"},
                                                     {"group-timeout", "nan"},
                                                     {"group-timeout", "-5"},
                                                     {"device", "tpu"},
                                                     {"device", "cuda:x"},
                                                     {"flip", "2"},
                                                     {"erase", "-0.1"},
                                                     {"scale-min", "0"},
                                                     {"rand-augment", "-1"},
                                                     {"mixup", "-1"},
                                                     {"mix-probability", "2"},
                                                     {"smoothing", "1.5"},
                                                     {"cutout", "nan"}};
  for (const auto& [name, text] : bad) {
    TrainOptions options;
    set_option(options, name, text);
    EXPECT_THROW(check_options(options), Error) << name << " " << text;
  }
}

TEST(Options, PresetsHoldAndReadBack) {
  for (const std::string& preset : {std::string("imagenet"), std::string("small")}) {
    const TrainOptions options = train::preset_options(preset);
    EXPECT_NO_THROW(check_options(options)) << preset;
    TrainOptions again;
    for (const auto& [name, text] : option_texts(options)) set_option(again, name, text);
    EXPECT_EQ(option_texts(again), option_texts(options)) << preset;
    EXPECT_EQ(again.lr, options.lr);
    EXPECT_EQ(again.augment.ratio_min, options.augment.ratio_min) << "to the bit";
  }
}

class BeforeTheFirstStep : public ::testing::Test {
 protected:
  BeforeTheFirstStep() { write_files(folder_ / "data", striped_images(3, 12)); }

  // Nothing is trained, and no folder made.
  void expect(ErrorCode code, std::initializer_list<std::string> words, const TrainOptions& options,
              const std::string& data) {
    train::TrainEvents events;
    events.begin = [](const train::RunSummary&) { ADD_FAILURE() << "it began"; };
    train::Group alone;
    expect_error(code, words,
                 [&] { train::train(options, data, (folder_ / "run").string(), events, alone); });
    EXPECT_FALSE(fs::exists(folder_ / "run"));
  }
  void expect(ErrorCode code, std::initializer_list<std::string> words,
              const TrainOptions& options) {
    expect(code, words, options, (folder_ / "data").string());
  }

  TempDir folder_;
};

TEST_F(BeforeTheFirstStep, BadData) {
  const TrainOptions options = tiny_options("small");
  expect(ErrorCode::kInput, {"nowhere"}, options, (folder_ / "nowhere").string());
  write_files(folder_ / "one", striped_images(1, 12));
  expect(ErrorCode::kInput, {"one", "class"}, options, (folder_ / "one").string());
  Files latin = striped_images(1, 12);
  for (const auto& [name, bytes] : striped_images(1, 12)) latin["fl\xf6wer/" + name] = bytes;
  write_files(folder_ / "latin", latin);
  expect(ErrorCode::kInput, {"latin", "class name \"fl", "UTF-8"}, options,
         (folder_ / "latin").string());
  write_files(folder_ / "tested/test", striped_images(2, 3));
  expect(ErrorCode::kInput, {"tested", "no training split"}, options,
         (folder_ / "tested").string());
  // The test split does not matter here.
  write_files(folder_ / "tested/train", striped_images(3, 12));
  write_file(folder_ / "tested/test/0.png", "no label");
  run_training(options, (folder_ / "tested").string(), (folder_ / "tested-run").string(), 1);
}

TEST_F(BeforeTheFirstStep, BadOptions) {
  TrainOptions options = tiny_options("small");
  options.lr = -1;
  expect(ErrorCode::kUsage, {"--lr is -1"}, options);
  options = tiny_options("small");
  options.fields["drop_path"] = "1";
  expect(ErrorCode::kUsage, {"drop_path is 1, expected 0 to below 1"}, options);
  options.fields["drop_path"] = "much";
  expect(ErrorCode::kUsage, {"drop_path", "much"}, options);
  options.fields = {{"wheels", "4"}};
  expect(ErrorCode::kUsage, {"wheels"}, options);
  options = tiny_options("small");
  options.device = "cuda:7";
  expect(ErrorCode::kUsage, {"--device is cuda:7"}, options);
}

TEST_F(BeforeTheFirstStep, AFolderAmongTheImages) {
  expect(ErrorCode::kUsage, {"--out", "lies inside of"}, tiny_options("small"),
         folder_.path().string());
  // A name that only begins alike lies beside it.
  run_training(tiny_options("small"), (folder_ / "data").string(), (folder_ / "data-run").string(),
               1);
}

TEST_F(BeforeTheFirstStep, BadModels) {
  TrainOptions options = tiny_options("small");
  options.model = "vig_x";
  expect(ErrorCode::kUsage, {"vig_x"}, options);
  options.model = (folder_ / "broken.safetensors").string();
  write_file(options.model, "x");
  expect(ErrorCode::kInput, {"broken.safetensors"}, options);
  options = tiny_options("small");
  options.size = 3;
  options.fields["patch_size"] = "16";
  expect(ErrorCode::kInput, {"3 x 3 is too small"}, options);
}

TEST_F(BeforeTheFirstStep, OtherOptionsThanTheFoldersRun) {
  TrainOptions options = tiny_options("small");
  const std::string data = (folder_ / "data").string(), out = (folder_ / "kept").string();
  run_training(options, data, out, 1);
  const auto before = tensor_bytes(folder_ / "kept/checkpoint.safetensors");
  options.batch = 8;
  options.fields["depth"] = "1";
  expect_error(ErrorCode::kUsage, {out, "batch was 16, is 8", "model.depth was 2, is 1"},
               [&] { run_training(options, data, out); });
  options = tiny_options("small");
  write_files(folder_ / "more", striped_images(3, 20));
  expect_error(ErrorCode::kUsage, {"train_images was 32, is 54"},
               [&] { run_training(options, (folder_ / "more").string(), out); });
  // As many images, but other labels.
  Files renamed;
  for (const auto& [name, bytes] : striped_images(3, 12)) {
    renamed[name.starts_with("class0") ? "other" + name.substr(6) : name] = bytes;
  }
  write_files(folder_ / "renamed", renamed);
  expect_error(ErrorCode::kUsage, {"train_names was "},
               [&] { run_training(options, (folder_ / "renamed").string(), out); });
  EXPECT_TRUE(tensor_bytes(folder_ / "kept/checkpoint.safetensors") == before);
}

// As when a disk goes away: the run ends, and what was good stays.
TEST(BadImages, NoneLeftEndTheRun) {
  const TempDir folder, out;
  Files images;
  for (const auto& [name, bytes] : striped_images(2, 20)) {
    images["train/" + name] = images["val/" + name] = bytes;
  }
  write_files(folder.path(), images);
  TrainOptions options = tiny_options("small");
  options.batch = 8;
  options.epochs = 3;
  const std::string data = folder.path().string(), run = (out / "run").string();
  run_training(options, data, run, 7);
  const auto before = tensor_bytes(out / "run/checkpoint.safetensors");
  const std::string best = read_file(out / "run/best.safetensors");

  Files broken = images;
  for (auto& [name, bytes] : broken) {
    if (name.starts_with("train/")) bytes = "no image";
  }
  write_files(folder.path(), broken);
  expect_error(ErrorCode::kInput, {"none of the images of step 8 can be read"},
               [&] { run_training(options, data, run); });
  for (auto& [name, bytes] : broken) {
    bytes = name.starts_with("val/") ? "no image" : images[name];
  }
  write_files(folder.path(), broken);
  expect_error(ErrorCode::kInput, {"none of the 40 validation images can be read"},
               [&] { run_training(options, data, run); });
  EXPECT_TRUE(tensor_bytes(out / "run/checkpoint.safetensors") == before);
  EXPECT_TRUE(read_file(out / "run/best.safetensors") == best);
}

// A step is the mean over the images it has.
TEST(BadImages, DoNotWeighIn) {
  const TempDir folder;
  const Files images = striped_images(2, 8);
  Files broken = images, rest = images;
  for (const char* name : {"class0/1.png", "class0/4.png", "class1/0.png", "class1/6.png"}) {
    broken.at(name) = "no image";
    rest.erase(name);
  }
  TrainOptions options = tiny_options("small");
  options.augment.crop = AugmentOptions::Crop::kCenter;
  options.augment.flip = 0;
  options.val_share = 0;
  options.epochs = 4;
  options.warmup_epochs = 0;
  const auto run = [&](const char* name, const Files& files) {
    write_files(folder / name, files);
    options.batch = files.size() == rest.size() ? 12 : 16;
    return run_training(options, (folder / name).string(), (folder / "run").string() + name);
  };
  const RunRecord with = run("with", broken), without = run("without", rest);
  ASSERT_EQ(with.losses.size(), 4u);
  ASSERT_EQ(without.losses.size(), 4u);
  EXPECT_LT(with.losses[3], with.losses[0]);
  EXPECT_EQ(with.rows.at(0).train, without.rows.at(0).train) << "shares of the images there are";
  for (size_t step = 0; step < 4; ++step) {
    EXPECT_NEAR(with.losses[step], without.losses[step], 1e-4) << step;
    // Adam would hide a gradient of another length.
    EXPECT_NEAR(with.gradient_norms[step] / without.gradient_norms[step], 1, 2e-3) << step;
  }
}

TEST(BadImages, AreReportedOnceAndLeftOut) {
  const TempDir folder;
  Files images = striped_images(2, 20);
  images["class0/3.png"] = "no image";
  images["class1/7.png"].resize(90);
  write_files(folder / "train", images);
  write_files(folder / "val", striped_images(2, 4));
  TrainOptions options = tiny_options("small");
  options.batch = 8;
  options.epochs = 3;
  const TempDir out;
  const RunRecord record = run_training(options, folder.path().string(), (out / "run").string());
  EXPECT_EQ(record.losses.size(), 15u);
  ASSERT_EQ(record.problems.size(), 2u);
  const std::string both = record.problems[0] + record.problems[1];
  EXPECT_NE(both.find("train/class0/3.png: "), std::string::npos) << both;
  EXPECT_NE(both.find("train/class1/7.png: "), std::string::npos) << both;
}

}  // namespace
}  // namespace vig::test
