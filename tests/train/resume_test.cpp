// However a run begins, it resumes with what it was begun with: by the same options, and by what
// its checkpoint says. All files are those of an uninterrupted run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/tree.h"
#include "train/dense_fixtures.h"
#include "vig/train/presets.h"
#include "vig/weights/model_info.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using train::TrainOptions;

const std::map<std::string, std::string> kNarrow = {
    {"embed_dim", "32"}, {"heads", "2"}, {"depth", "4"}};

enum class Data { kClasses, kLabelled, kAnnotated };

struct Start {
  std::string name;
  Data data = Data::kClasses;
  std::string model;  // empty: that of the options
  int size = 0;
  std::map<std::string, std::string> fields = {};
};
void PrintTo(const Start& start, std::ostream* out) { *out << start.name; }

class Resume : public ::testing::TestWithParam<Start> {
 protected:
  // Files to begin from. Their inputs have another size than their models say: that of the file's
  // recipe.
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TempDir>();
    write_files(*folder_ / "classes", striped_images(2, 4));
    write_files(*folder_ / "labelled", labelled_images(2, 1));
    write_files(*folder_ / "annotated", annotated_images(2, 1));
    for (const auto& [name, data, model] : {std::tuple{"classifier", Data::kClasses, "test_vig"},
                                            {"segmenter", Data::kLabelled, "test_vig_upernet"},
                                            {"detector", Data::kAnnotated, "test_vig_maskrcnn"}}) {
      TrainOptions options = options_for(data);
      options.epochs = 1;
      options.model = model;
      if (data == Data::kClasses) options.fields = kNarrow;
      run_training(options, data_folder(data), (*folder_ / name).string());
      options.model = (*folder_ / name / "last.safetensors").string();
      options.size = data == Data::kClasses ? 40 : 96;
      run_training(options, data_folder(data), model_folder(name));
    }
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string data_folder(Data data) {
    constexpr const char* names[] = {"classes", "labelled", "annotated"};
    return (*folder_ / names[static_cast<int>(data)]).string();
  }
  static std::string model_folder(const std::string& name) {
    return (*folder_ / (name + "-sized")).string();
  }

  // Two steps, each with a validation.
  static TrainOptions options_for(Data data) {
    constexpr const char* presets[] = {"small", "segment", "detect"};
    TrainOptions options = train::preset_options(presets[static_cast<int>(data)]);
    options.epochs = 2;
    options.warmup_epochs = 0;
    options.threads = 1;
    if (data != Data::kAnnotated) return options;
    options.proposal_samples = options.box_samples = 16;
    options.fields = {
        {"training_proposals_per_level", "60"}, {"proposals_per_level", "60"}, {"proposals", "60"}};
    return options;
  }

  static std::unique_ptr<TempDir> folder_;
};
std::unique_ptr<TempDir> Resume::folder_;

TEST_P(Resume, EqualsAnUninterruptedRun) {
  const Start& start = GetParam();
  TrainOptions options = options_for(start.data);
  if (start.model.ends_with(".safetensors")) {
    options.model = std::string(kSourceDir) + "/models/" + start.model;
  } else if (start.model == "classifier" || start.model == "segmenter" ||
             start.model == "detector") {
    options.model = model_folder(start.model) + "/last.safetensors";
  } else if (!start.model.empty()) {
    options.model = start.model;
  }
  options.size = start.size;
  for (const auto& [field, value] : start.fields) options.fields[field] = value;

  const TempDir runs;
  const auto run = [&](const char* name) { return runs / name / "run"; };
  const std::string data = data_folder(start.data);
  const RunRecord whole = run_training(options, data, run("whole").string());
  ASSERT_EQ(whole.result.state.step, 2);
  const auto resume = [&](const char* name, bool stored) {
    const std::string out = run(name).string();
    EXPECT_EQ(run_training(options, data, out, 1).result.state.step, 1);
    const TrainOptions then =
        stored ? train::stored_options(train::read_description(out + "/checkpoint.safetensors"))
               : options;
    const RunRecord rest = run_training(then, data, out);
    EXPECT_EQ(rest.summary.first_step, 1);
    EXPECT_EQ(rest.summary.height, whole.summary.height);
    EXPECT_EQ(rest.summary.width, whole.summary.width);
    expect_same_runs(out, run("whole"));
    for (const char* file : {"run.json", "curves.svg"}) {
      EXPECT_EQ(read_file(fs::path(out) / file), read_file(run("whole") / file)) << file;
    }
    EXPECT_EQ(fs::exists(fs::path(out) / "validation.txt"), start.data == Data::kClasses);
    if (start.data == Data::kClasses) {
      EXPECT_EQ(read_file(out + "/validation.txt"), read_file(run("whole") / "validation.txt"));
    }
  };
  resume("same", false);
  resume("stored", true);

  // The record holds what was used, and the networks say the same.
  const auto record = nlohmann::json::parse(read_file(run("whole") / "run.json"));
  const SafeTensors best = SafeTensors::open((run("whole") / "best.safetensors").string());
  const auto info = read_model_info(best.metadata(), "best");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(record["preprocessing"], nlohmann::json::parse(encode_recipe(info->recipe)));
  const int side = start.data == Data::kAnnotated ? info->recipe.resize : info->recipe.crop;
  EXPECT_EQ(record["size"], side);
  EXPECT_TRUE(start.size == 0 || start.size == side) << side;
  if (start.data != Data::kAnnotated) {
    EXPECT_EQ(record["size"], whole.summary.width);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Starts, Resume,
    ::testing::Values(
        Start{"Fresh", Data::kClasses, "", 0, kNarrow},
        Start{"FreshSized", Data::kClasses, "", 48, kNarrow},
        Start{"Name", Data::kClasses, "test_vig_h"},
        Start{"NameSized", Data::kClasses, "test_vig", 40},
        Start{"NameSet", Data::kClasses, "test_vig", 0, {{"image_size", "40"}}},
        Start{"File", Data::kClasses, "classifier"},
        Start{"FileSized", Data::kClasses, "classifier", 48},
        Start{"Default", Data::kClasses, "default.safetensors"},
        Start{"DefaultSized", Data::kClasses, "default.safetensors", 40},
        Start{"DefaultSet", Data::kClasses, "default.safetensors", 0, {{"image_size", "40"}}},
        Start{"SegmentName", Data::kLabelled, "test_vig_upernet"},
        Start{"SegmentNameSized", Data::kLabelled, "test_vig_h_upernet", 96},
        Start{"SegmentClassifierName", Data::kLabelled, "test_vig_h"},
        Start{"SegmentFile", Data::kLabelled, "segmenter"},
        Start{"SegmentFileSized", Data::kLabelled, "segmenter", 64},
        Start{"SegmentClassifierFile", Data::kLabelled, "classifier"},
        Start{"SegmentDefaultSized", Data::kLabelled, "default.safetensors", 64},
        Start{"DetectName", Data::kAnnotated, "test_vig_maskrcnn"},
        Start{"DetectNameSized", Data::kAnnotated, "test_vig_h_maskrcnn", 96},
        Start{"DetectFile", Data::kAnnotated, "detector"},
        Start{"DetectFileSized", Data::kAnnotated, "detector", 64},
        Start{"DetectClassifierFile", Data::kAnnotated, "classifier"},
        Start{"DetectDefaultSized", Data::kAnnotated, "default.safetensors", 64}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace vig::test
