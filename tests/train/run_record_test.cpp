// What identifies a run, how a finished one is given more epochs, and what run.json says.
#include "vig/train/run_record.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "support/errors.h"
#include "train/fixtures.h"
#include "vig/train/optimizer.h"

namespace vig::test {
namespace {

using nlohmann::json;
using train::continued_identity;
using train::RunFacts;
using train::Texts;
using train::TrainOptions;

// Another value of the same kind.
int other(int value) { return value + 1; }
int64_t other(int64_t value) { return value + 1; }
uint64_t other(uint64_t value) { return value + 1; }
float other(float value) { return value / 2 + 0.0371f; }
double other(double value) { return value / 2 + 0.0371; }
bool other(bool value) { return !value; }
std::string other(const std::string& value) { return value + "x"; }
AugmentOptions::Crop other(AugmentOptions::Crop value) {
  return value == AugmentOptions::Crop::kCenter ? AugmentOptions::Crop::kPadded
                                                : AugmentOptions::Crop::kCenter;
}

class RunRecordTest : public ::testing::Test {
 protected:
  RunRecordTest() : options_(tiny_options("imagenet")), spec_(find_model("test_vig_h")) {
    write_files(folder_ / "data", striped_images(3, 12));
    task_ = train::open_task(options_, (folder_ / "data").string(), 1);
  }
  RunFacts facts(const TrainOptions& options) const {
    return {options, spec_, task_->data(), (folder_ / "data").string(), 2, 2, "top-1"};
  }
  Texts identity() const { return run_identity(facts(options_)); }

  TempDir folder_;
  TrainOptions options_;
  ModelSpec spec_;
  std::unique_ptr<train::Task> task_;
};

TEST_F(RunRecordTest, EveryOptionIsPartOfTheRunButFour) {
  const std::set<std::string> free = {"checkpoint-minutes", "group-timeout", "loaders", "preview"};
  TrainOptions names;
  visit_options(names, [&](const std::string& name, const auto&, const char*) {
    TrainOptions changed = options_;
    visit_options(changed, [&](const std::string& option, auto& value, const char*) {
      if (option == name) value = other(value);
    });
    const Texts asked = run_identity(facts(changed));
    EXPECT_NE(option_texts(changed).at(name), option_texts(options_).at(name)) << name;
    if (free.contains(name)) {
      EXPECT_EQ(asked, identity()) << name;
      return;
    }
    expect_error(ErrorCode::kUsage, {"run holds another run", name + " was "},
                 [&] { continued_identity("run", identity(), asked, 0); });
  });
}

TEST_F(RunRecordTest, SoIsEveryFieldOfTheModelAndTheImages) {
  for (const auto& [name, value] : model_fields(spec_)) {
    EXPECT_EQ(identity().at("model." + name), value);
    Texts asked = identity();
    asked.at("model." + name) += "1";
    expect_error(ErrorCode::kUsage, {"model." + name + " was "},
                 [&, asked = asked] { continued_identity("run", identity(), asked, 0); });
  }
  for (const char* name :
       {"train_images", "train_names", "val_names", "steps_per_epoch", "best_by"}) {
    Texts asked = identity();
    asked.at(name) += "1";
    expect_error(ErrorCode::kUsage, {std::string(name) + " was "},
                 [&] { continued_identity("run", identity(), asked, 0); });
  }
  EXPECT_EQ(continued_identity("run", identity(), identity(), 1), identity());
}

// The result is the same to rounding. With as many processes as before it is the same to the bit,
// and threads must be, too.
TEST_F(RunRecordTest, ProcessesMayChange) {
  Texts asked = identity();
  asked.at("threads") = "7";
  expect_error(ErrorCode::kUsage, {"threads was "},
               [&] { continued_identity("run", identity(), asked, 30); });
  asked.at("processes") = "5";
  const Texts once = continued_identity("run", identity(), asked, 30);
  EXPECT_EQ(once.at("processes"), "5");
  EXPECT_EQ(once.at("threads"), "7");
  asked = identity();
  asked.at("processes") = "1";
  const Texts twice = continued_identity("run", once, asked, 90);
  EXPECT_EQ(continued_identity("run", twice, asked, 120), twice) << "nothing more has changed";
  EXPECT_EQ(json::parse(run_json(facts(options_), twice))["process_changes"],
            json::parse(R"([{"step": 30, "from": 2, "to": 5}, {"step": 90, "from": 5, "to": 1}])"));
  EXPECT_FALSE(json::parse(run_json(facts(options_), identity())).contains("process_changes"));
  // Other groups of images would be normalised together.
  Texts split = identity();
  split["images_dealt"] = "4";
  asked["images_dealt"] = "8";
  expect_error(ErrorCode::kUsage, {"images_dealt was 4, is 8"},
               [&] { continued_identity("run", split, asked, 30); });
}

TEST_F(RunRecordTest, OptionsReadBack) {
  const TrainOptions again = train::stored_options(identity());
  EXPECT_EQ(again.preset, "imagenet");
  for (const auto& [name, text] : option_texts(options_)) {
    if (!identity().contains(name)) continue;
    EXPECT_EQ(option_texts(again).at(name), text) << name;
  }
  Texts fields = model_fields(spec_);
  fields.erase("classes");
  EXPECT_EQ(again.fields, fields);
  ASSERT_TRUE(again.recipe.has_value());
  EXPECT_EQ(*again.recipe, spec_.recipe);
}

TEST_F(RunRecordTest, PreprocessingIsPartOfTheRun) {
  const Texts before = identity();
  spec_.recipe.mean[0] = 0.5f;
  expect_error(ErrorCode::kUsage, {"preprocessing was {", "is {"},
               [&] { continued_identity("run", before, identity(), 1); });
}

TEST_F(RunRecordTest, TheSizeIsTheOneInUse) {
  Recipe recipe;
  EXPECT_EQ(train::with_real_size(options_, recipe).size, options_.size) << "as given";
  options_.size = 0;
  EXPECT_EQ(train::with_real_size(options_, recipe).size, recipe.crop);
  recipe.framing = Framing::kPad;
  EXPECT_EQ(train::with_real_size(options_, recipe).size, recipe.resize);
}

// They had 0 for the model's own size, and no preprocessing. Of a file, that is not image_size.
TEST_F(RunRecordTest, OlderVersionsDidNotRecordTheSizeOfTheInput) {
  Texts old = identity();
  old.erase("preprocessing");
  old["size"] = "0";
  EXPECT_EQ(continued_identity("run", old, identity(), 1), identity());
  EXPECT_TRUE(train::stored_options(old).fields.contains("image_size"));
  old["model"] = "network.safetensors";
  EXPECT_FALSE(train::stored_options(old).fields.contains("image_size"));
  EXPECT_TRUE(train::stored_options(old).fields.contains("dims"));
  EXPECT_FALSE(train::stored_options(old).recipe.has_value());
  old["size"] = "40";
  EXPECT_TRUE(train::stored_options(old).fields.contains("image_size"));
  expect_error(ErrorCode::kUsage, {"size was 40, is 24"},
               [&] { continued_identity("run", old, identity(), 1); });
}

TEST_F(RunRecordTest, RunsOfOlderVersionsContinueWhereNothingChanged) {
  Texts old = identity();
  for (const char* name : {"steps_per_epoch", "best_by", "preset"}) old.erase(name);
  options_.batch = 16;  // of 32 images: two batches
  RunFacts now = facts(options_);
  now.steps_per_epoch = 3;
  expect_error(ErrorCode::kUsage, {"steps_per_epoch was 2, is 3", "older version", "partial batch"},
               [&] { continued_identity("run", old, run_identity(now), 1); });
  now.steps_per_epoch = 2;
  EXPECT_EQ(continued_identity("run", old, run_identity(now), 1).at("steps_per_epoch"), "2");
  now.best_by = "balanced accuracy";
  expect_error(ErrorCode::kUsage, {"best_by was top-1, is balanced accuracy", "older version"},
               [&] { continued_identity("run", old, run_identity(now), 1); });
}

// What older versions had no option for, they did as the defaults say.
TEST_F(RunRecordTest, OptionsThatCameLaterAreTheirDefaults) {
  Texts old = identity();
  for (const char* name :
       {"task", "norm-group", "proposal-samples", "box-samples", "schedule", "lr-drops",
        "warmup-steps", "resize-min", "resize-max", "flip-vertical", "transpose", "photometric",
        "one-class-most", "sampling", "class-weights", "patience", "steps", "loss-group"}) {
    ASSERT_EQ(old.erase(name), 1u) << name;
  }
  EXPECT_EQ(continued_identity("run", old, identity(), 1), identity());
  options_.norm_group = 3;
  expect_error(ErrorCode::kUsage, {"norm-group was 16, is 3"},
               [&] { continued_identity("run", old, identity(), 1); });
}

TEST(RunLength, IsCountedInWholeSteps) {
  EXPECT_EQ(train::total_steps(1.5, 3), 5);
  EXPECT_EQ(train::total_steps(2, 3), 6);
  EXPECT_EQ(train::total_steps(0.001, 3), 1);
  // What only rounding makes more is no step.
  EXPECT_EQ(train::total_steps(0.1 * 3, 10), 3);
  EXPECT_EQ(train::total_steps(10.0 / 3, 3), 10);
  TrainOptions options;
  options.epochs = 2;
  EXPECT_EQ(train::run_steps(options, 3), 6);
  options.steps = 5;
  EXPECT_EQ(train::run_steps(options, 3), 5);
  train::set_option(options, "epochs", "4");
  EXPECT_EQ(train::run_steps(options, 3), 12) << "the later one counts";
  EXPECT_EQ(train::plan_begin({{"steps_per_epoch", "4"}}), 0);
  EXPECT_EQ(train::plan_begin({{"extended", "3"}, {"steps_per_epoch", "4"}}), 12);
  EXPECT_EQ(train::plan_begin({{"extended", "3,5,6.5"}, {"steps_per_epoch", "4"}}), 26)
      << "the last one";
}

TEST_F(RunRecordTest, MoreEpochsExtendAFinishedRunAlone) {
  Texts stored = identity(), asked = identity();
  stored["epochs"] = "3";
  asked["epochs"] = "5";
  expect_error(ErrorCode::kUsage, {"stands at step 5 of 6", "finish"},
               [&] { continued_identity("run", stored, asked, 5); });
  const Texts extended = continued_identity("run", stored, asked, 6);
  EXPECT_EQ(extended.at("extended"), "3");
  EXPECT_EQ(extended.at("epochs"), "5");
  EXPECT_EQ(continued_identity("run", extended, asked, 7), extended) << "and resumes as such";
  asked["epochs"] = "8";
  EXPECT_EQ(continued_identity("run", extended, asked, 10).at("extended"), "3,5");
  Texts counted = extended;
  counted["steps"] = "17";  // of a run in steps
  EXPECT_EQ(train::plan_begin(continued_identity("run", extended, counted, 10)), 10);
  Texts longer = counted;
  longer["steps"] = "18";
  expect_error(ErrorCode::kUsage, {"run of 17 steps", "step 16 of 17"},
               [&] { continued_identity("run", counted, longer, 16); });
  EXPECT_EQ(train::plan_begin(continued_identity("run", counted, longer, 17)), 17);
  asked["epochs"] = "4";
  expect_error(ErrorCode::kUsage, {"epochs was 5, is 4"},
               [&] { continued_identity("run", extended, asked, 10); });
  asked["epochs"] = "8";
  asked["lr"] = "9";
  expect_error(ErrorCode::kUsage, {"lr was "},
               [&] { continued_identity("run", extended, asked, 10); });
}

TEST_F(RunRecordTest, NumbersAreNumbers) {
  const Texts texts = identity();
  const json record = json::parse(run_json(facts(options_), texts));
  visit_options(options_, [&](const std::string& name, const auto& value, const char*) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, bool>) {
      EXPECT_EQ(record.at(name), value) << name;
    } else if constexpr (std::is_arithmetic_v<Value>) {
      EXPECT_TRUE(record.at(name).is_number()) << name;
      EXPECT_EQ(static_cast<Value>(record.at(name).get<Value>()), value) << name;
    } else {
      EXPECT_TRUE(record.at(name).is_string()) << name;
    }
  });
  EXPECT_EQ(record["scale-min"].dump(), "0.08") << "as short as it was given";
  EXPECT_EQ(record["data"], (folder_ / "data").string());
  EXPECT_EQ(record["processes"], 2);
  EXPECT_EQ(record["train_images"], 32);
  EXPECT_EQ(record["val_images"], 4);
  EXPECT_EQ(record["validation"], "validation.txt");
  EXPECT_EQ(record["best_by"], "top-1");
  EXPECT_EQ(record["preset"], "imagenet");
  EXPECT_TRUE(record["train_names"].is_string()) << "sixteen digits that are no number";
  EXPECT_TRUE(record["model.depths"].is_array()) << record["model.depths"];
  EXPECT_TRUE(record["model.depths"][0].is_number());
}

TEST_F(RunRecordTest, IsJsonForAnyPaths) {
  options_.model = "caf\xe9.safetensors";
  RunFacts now = facts(options_);
  now.data_path = "/photos/caf\xe9";
  Texts past = run_identity(now);
  past["extended"] = "3,5";
  const json record = json::parse(run_json(now, past));
  EXPECT_EQ(record["data"], "/photos/caf\ufffd");
  EXPECT_EQ(record["model"], "caf\ufffd.safetensors");
  EXPECT_EQ(record["extended"], (json{3, 5}));
}

// Of a run without validation images, and of one with a split of its own.
TEST_F(RunRecordTest, SaysWhereTheValidationImagesAre) {
  train::TaskData data = task_->data();
  const auto validation = [&] {
    const RunFacts now = {options_, spec_, data, "data", 1, 2, "top-1"};
    EXPECT_EQ(run_identity(now).contains("val_names"), data.val != nullptr);
    return json::parse(run_json(now, run_identity(now)));
  };
  data.held_out = "";
  EXPECT_EQ(validation()["validation"], "val");
  data.val = nullptr;
  EXPECT_EQ(validation()["validation"], nullptr);
  EXPECT_EQ(validation()["val_images"], 0);
}

TEST(Extending, ContinuesWithTheScheduleOfTheWholeLength) {
  const TempDir folder;
  const std::string data = (folder / "data").string(), out = (folder / "run").string();
  write_files(data, striped_images(3, 12));
  TrainOptions options = tiny_options("small");  // two steps an epoch
  options.epochs = 2;
  run_training(options, data, out, 3);
  options.epochs = 4;
  expect_error(ErrorCode::kUsage, {"stands at step 3 of 4"},
               [&] { run_training(options, data, out); });
  options.epochs = 2;
  EXPECT_TRUE(run_training(options, data, out).result.finished);
  std::filesystem::copy(out, folder / "again");

  options.epochs = 4;
  const RunRecord more = run_training(options, data, out);
  EXPECT_TRUE(more.result.finished);
  EXPECT_EQ(more.summary.first_step, 4);
  EXPECT_EQ(more.summary.steps, 8);
  EXPECT_EQ(more.summary.extended, "2");
  ASSERT_EQ(more.lrs.size(), 4u);
  const train::Schedule schedule(options, 2, 8);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(more.lrs[i], schedule.lr(static_cast<int64_t>(4 + i)));
  EXPECT_EQ(json::parse(read_file(folder / "run/run.json"))["extended"], 2);

  // Interrupted, it ends the same.
  run_training(options, data, (folder / "again").string(), 6);
  EXPECT_EQ(run_training(options, data, (folder / "again").string()).summary.first_step, 6);
  expect_same_runs(folder / "again", out);
}

}  // namespace
}  // namespace vig::test
