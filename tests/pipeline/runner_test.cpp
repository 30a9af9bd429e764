// What tasks refuse of a file before they run it, and of an image.
#include "vig/pipeline/runner.h"

#include <gtest/gtest.h>

#include "pipeline/dense_networks.h"
#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/pipeline/classifier.h"
#include "vig/pipeline/detector.h"
#include "vig/pipeline/save_model.h"
#include "vig/pipeline/segmenter.h"
#include "vig/weights/checkpoint.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

class RunnerTest : public ::testing::Test {
 protected:
  ModelSource source(const std::string& model) {
    const std::string path = (folder_ / (model + ".safetensors")).string();
    write_dense_network(model, path);
    return dense_source(path);
  }
  ModelSource source_of(const std::string& arch, const std::string& file) {
    ModelRequest request;
    request.model = (folder_ / file).string();
    request.arch = arch;
    return find_source(request);
  }
  static void expect_refused(const std::string& error, const ModelSource& source,
                             const std::string& words) {
    EXPECT_NE(error.find(source.name + ": "), std::string::npos) << error;
    EXPECT_NE(error.find(words), std::string::npos) << error;
  }

  TempDir folder_;
};

TEST_F(RunnerTest, ARecipeThatCropsIsForClassifiers) {
  ModelSource segment = source("mini_segmenter"), detect = source("mini_detector");
  segment.spec.recipe.framing = detect.spec.recipe.framing = Framing::kCrop;
  expect_refused(error_of([&] { Segmenter{segment}; }), segment, "its images are cropped");
  expect_refused(error_of([&] { Detector{detect}; }), detect, "its images are cropped");

  // In the opposite order, images would be larger than what a session has room for.
  write_bare(find_model("test_vig"), (folder_ / "bare.safetensors").string());
  ModelSource classify = source_of("test_vig", "bare.safetensors");
  classify.spec.recipe.framing = Framing::kPad;
  classify.spec.recipe.longest = 1000;
  expect_refused(error_of([&] { Classifier{classify}; }), classify, "its images are not cropped");
}

// A file of some kilobytes: values of at most 64 MB, which an input of 2400 x 2400 exceeds.
TEST_F(RunnerTest, ASmallFileMayNotAskForAHugeInput) {
  ModelSource windows = source("mini_segmenter");
  windows.spec.recipe.crop = 2400;
  windows.graph = std::make_shared<const Graph>(build_graph(windows.spec, 2400, 2400));
  expect_refused(error_of([&] { Segmenter{windows}; }), windows,
                 "1 image of 2400x2400 would make a value of ");

  // The network itself is small; the recipe enlarges what it sees.
  ModelSource whole = source("mini_segmenter");
  whole.spec.recipe.resize = whole.spec.recipe.longest = 2400;
  const ImageFiles one({image_file("photos/pixel_1x1.png")});
  const Segmenter segmenter(whole, {}, {.window = 0});
  expect_refused(segmenter.segment(one).at(0).error, whole,
                 "1 image of 2400x2400 would make a value of ");
  // What the caller asks for is the caller's.
  const Segmenter asked(whole, {.size = 64}, {.window = 0});
  EXPECT_EQ(asked.segment(one).at(0).error, "");
}

std::vector<std::string> kinds_of(const std::vector<ImageWarning>& warnings) {
  std::vector<std::string> kinds;
  for (const ImageWarning& one : warnings) kinds.push_back(one.kind);
  return kinds;
}

using Kinds = std::vector<std::string>;

// A network of short sides of 64 pixels sees 451 x 300 pixels 4.7 times smaller.
TEST_F(RunnerTest, ImagesThatAreShrunkMoreThanInTrainingAreWarnedOf) {
  const ImageFiles cat({image_file("photos/cat_chelsea.png")});
  const std::string path = (folder_ / "model.safetensors").string();
  const auto warnings = [&](const std::string& training, int size = 0) {
    write_dense_network("mini_segmenter", path);
    const Checkpoint made = Checkpoint::open(path);
    Metadata metadata = made.metadata();
    if (!training.empty()) metadata["vig.training"] = training;
    const std::string file = (folder_ / "trained.safetensors").string();
    write_safetensors(file, made.tensors(), metadata);
    return Segmenter(dense_source(file), {.size = size}).segment(cat).at(0).warnings;
  };
  // A file that does not say it counts as one whose training shrank nothing; 1.5 times is allowed.
  const auto unknown = warnings("");
  ASSERT_EQ(kinds_of(unknown), Kinds{kShrunkWarning});
  EXPECT_EQ(unknown[0].message,
            "the network sees the image 4.7 times smaller: small objects may be missed or "
            "mistaken; give a larger --size than 64, or parts of the image");
  EXPECT_EQ(kinds_of(warnings("", 192)), Kinds{kShrunkWarning});
  EXPECT_EQ(kinds_of(warnings("", 208)), Kinds{});
  // Two thirds of the smallest scale of training are allowed.
  const auto known = warnings(R"({"smallest_scale":"0.5"})");
  ASSERT_EQ(kinds_of(known), Kinds{kShrunkWarning});
  EXPECT_NE(known[0].message.find("4.7 times smaller, in training at most 2.0 times: "),
            std::string::npos)
      << known[0].message;
  EXPECT_EQ(kinds_of(warnings(R"({"smallest_scale":"0.3"})")), Kinds{});
  // Training that enlarges is no reason to warn of images that are not shrunk.
  EXPECT_EQ(kinds_of(warnings(R"({"smallest_scale":"4"})", 208)), Kinds{});
}

TEST_F(RunnerTest, TheLimitOfObjectsIsWarnedOf) {
  const ImageFiles cat({image_file("photos/cat_chelsea.png")});
  const std::string path = (folder_ / "detector.safetensors").string();
  ModelRequest request;
  request.model = "test_vig_maskrcnn";
  save_model(find_source(request), path);
  ModelSource detector = dense_source(path);
  const auto found = [&](int most, const DetectOptions& options) {
    override_field(detector.spec, "detections", std::to_string(most));
    return Detector(detector, {.size = 256}, options).detect(cat).at(0);
  };
  const float least = found(1000, {.score = 0.1f}).prediction.at(20).score;
  const DetectedImage all = found(1000, {.score = least});
  const int count = static_cast<int>(all.prediction.size());
  ASSERT_GT(count, 3);
  ASSERT_LE(count, 20);
  EXPECT_EQ(kinds_of(all.warnings), Kinds{});
  EXPECT_EQ(kinds_of(found(count + 1, {.score = least}).warnings), Kinds{});
  DetectedImage few = found(count - 1, {.score = least});
  ASSERT_EQ(kinds_of(few.warnings), Kinds{kMostObjectsWarning});
  EXPECT_NE(few.warnings[0].message.find(fmt::format("at most {} objects", count - 1)),
            std::string::npos);
  // Objects of other classes may have taken all detections.
  const int label = all.prediction[0].label == 0 ? 1 : 0;
  const DetectedImage one_class = found(count - 1, {.score = least, .labels = {label}});
  EXPECT_LT(one_class.prediction.size(), all.prediction.size() - 1);
  EXPECT_EQ(kinds_of(one_class.warnings), Kinds{kMostObjectsWarning});

  // Above a score that leaves objects out, none is cut off.
  keep_above(least, few);
  EXPECT_EQ(kinds_of(few.warnings), Kinds{kMostObjectsWarning});
  few.warnings.push_back({kShrunkWarning, ""});
  const float last = few.prediction.back().score;
  keep_above(last, few);
  EXPECT_LT(few.prediction.size(), static_cast<size_t>(count - 1));
  EXPECT_GT(few.prediction.back().score, last);
  EXPECT_EQ(kinds_of(few.warnings), Kinds{kShrunkWarning});
}

}  // namespace
}  // namespace vig::test
