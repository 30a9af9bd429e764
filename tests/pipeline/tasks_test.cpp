// Classifier and Embedder on a miniature.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <semaphore>
#include <thread>

#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/bench/bench.h"
#include "vig/image/preprocess.h"
#include "vig/pipeline/classifier.h"
#include "vig/pipeline/embedder.h"
#include "vig/pipeline/open_model.h"
#include "vig/pipeline/runner.h"

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

// The second and the last cannot be decoded.
ImageFiles some_images() {
  std::vector<std::string> files;
  for (const char* name : {"photos/cat_chelsea.png", "broken/zero_byte.png",
                           "photos/kitten_gray.jpg", "photos/flower.webp", "broken/soi_eoi.jpg"}) {
    files.push_back(image_file(name));
  }
  return ImageFiles(files);
}
constexpr bool kGood[] = {true, false, true, true, false};

TEST(Classifier, ABrokenImageLeavesTheOthersAlone) {
  const ImageFiles images = some_images();
  for (const int threads : {1, 3}) {
    for (const int batch : {1, 2, 5, 8}) {
      const Classifier classifier(miniature(), {.threads = threads, .batch = batch});
      const auto results = classifier.classify(images, 3);
      ASSERT_EQ(results.size(), images.size());
      for (size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(results[i].name, images.path(i));
        EXPECT_EQ(results[i].error.empty(), kGood[i]) << results[i].error;
        EXPECT_EQ(results[i].prediction.scores.size(), kGood[i] ? 3u : 0u);
        if (kGood[i]) continue;
        EXPECT_EQ(results[i].error, error_of([&] { images.load(i); }));
      }
      EXPECT_EQ(results[0].prediction.scores[0].name.size(), 1u);
    }
  }
}

TEST(Classifier, HandsOutBatchesUntilToldToStop) {
  const Classifier classifier(miniature(), {.threads = 2, .batch = 2});
  std::vector<size_t> sizes;
  const auto stop_after = [&](size_t batches) -> HandleResults<Classification> {
    return [&sizes, batches](std::span<const ClassifiedImage> batch) {
      sizes.push_back(batch.size());
      return sizes.size() < batches;
    };
  };
  classifier.classify(some_images(), 1, stop_after(2));
  EXPECT_EQ(sizes, (std::vector<size_t>{2, 2}));
  sizes.clear();
  classifier.classify(some_images(), 1, stop_after(9));
  EXPECT_EQ(sizes, (std::vector<size_t>{2, 2, 1}));
  EXPECT_TRUE(classifier.classify(ImageFiles({}), 1).empty());
}

// What an image is preprocessed to does not pass through anything that rounds.
TEST(Runner, TheNetworkSeesTheRecipesBits) {
  const ImageFiles images = some_images();
  for (const int size : {0, 100}) {
    const Runner runner(miniature(), {.threads = 2, .batch = 2, .size = size});
    const Recipe recipe = runner.recipe();
    const auto floats = static_cast<size_t>(recipe.crop) * static_cast<size_t>(recipe.crop) * 3;
    Runner::Pass pass;
    size_t seen = 0;
    pass.on_values = [&](size_t sample, const Session& session, int image) {
      std::vector<float> expected(floats);
      preprocess(*images.load(sample).image, recipe, expected.data());
      const float* const input = session.value(0, image);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), input)) << sample;
      ++seen;
    };
    EXPECT_TRUE(runner.run(images, pass));
    EXPECT_EQ(seen, 3u);
  }
}

TEST(Classifier, ImagesInMemoryAreAsGoodAsFiles) {
  const Classifier classifier(miniature(), {.threads = 1, .batch = 3});
  const ImageFiles files = some_images();
  std::vector<std::string> contents;
  std::vector<ImageBytes::File> in_memory;
  for (size_t i = 0; i < files.size(); ++i) contents.push_back(read_file(files.path(i)));
  for (size_t i = 0; i < files.size(); ++i) {
    in_memory.push_back(
        {"image " + std::to_string(i),
         {reinterpret_cast<const uint8_t*>(contents[i].data()), contents[i].size()}});
  }
  const auto expected = classifier.classify(files, 10);
  const auto results = classifier.classify(ImageBytes(in_memory), 10);
  ASSERT_EQ(results.size(), expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].name, in_memory[i].name);
    EXPECT_EQ(results[i].prediction.scores, expected[i].prediction.scores);
    EXPECT_EQ(results[i].error.starts_with(in_memory[i].name + ": "), !kGood[i]);
  }
}

// One model behind several callers, each with sizes of its own.
TEST(Classifier, ServesSeveralThreadsAtOnce) {
  constexpr int kSizes[] = {0, 48, 100, 64};
  const ImageFiles images = some_images();
  std::vector<std::vector<ClassifiedImage>> expected;
  for (const int size : kSizes) {
    expected.push_back(Classifier(miniature(), {.threads = 1, .size = size}).classify(images, 10));
  }
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1} << 40}) {
    const Classifier classifier(miniature(), {.threads = 2, .batch = 2, .activation_bytes = bytes});
    std::vector<std::vector<ClassifiedImage>> results(std::size(kSizes));
    std::vector<std::thread> callers;
    for (size_t i = 0; i < results.size(); ++i) {
      callers.emplace_back([&, i] {
        for (int round = 0; round < 3; ++round) {
          results[i] = classifier.classify(images, 10, kSizes[i]);
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_EQ(results[i].size(), expected[i].size());
      for (size_t p = 0; p < results[i].size(); ++p) {
        EXPECT_EQ(results[i][p].prediction.scores, expected[i][p].prediction.scores);
      }
    }
  }
}

// The threads belong to another caller until this one is done, or would wait for ever.
TEST(Classifier, DoesNotWaitForThreadsOthersUse) {
  const auto pool = std::make_shared<ThreadPool>(2);
  const Classifier classifier(miniature(), {.threads = 2, .batch = 2, .thread_pool = pool});
  const auto expected = classifier.classify(some_images(), 10);
  std::binary_semaphore taken(0), done(0);
  bool was_done = false;
  std::thread other([&] {
    const ThreadPool::Share share(*pool);
    pool->run([&](int worker) {
      if (worker != 0) return;
      taken.release();
      was_done = done.try_acquire_for(std::chrono::minutes(1));
    });
  });
  taken.acquire();
  const auto results = classifier.classify(some_images(), 10);
  done.release();
  other.join();
  EXPECT_TRUE(was_done);
  ASSERT_EQ(results.size(), expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].prediction.scores, expected[i].prediction.scores);
  }
}

TEST(Classifier, AloneOrTogetherTheResultIsTheSame) {
  Classifier one(miniature(), {.threads = 1, .batch = 1});
  Classifier many(miniature(), {.threads = 2, .batch = 8});
  for (const int size : {0, 48, 100}) {
    const auto a = one.classify(some_images(), 10, size);
    const auto b = many.classify(some_images(), 10, size);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].prediction.scores, b[i].prediction.scores);
  }
}

TEST(Classifier, NeedsWeights) {
  ModelRequest request;
  request.model = "test_vig";
  EXPECT_THROW(Classifier(find_source(request)), Error);
}

TEST(Classifier, RefusesSizesThatAreNone) {
  const Classifier classifier(miniature());
  EXPECT_THROW(classifier.classify(some_images(), 1, -1), Error);
  EXPECT_THROW(classifier.classify(some_images(), 1, kMaxInputSide + 1), Error);
  EXPECT_THROW(Classifier(miniature(), {.size = kMaxInputSide + 1}), Error);
  EXPECT_THROW(Classifier(miniature(), {.batch = -1}), Error);
}

TEST(OpenModel, BatchesOfASessionAreBounded) {
  const OpenModel model(miniature());
  EXPECT_NO_THROW(model.session(16, 16, 4096));
  for (const int batch : {0, 4097}) {
    ErrorCode code;
    const std::string sentence = error_of([&] { model.session(16, 16, batch); }, &code);
    EXPECT_NE(sentence.find("expected 1 to 4096"), std::string::npos) << sentence;
    EXPECT_EQ(code, ErrorCode::kUsage);
  }
}

TEST(Embedder, PooledIsTheMeanOfTheMap) {
  const Embedder embedder(miniature(), {.threads = 1, .batch = 4, .size = 100});
  const ImageFiles images = some_images();
  const auto pooled = embedder.embed(images, Embedder::Kind::kPooled);
  const auto maps = embedder.embed(images, Embedder::Kind::kMap);
  ASSERT_EQ(pooled.size(), images.size());
  ASSERT_EQ(maps.size(), images.size());
  for (size_t i = 0; i < images.size(); ++i) {
    EXPECT_EQ(pooled[i].error.empty(), kGood[i]) << pooled[i].error;
    if (!kGood[i]) continue;
    EXPECT_EQ(pooled[i].prediction.shape(), std::vector{64});
    EXPECT_EQ(maps[i].prediction.shape(), (std::vector{6, 6, 64}));
    const Embedding& vector = pooled[i].prediction;
    const Embedding& map = maps[i].prediction;
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

// Fresh weights but for one tensor, which is not finite.
ModelSource broken_miniature(const TempDir& folder, const std::string& tensor) {
  const std::string file = (folder / "nan.safetensors").string();
  const ModelSpec spec = find_model("test_vig");
  const Graph graph = build_graph(spec, 64, 64);
  const auto weights = random_weights(graph.params, 1);
  std::vector<float> broken(1 << 16, NAN);
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < weights->size(); ++i) {
    const ParamSpec& param = weights->spec(i);
    const float* data = param.name == tensor ? broken.data() : weights->data(i);
    tensors.push_back({param.name, {data, DType::kF32, param.shape}});
  }
  write_safetensors(file, tensors, {{"vig.arch", "test_vig"}});
  ModelRequest request;
  request.model = file;
  return find_source(request);
}

TEST(Runner, NonFiniteOutputsAreAnErrorOfTheImage) {
  const TempDir folder;
  const auto expect_errors = [](const auto& results) {
    ASSERT_EQ(results.size(), 5u);
    for (const size_t i : {0, 2, 3}) {
      EXPECT_TRUE(results[i].error.starts_with(results[i].name + ": ")) << results[i].error;
      EXPECT_NE(results[i].error.find("finite"), std::string::npos) << results[i].error;
    }
  };
  const OpenModel head(broken_miniature(folder, "head.bias"));
  expect_errors(head.classify(some_images(), 1));
  EXPECT_EQ(head.embed(some_images(), Embedder::Kind::kPooled)[0].error, "");
  const OpenModel all(broken_miniature(folder, "pos_embed"));
  expect_errors(all.classify(some_images(), 1));
  expect_errors(all.embed(some_images(), Embedder::Kind::kPooled));
  expect_errors(all.embed(some_images(), Embedder::Kind::kMap));
  expect_errors(all.evidence(some_images(), {}));
  expect_errors(all.attention(some_images(), {0.5, 0.5}));
}

// The speed of a wrong result does not matter.
TEST(Bench, NonFiniteOutputsAreNotTimed) {
  const TempDir folder;
  const Bench bench(broken_miniature(folder, "head.bias"));
  BenchOptions options;
  options.seconds = 0.01;
  const std::string sentence = error_of([&] { bench.measure({64, 64, 1, 1}, options); });
  EXPECT_NE(sentence.find("nan.safetensors are not finite"), std::string::npos) << sentence;
}

TEST(Runner, DefaultBatchShrinksWithTheSize) {
  EXPECT_EQ(default_batch(64), 8);
  EXPECT_EQ(default_batch(224), 8);
  EXPECT_EQ(default_batch(448), 2);
  EXPECT_EQ(default_batch(4096), 1);
}

}  // namespace
}  // namespace vig::test
