// Classifier and Embedder on a miniature.
#include <gtest/gtest.h>

#include <cmath>

#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/pipeline/classifier.h"
#include "vig/pipeline/embedder.h"

namespace vig::test {
namespace {

ModelSource miniature() {
  ModelRequest request;
  request.model = golden("vig-mini-silu.pth");
  request.arch = "test_vig";
  ModelSource source = find_source(request);
  for (char name = 'a'; name <= 'j'; ++name) source.classes.emplace_back(1, name);
  return source;
}

std::vector<Picture> some_pictures(const Recipe& recipe) {
  std::vector<Picture> pictures;
  for (const char* name : {"photos/cat_chelsea.png", "broken/zero_byte.png",
                           "photos/kitten_gray.jpg", "photos/flower.webp", "broken/soi_eoi.jpg"}) {
    pictures.push_back(read_picture(picture_file(name), recipe, {}));
  }
  return pictures;
}

TEST(Classifier, ABrokenPictureLeavesTheOthersAlone) {
  Classifier classifier(miniature(), {.threads = 1, .batch = 2});
  const std::vector<Picture> pictures = some_pictures(classifier.recipe());
  const auto results = classifier.classify(pictures, 3);
  ASSERT_EQ(results.size(), pictures.size());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].name, pictures[i].name);
    EXPECT_EQ(results[i].error, pictures[i].error);
    EXPECT_EQ(results[i].answer.scores.size(), pictures[i].good() ? 3u : 0u);
  }
  EXPECT_EQ(results[0].answer.scores[0].name.size(), 1u);
}

TEST(Classifier, AloneOrTogetherTheAnswerIsTheSame) {
  Classifier one(miniature(), {.threads = 1, .batch = 1});
  Classifier many(miniature(), {.threads = 2, .batch = 8});
  for (const int size : {0, 48, 100}) {
    const std::vector<Picture> pictures = some_pictures(one.recipe(size));
    const auto a = one.classify(pictures, 10), b = many.classify(pictures, 10);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].answer.scores, b[i].answer.scores);
  }
}

TEST(Classifier, NeedsWeights) {
  ModelRequest request;
  request.model = "test_vig";
  EXPECT_THROW(Classifier(find_source(request)), Error);
}

TEST(Classifier, RefusesPicturesOfTwoSizes) {
  Classifier classifier(miniature());
  const std::vector<Picture> pictures = {
      read_picture(picture_file("photos/flower.webp"), classifier.recipe(64), {}),
      read_picture(picture_file("photos/flower.webp"), classifier.recipe(80), {})};
  EXPECT_THROW(classifier.classify(pictures, 1), Error);
}

TEST(Embedder, PooledIsTheMeanOfTheMap) {
  Embedder embedder(miniature(), {.threads = 1, .batch = 4});
  const std::vector<Picture> pictures = some_pictures(embedder.recipe(100));
  const auto pooled = embedder.embed(pictures, Embedder::Kind::kPooled);
  const auto maps = embedder.embed(pictures, Embedder::Kind::kMap);
  for (size_t i = 0; i < pictures.size(); ++i) {
    EXPECT_EQ(pooled[i].error, pictures[i].error);
    if (!pictures[i].good()) continue;
    const Embedding& vector = pooled[i].answer;
    const Embedding& map = maps[i].answer;
    EXPECT_EQ(vector.height * vector.width, 1);
    ASSERT_EQ(vector.channels, 64);
    ASSERT_EQ(map.channels, 64);
    const int cells = map.height * map.width;
    EXPECT_EQ(cells, 36);
    for (int c = 0; c < 64; ++c) {
      double sum = 0;
      for (int p = 0; p < cells; ++p) sum += map.values[p * 64 + c];
      EXPECT_NEAR(sum / cells, vector.values[c], 1e-5);
    }
  }
}

TEST(Runner, NumbersThatAreNotFiniteAreAnErrorOfThePicture) {
  const TempDir folder;
  const std::string file = (folder / "nan.safetensors").string();
  const ModelSpec spec = find_model("test_vig");
  const Graph graph = build_graph(spec, 64, 64);
  const auto weights = random_weights(graph.params, 1);
  std::vector<float> broken(10, NAN);
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < weights->size(); ++i) {
    const ParamSpec& param = weights->spec(i);
    const float* data = param.name == "head.bias" ? broken.data() : weights->data(i);
    tensors.push_back({param.name, {data, DType::kF32, param.shape}});
  }
  write_safetensors(file, tensors, {{"vig.arch", "test_vig"}});
  ModelRequest request;
  request.model = file;
  Classifier classifier(find_source(request));
  const auto results = classifier.classify(some_pictures(classifier.recipe()), 1);
  EXPECT_NE(results[0].error.find("finite"), std::string::npos) << results[0].error;
}

TEST(Runner, DefaultBatchShrinksWithTheSize) {
  EXPECT_EQ(default_batch(64), 8);
  EXPECT_EQ(default_batch(224), 8);
  EXPECT_EQ(default_batch(448), 2);
  EXPECT_EQ(default_batch(4096), 1);
}

}  // namespace
}  // namespace vig::test
