// Whole images: what the network gives for their pixels, normalised and not resized.
#include "vig/pipeline/whole_image.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/image/decode.h"
#include "vig/image/preprocess.h"
#include "vig/image/region_source.h"
#include "vig/pipeline/open_model.h"

namespace vig::test {
namespace {

class WholeTest : public ::testing::Test {
 protected:
  OpenModel open(const std::string& arch) {
    const std::string path = (folder_ / (arch + ".safetensors")).string();
    write_bare(find_model(arch), path);
    ModelRequest request;
    request.model = path;
    request.arch = arch;
    return OpenModel(find_source(request), {.threads = 2});
  }
  // The output of a session of the image's size.
  static std::vector<float> expected(const OpenModel& model, const Image& image,
                                     const std::string& output) {
    Session session = model.session(image.height, image.width, 1);
    normalise(image, model.source().spec.recipe, session.input(0));
    session.run(1);
    const float* first = session.output(output, 0);
    const Graph& graph = session.graph();
    return {first, first + graph.node(graph.find_output(output)).grid.elements()};
  }

  TempDir folder_;
  const std::string photo_ = image_file("photos/cat_chelsea.png");
};

TEST_F(WholeTest, EmbeddingsAreThoseOfThePixels) {
  const Image image = read_image(photo_);
  const ImageFiles files({photo_});
  for (const char* arch : {"test_vig", "test_vig_h", "test_deit"}) {
    SCOPED_TRACE(arch);
    const OpenModel model = open(arch);
    const Embedder embedder(model.runner());
    for (const bool regions : {false, true}) {
      WholeOptions whole;
      if (regions) whole.open = [&](size_t) { return open_regions(photo_); };
      std::vector<ImageResult<WholeValues>> pooled, map;
      embedder.embed_whole(files, Embedder::Kind::kPooled, whole, collect_results(pooled));
      embedder.embed_whole(files, Embedder::Kind::kMap, whole, collect_results(map));
      ASSERT_EQ(pooled.size(), 1u);
      EXPECT_EQ(pooled[0].error, "");
      EXPECT_EQ(pooled[0].prediction.all(), expected(model, image, "pooled"));
      EXPECT_EQ(map[0].prediction.all(), expected(model, image, "features"));
    }
  }
}

TEST_F(WholeTest, ClassesAreThoseOfThePixels) {
  const OpenModel model = open("test_vig");
  const std::vector<float> logits = expected(model, read_image(photo_), "logits");
  std::vector<ClassifiedImage> results;
  Classifier(model.runner()).classify_whole(ImageFiles({photo_}), 1, {}, collect_results(results));
  const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].prediction.scores.at(0).index, best);
}

// No memory at all: one sentence for each image, and the next one is tried.
TEST_F(WholeTest, EveryImageReportsWhatItNeeds) {
  const ImageFiles files({photo_, image_file("broken/zero_byte.png"), photo_});
  WholeOptions whole;
  whole.max_memory = 1;
  for (const char* arch : {"test_vig", "test_deit"}) {
    const OpenModel model = open(arch);
    std::vector<ImageResult<WholeValues>> results;
    Embedder(model.runner())
        .embed_whole(files, Embedder::Kind::kPooled, whole, collect_results(results));
    ASSERT_EQ(results.size(), 3u);
    for (const size_t i : {0, 2}) {
      EXPECT_TRUE(results[i].error.starts_with(photo_ + ": the network needs "))
          << results[i].error;
      EXPECT_NE(results[i].error.find("0 MB of 0 MB are left"), std::string::npos);
    }
    const bool segments = results[0].error.find("by segments it needs") != std::string::npos;
    EXPECT_EQ(segments, std::string(arch) == "test_vig") << results[0].error;
    EXPECT_NE(results[1].error.find("zero_byte.png"), std::string::npos);
  }
}

}  // namespace
}  // namespace vig::test
