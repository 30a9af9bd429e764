// What segmentation and detection refuse of a file before they run it, and of a picture.
#include "vig/pipeline/dense_runner.h"

#include <gtest/gtest.h>

#include "pipeline/dense_networks.h"
#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/pipeline/detector.h"
#include "vig/pipeline/segmenter.h"

namespace vig::test {
namespace {

class DenseRunnerTest : public ::testing::Test {
 protected:
  ModelSource source(const std::string& model) {
    const std::string path = (folder_ / (model + ".safetensors")).string();
    write_dense_network(model, path);
    return dense_source(path);
  }
  static void expect_refused(const std::string& error, const ModelSource& source,
                             const std::string& words) {
    EXPECT_NE(error.find(source.name + ": "), std::string::npos) << error;
    EXPECT_NE(error.find(words), std::string::npos) << error;
  }

  TempDir folder_;
};

TEST_F(DenseRunnerTest, ARecipeThatCropsIsForClassifiers) {
  ModelSource segment = source("mini_segmenter"), detect = source("mini_detector");
  segment.spec.recipe.framing = detect.spec.recipe.framing = Framing::kCrop;
  expect_refused(error_of([&] { Segmenter{segment}; }), segment, "its pictures are cropped");
  expect_refused(error_of([&] { Detector{detect}; }), detect, "its pictures are cropped");
}

// A file of some kilobytes: values of at most 64 MB, which an input of 2400 x 2400 exceeds.
TEST_F(DenseRunnerTest, ASmallFileMayNotAskForAHugeInput) {
  ModelSource windows = source("mini_segmenter");
  windows.spec.recipe.crop = 2400;
  windows.graph = std::make_shared<const Graph>(build_graph(windows.spec, 2400, 2400));
  expect_refused(error_of([&] { Segmenter{windows}; }), windows,
                 "1 picture of 2400x2400 would make a value of ");

  // The network itself is small; the recipe enlarges what it sees.
  ModelSource whole = source("mini_segmenter");
  whole.spec.recipe.resize = whole.spec.recipe.longest = 2400;
  const PictureFiles one({picture_file("photos/pixel_1x1.png")});
  const Segmenter segmenter(whole, {}, {.window = 0});
  expect_refused(segmenter.segment(one).at(0).error, whole,
                 "1 picture of 2400x2400 would make a value of ");
  // What the caller asks for is the caller's.
  const Segmenter asked(whole, {.size = 64}, {.window = 0});
  EXPECT_EQ(asked.segment(one).at(0).error, "");
}

}  // namespace
}  // namespace vig::test
