#include "vig/pipeline/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "pipeline/fixtures.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/run_program.h"
#include "vig/pipeline/classifier.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

TEST(MatchClasses, ByNameInAnyOrder) {
  const Names outputs = {"dog", "cat", "ape"};
  EXPECT_EQ(match_classes(Names{"ape", "cat", "dog"}, 3, outputs), (std::vector{2, 1, 0}));
  EXPECT_EQ(match_classes(Names{"cat"}, 3, outputs), (std::vector{1}));
}

TEST(MatchClasses, SaysWhichNamesDoNotFit) {
  const Names outputs = {"dog", "cat", "ape"};
  expect_error(ErrorCode::kInput, {"classes cats, eel", "not there: dog, cat"}, [&] {
    match_classes(Names{"ape", "cats", "eel"}, 3, outputs);
  });
  expect_error(ErrorCode::kInput, {"eel", "none"}, [&] {
    match_classes(Names{"ape", "cat", "dog", "eel"}, 3, outputs);
  });
  Names many;
  for (int i = 0; i < 5000; ++i) many.push_back("x" + std::to_string(i));
  expect_error(ErrorCode::kInput, {"x11 and 4988 more of the data"},
               [&] { match_classes(many, 3, outputs); });
}

TEST(MatchClasses, OneNameForTwoOutputsIsAmbiguous) {
  const Names outputs = {"crane", "dog", "crane"};
  EXPECT_EQ(match_classes(Names{"dog"}, 3, outputs), (std::vector{1}));
  expect_error(ErrorCode::kInput, {"crane", "0 or 2"}, [&] {
    match_classes(Names{"crane", "dog"}, 3, outputs);
  });
}

TEST(MatchClasses, WithoutNamesTheOrderCounts) {
  EXPECT_EQ(match_classes(Names{"x", "y"}, 2, {}), (std::vector{0, 1}));
  expect_error(ErrorCode::kInput, {"2 classes", "3 classes"}, [] {
    match_classes(Names{"x", "y"}, 3, {});
  });
}

const std::vector<std::pair<std::string, std::string>> kImages = {
    {"a/1.png", "cat_chelsea.png"},      {"a/2.jpg", "kitten_gray.jpg"},
    {"c/1.webp", "flower.webp"},         {"c/deep/er/2.jpg", "pixel_1x1.jpg"},
    {"h/1.png", "rocket_gray_trns.png"}, {"h/2.jpg", "cat_progressive_320x240.jpg"},
    {"h/3.png", "hopper_1bit.png"}};

class Evaluate : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto& [path, image] : kImages) {
      fs::create_directories((folder_ / "data" / path).parent_path());
      fs::copy_file(image_file("photos/" + image), folder_ / "data" / path);
    }
    ModelRequest request;
    request.model = golden("vig-mini-silu.pth");
    request.arch = "test_vig";
    source_ = find_source(request);
    for (char name = 'j'; name >= 'a'; --name) source_.classes.emplace_back(1, name);
  }

  Dataset open(const std::string& path) const {
    return *open_dataset(path, {.archive = {}, .decode = {}, .cache_bytes = 0}).whole;
  }
  Dataset data() const { return open((folder_ / "data").string()); }

  // By single results.
  ClassificationMetrics expected(int size = 0) const {
    ClassificationMetrics metrics(10);
    const Classifier classifier(source_, {.threads = 1, .batch = 1, .size = size});
    for (const auto& [path, image] : kImages) {
      const ImageFiles file({(folder_ / "data" / path).string()});
      std::vector<float> logits(10);
      int label = -1;
      const auto results = classifier.classify(file, 10);
      for (const ClassScore& score : results[0].prediction.scores) {
        logits[static_cast<size_t>(score.index)] = score.logit;
        if (score.name[0] == path[0]) label = score.index;
      }
      metrics.add(logits, label);
    }
    return metrics;
  }

  TempDir folder_;
  ModelSource source_;
};

void expect_equal(const ClassificationMetrics& a, ClassificationMetrics b) {
  EXPECT_NEAR(a.loss_sum, b.loss_sum, 1e-9);
  b.loss_sum = a.loss_sum;
  EXPECT_EQ(a, b);
}

TEST_F(Evaluate, CountsThePredictionsOfClassify) {
  for (const int size : {0, 96}) {
    const Runner runner(source_, {.threads = 1, .batch = 3, .size = size});
    const Evaluation result = evaluate(runner, data());
    expect_equal(result.metrics, expected(size));
    EXPECT_EQ(result.metrics.count, 7);
    EXPECT_EQ(result.skipped, 0);
    EXPECT_TRUE(result.complete);
    EXPECT_GT(result.seconds, 0);
  }
}

TEST_F(Evaluate, HandsOutEveryPrediction) {
  write_file(folder_ / "data/a/empty.png", "");
  const Dataset images = data();
  const Runner runner(source_, {.threads = 2, .batch = 3});
  ClassificationMetrics counted(10);
  std::vector<int> predictions(images.size()), problems(images.size());
  const Evaluation result =
      evaluate(runner, images,
               {.on_problem = [&](size_t sample, const std::string&) { ++problems[sample]; },
                .on_prediction =
                    [&](size_t sample, int label, std::span<const float> logits) {
                      ++predictions[sample];
                      EXPECT_EQ(source_.classes[static_cast<size_t>(label)],
                                images.classes()[static_cast<size_t>(images.label(sample))]);
                      counted.add(logits, label);
                    }});
  EXPECT_EQ(counted, result.metrics);
  for (size_t i = 0; i < images.size(); ++i) {
    const bool broken = images.name(i) == "a/empty.png";
    EXPECT_EQ(predictions[i], broken ? 0 : 1) << images.name(i);
    EXPECT_EQ(problems[i], broken ? 1 : 0) << images.name(i);
    EXPECT_EQ(images.path(i), (folder_ / "data").string() + "/" + std::string(images.name(i)));
  }
}

TEST_F(Evaluate, DependsOnNothingButImagesAndWeights) {
  const std::string archive = (folder_ / "data.tar").string();
  ASSERT_EQ(run_program({"tar", "-cf", archive, "-C", folder_.path().string(), "data"}).exit_code,
            0);
  const Runner first(source_, {.threads = 1, .batch = 1});
  const Evaluation one = evaluate(first, data());
  for (const std::string& path : {(folder_ / "data").string(), archive}) {
    for (const int batch : {1, 2, 8}) {
      for (const int threads : {1, 3}) {
        const Runner runner(source_, {.threads = threads, .batch = batch});
        const Evaluation other = evaluate(runner, open(path));
        EXPECT_EQ(other.metrics, one.metrics) << path << " " << batch << " " << threads;
      }
    }
  }
}

TEST_F(Evaluate, OutputsWithoutNamesAreCountedInOrder) {
  const Runner runner(source_, {.threads = 1, .batch = 4});
  source_.classes.clear();
  const Runner nameless(source_, {.threads = 1, .batch = 4});
  expect_error(ErrorCode::kInput, {"3 classes", "10 classes"}, [&] { evaluate(nameless, data()); });
  for (const char* name : {"b", "d", "e", "f", "g", "i", "j"}) {
    fs::create_directories(folder_ / "data" / name);
    fs::copy_file(image_file("photos/pixel_1x1.png"), folder_ / "data" / name / "x.png");
  }
  // Named from j down to a before, so the labels are mirrored now.
  const auto named = evaluate(runner, data()).metrics.per_class();
  const auto numbered = evaluate(nameless, data()).metrics.per_class();
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(numbered[i].count, named[9 - i].count);
    EXPECT_EQ(numbered[i].predicted, named[i].predicted);
  }
}

TEST_F(Evaluate, BrokenImagesAreReportedAndLeftOut) {
  const ClassificationMetrics good = expected();
  fs::copy_file(image_file("broken/truncated_header.jpg"), folder_ / "data/c/broken.jpg");
  write_file(folder_ / "data/a/empty.png", "");
  for (const int batch : {1, 3}) {
    const Runner runner(source_, {.threads = 1, .batch = batch});
    std::vector<std::string> problems;
    int64_t seen = 0;
    const Evaluation result = evaluate(
        runner, data(),
        {.on_problem = [&](size_t, const std::string& sentence) { problems.push_back(sentence); },
         .on_batch = [&](int64_t samples) { return (seen += samples) > 0; }});
    expect_equal(result.metrics, good);
    EXPECT_EQ(result.skipped, 2);
    EXPECT_EQ(seen, 9);
    std::sort(problems.begin(), problems.end());
    ASSERT_EQ(problems.size(), 2u);
    EXPECT_NE(problems[0].find("a/empty.png"), std::string::npos) << problems[0];
    EXPECT_NE(problems[1].find("c/broken.jpg"), std::string::npos) << problems[1];
  }
}

TEST_F(Evaluate, NonFiniteOutputsGiveNoResult) {
  const std::string file = (folder_ / "nan.safetensors").string();
  write_bare(find_model("test_vig"), file, {{"vig.arch", "test_vig"}});
  std::string bytes = read_file(file);
  for (size_t i = bytes.size() - 40 * 4; i < bytes.size(); ++i) bytes[i] = '\xff';  // NaN
  write_file(file, bytes);
  ModelRequest request;
  request.model = file;
  ModelSource source = find_source(request);
  source.classes = source_.classes;
  const Runner runner(source, {.threads = 1, .batch = 2});
  std::string problem;
  const Evaluation result =
      evaluate(runner, data(),
               {.on_problem = [&](size_t, const std::string& sentence) { problem = sentence; }});
  EXPECT_EQ(result.skipped, 7);
  EXPECT_EQ(result.metrics.count, 0);
  EXPECT_NE(problem.find("finite"), std::string::npos) << problem;
  EXPECT_NE(problem.find("data/"), std::string::npos) << problem;
}

TEST_F(Evaluate, CanBeStopped) {
  const Runner runner(source_, {.threads = 2, .batch = 2});
  int batches = 0;
  const auto after = [&](int limit) {
    batches = 0;
    return evaluate(runner, data(),
                    {.on_batch = [&batches, limit](int64_t) { return ++batches < limit; }});
  };
  const Evaluation early = after(2);
  EXPECT_FALSE(early.complete);
  EXPECT_EQ(early.metrics.count, 4);
  EXPECT_TRUE(after(4).complete) << "nothing was left to do";
  EXPECT_EQ(batches, 4);
}

}  // namespace
}  // namespace vig::test
