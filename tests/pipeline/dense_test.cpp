// Segmenter and Detector on miniatures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "pipeline/dense_networks.h"
#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/pipeline/classifier.h"
#include "vig/pipeline/detect_trace.h"
#include "vig/pipeline/detector.h"
#include "vig/pipeline/runner.h"
#include "vig/pipeline/save_model.h"
#include "vig/pipeline/segmenter.h"
#include "vig/weights/elements.h"

namespace vig::test {
namespace {

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

int output_channels(const Graph& graph, const std::string& name) {
  return graph.node(graph.find_output(name)).grid.channels;
}

class Dense : public ::testing::Test {
 protected:
  std::string file(const std::string& model) {
    const std::string path = (folder_ / (model + ".safetensors")).string();
    write_dense_network(model, path);
    return path;
  }
  ModelSource source(const std::string& model) { return dense_source(file(model)); }

  TempDir folder_;
};

TEST_F(Dense, SlidingWindowsAgreeWithTheGoldenCase) {
  const std::string path = (folder_ / "slide.safetensors").string();
  write_slide_network(path);
  const SafeTensors golden_case = SafeTensors::open(golden("dense/slide.safetensors"));
  const Segmenter segmenter(dense_source(path), {.threads = 2}, {.probabilities = true});
  for (const std::string i : {"0", "1", "2", "3"}) {
    const TensorView& input = golden_case.find("input/" + i)->view;
    const TensorView& expected = golden_case.find("pred/" + i)->view;
    const auto height = static_cast<int>(input.shape[2]), width = static_cast<int>(input.shape[3]);
    RunImage image;
    image.placement = {static_cast<int>(expected.shape[2]),
                       static_cast<int>(expected.shape[1]),
                       width,
                       height,
                       0,
                       0,
                       width,
                       height};
    const std::vector<float> planes = to_floats(input);
    const auto pixels = static_cast<size_t>(height) * static_cast<size_t>(width);
    std::vector<float> values(planes.size());
    for (size_t p = 0; p < pixels; ++p) {
      for (size_t c = 0; c < 3; ++c) values[p * 3 + c] = planes[c * pixels + p];
    }
    image.write = writer(values);
    const Segmentation found = segmenter.segment(image);
    const std::vector<int64_t> labels = to_int64s(expected);
    const std::vector<float> resized = to_floats(golden_case.find("resized/" + i)->view);
    ASSERT_EQ(found.labels.labels.size(), labels.size());
    double worst = 0;
    for (size_t p = 0; p < labels.size(); ++p) {
      std::vector<double> logits;
      double sum = 0;
      for (size_t k = 0; k < 4; ++k) logits.push_back(resized[k * labels.size() + p]);
      for (const double logit : logits) sum += std::exp(logit);
      for (size_t k = 0; k < 4; ++k) {
        worst =
            std::max(worst, std::abs(found.probabilities[p * 4 + k] - std::exp(logits[k]) / sum));
      }
      std::ranges::sort(logits);
      if (logits[3] - logits[2] > 1e-4) {
        EXPECT_EQ(found.labels.labels[p], labels[p]);
      }
    }
    EXPECT_LT(worst, 1e-5);
  }
}

TEST_F(Dense, ABrokenImageLeavesTheOthersAlone) {
  const ImageFiles images = some_images();
  const ModelSource segment = source("mini_segmenter"), detect = source("mini_detector");
  const auto labels = Segmenter(segment, {.threads = 2}).segment(images);
  const auto objects = Detector(detect, {.threads = 2}).detect(images);
  ASSERT_EQ(labels.size(), images.size());
  ASSERT_EQ(objects.size(), images.size());
  for (size_t i = 0; i < images.size(); ++i) {
    EXPECT_EQ(labels[i].name, images.path(i));
    EXPECT_EQ(labels[i].error.empty(), kGood[i]) << labels[i].error;
    EXPECT_EQ(objects[i].error.empty(), kGood[i]) << objects[i].error;
    if (!kGood[i]) {
      EXPECT_EQ(labels[i].error, error_of([&] { images.load(i); }));
      continue;
    }
    const auto image = images.load(i).image;
    EXPECT_EQ(labels[i].prediction.labels.width, image->width);
    EXPECT_EQ(labels[i].prediction.labels.height, image->height);
    EXPECT_LT(*std::ranges::max_element(labels[i].prediction.labels.labels), 4);
    EXPECT_TRUE(labels[i].prediction.probabilities.empty());
  }
}

TEST_F(Dense, AreTheSameBitsForAnyThreads) {
  const ImageFiles images = some_images();
  const ModelSource segment = source("mini_segmenter"), detect = source("mini_detector");
  const auto labels = Segmenter(segment, {.threads = 1}, {.probabilities = true}).segment(images);
  const auto more = Segmenter(segment, {.threads = 3}, {.probabilities = true}).segment(images);
  const auto objects = Detector(detect, {.threads = 1}).detect(images);
  const auto others = Detector(detect, {.threads = 3}).detect(images);
  for (size_t i = 0; i < images.size(); ++i) {
    EXPECT_EQ(labels[i].prediction.labels, more[i].prediction.labels);
    EXPECT_EQ(labels[i].prediction.probabilities, more[i].prediction.probabilities);
    ASSERT_EQ(objects[i].prediction.size(), others[i].prediction.size());
    for (size_t k = 0; k < objects[i].prediction.size(); ++k) {
      EXPECT_EQ(objects[i].prediction[k].box, others[i].prediction[k].box);
      EXPECT_EQ(objects[i].prediction[k].score, others[i].prediction[k].score);
      EXPECT_EQ(objects[i].prediction[k].mask, others[i].prediction[k].mask);
    }
  }
}

TEST_F(Dense, DetectionsLieInTheImageBestFirst) {
  const ImageFiles images = some_images();
  const Detector detector(source("mini_detector"), {.threads = 2});
  size_t found = 0;
  const auto check = [&](const DetectedImage& result) {
    if (!result.error.empty()) return;
    ASSERT_NE(result.sample.image, nullptr);
    const Image& image = *result.sample.image;
    EXPECT_LE(result.prediction.size(), 100u);
    float last = 1;
    for (const Detection& one : result.prediction) {
      ++found;
      EXPECT_LE(one.score, last);
      EXPECT_GT(one.score, 0.05f);
      last = one.score;
      EXPECT_GE(one.label, 0);
      EXPECT_LT(one.label, 3);
      const float width = static_cast<float>(image.width) + 1e-3f;
      const float height = static_cast<float>(image.height) + 1e-3f;
      EXPECT_TRUE(one.box.x1 >= 0 && one.box.y1 >= 0 && one.box.x2 <= width &&
                  one.box.y2 <= height && one.box.width() > 0 && one.box.height() > 0);
      EXPECT_EQ(one.mask.width, image.width);
      EXPECT_EQ(one.mask.height, image.height);
      uint64_t pixels = 0;
      for (const uint32_t run : one.mask.runs) pixels += run;
      EXPECT_EQ(pixels, uint64_t{1} * one.mask.width * one.mask.height);
    }
  };
  detector.detect(images, [&](std::span<const DetectedImage> batch) {
    std::ranges::for_each(batch, check);
    return true;
  });
  EXPECT_GT(found, 20u);
}

// What is asked for is what stays of all.
TEST_F(Dense, ScoresAndClassesSelectDetections) {
  const ImageFiles one({image_file("photos/cat_chelsea.png")});
  const ModelSource model = source("mini_detector");
  const Detections all = Detector(model).detect(one).at(0).prediction;
  const float middle = all[all.size() / 2].score;
  const Detections good = Detector(model, {}, {.score = middle}).detect(one).at(0).prediction;
  EXPECT_EQ(good.size(),
            std::ranges::count_if(all, [&](const Detection& d) { return d.score > middle; }));
  const Detections first = Detector(model, {}, {.labels = {1}}).detect(one).at(0).prediction;
  EXPECT_EQ(first.size(),
            std::ranges::count_if(all, [](const Detection& d) { return d.label == 1; }));
  EXPECT_LT(first.size(), all.size());
}

// The file says how many anchors a cell has, and which.
TEST_F(Dense, AnchorsAreThoseOfTheFile) {
  const auto detections = [&](const std::string& ratios) {
    ModelRequest request;
    request.model = "test_vig_maskrcnn";
    request.fields = {{"anchor_ratios", ratios}, {"min_score", "0"}};
    const std::string path = (folder_ / "anchors.safetensors").string();
    save_model(find_source(request), path);
    const ModelSource source = dense_source(path);
    EXPECT_EQ(model_fields(source.spec).at("anchor_ratios"), ratios);
    const Detector detector(source, {.threads = 2});
    EXPECT_EQ(output_channels(detector.runner().graph(), "rpn_reg0"),
              4 * static_cast<int>(detector.config().anchor_ratios.size()));
    return detector.detect(ImageFiles({image_file("photos/cat_chelsea.png")})).at(0);
  };
  const DetectedImage two = detections("0.5,2"), others = detections("1,3");
  EXPECT_EQ(two.error, "");
  EXPECT_GT(two.prediction.size(), 0u);
  ASSERT_GT(others.prediction.size(), 0u);
  EXPECT_NE(two.prediction[0].box, others.prediction[0].box);
}

TEST_F(Dense, ATraceSaysHowADetectionWent) {
  const Detector detector(source("mini_detector"), {.threads = 2});
  RunImage image;
  image.placement = {96, 64, 96, 64, 0, 0, 96, 64};
  image.write = writer(std::vector<float>(size_t{96} * 64 * 3, 0.5f));
  DetectTrace trace;
  const Detections found = detector.detect(image, &trace);
  EXPECT_EQ(found.size(), detector.detect(image).size());
  EXPECT_GT(trace.proposals.size(), 0u);
  EXPECT_GT(trace.arena_bytes, 0u);
  std::vector<std::string> stages;
  for (const auto& [stage, seconds] : trace.stages) {
    stages.push_back(stage);
    EXPECT_GT(seconds, 0) << stage;
  }
  EXPECT_EQ(stages, (std::vector<std::string>{kImageStage, "proposals", "box features", kBoxStage,
                                              "boxes", "mask features", kMaskStage, "masks"}));
}

TEST_F(Dense, WindowsAreAsAskedFor) {
  const ImageFiles one({image_file("photos/cat_chelsea.png")});
  const ModelSource model = source("mini_segmenter");
  const auto labels = [&](std::optional<int> window) {
    return Segmenter(model, {}, {.window = window}).segment(one).at(0).prediction.labels;
  };
  const LabelMap own = labels({}), whole = labels(0);
  EXPECT_NE(own, whole);
  EXPECT_EQ(labels(64), own);  // two thirds of 64 are 42
  const auto probabilities = [&](std::optional<int> window) {
    return Segmenter(model, {.size = 200}, {.window = window, .probabilities = true})
        .segment(one)
        .at(0)
        .prediction.probabilities;
  };
  EXPECT_EQ(probabilities(64), probabilities({}));
  EXPECT_EQ(labels(8192), whole);  // larger than the image
  EXPECT_NE(error_of([&] { labels(33); }).find("multiple of 32"), std::string::npos);
}

// A file must not ask for a window at every pixel, or for as many proposals as it likes.
TEST_F(Dense, WorkThatAFileAsksForIsBounded) {
  ModelSource slides = source("mini_segmenter");
  slides.spec.recipe.window_stride = 16;  // a quarter
  EXPECT_NO_THROW(Segmenter{slides});
  slides.spec.recipe.window_stride = 15;
  EXPECT_NE(error_of([&] { Segmenter{slides}; }).find("64 pixels at every 15"), std::string::npos);
  EXPECT_NO_THROW((Segmenter{slides, {}, {.window = 64}})) << "the caller's windows";

  ModelSource large = source("mini_segmenter");
  large.spec.recipe.resize = 4352;
  large.spec.recipe.longest = 8192;
  const ImageFiles one({image_file("photos/cat_chelsea.png")});
  EXPECT_NE(Segmenter{large}.segment(one).at(0).error.find("expected at most 16777216 pixels"),
            std::string::npos);

  ModelRequest request;
  request.model = "test_vig_maskrcnn";
  const std::string path = (folder_ / "detector.safetensors").string();
  save_model(find_source(request), path);
  request.model = path;
  for (const auto& [field, most] : std::map<std::string, int>{
           {"proposals", 10000}, {"proposals_per_level", 10000}, {"detections", 1000}}) {
    request.fields = {{field, std::to_string(most)}};
    EXPECT_NO_THROW(Detector{find_source(request)}) << field;
    request.fields[field] = std::to_string(most + 1);
    EXPECT_NE(error_of([&] { Detector{find_source(request)}; }).find("expected at most 10000"),
              std::string::npos)
        << field;
  }
}

// Tiny windows are many, and each has a cost of its own.
TEST_F(Dense, WindowsThatAFileAsksForAreBounded) {
  ModelRequest request;
  request.model = "test_vig_upernet";
  const std::string path = (folder_ / "segmenter.safetensors").string();
  save_model(find_source(request), path);
  const ImageFiles one({image_file("photos/cat_chelsea.png")});
  ModelSource tiny = dense_source(path);
  tiny.spec.recipe.resize = 512;
  tiny.spec.recipe.longest = 2048;
  tiny.spec.recipe.crop = 32;
  tiny.spec.recipe.window_stride = 8;
  const std::string error = Segmenter{tiny}.segment(one).at(0).error;
  EXPECT_NE(error.find("windows of 32x32 would take the time of"), std::string::npos) << error;
  EXPECT_NE(error.find("give --window N for larger windows"), std::string::npos) << error;
  EXPECT_EQ((Segmenter{tiny, {}, {.window = 256}}).segment(one).at(0).error, "");
  EXPECT_EQ((Segmenter{tiny, {.size = 64}}).segment(one).at(0).error, "");
  // A larger input is the caller's choice, but the number of windows is not.
  ModelSource pixels = source("mini_slide");
  pixels.spec.recipe.crop = pixels.spec.recipe.window_stride = 1;
  const std::string large = (Segmenter{pixels, {.size = 4096}}).segment(one).at(0).error;
  EXPECT_NE(large.find("windows of 1x1 would take the time of"), std::string::npos) << large;
}

TEST_F(Dense, AnySizeRunsUpToTheLargest) {
  const ImageFiles one({image_file("photos/cat_chelsea.png")});
  const Detector detector(source("mini_detector"), {.size = 200});
  EXPECT_EQ(detector.runner().recipe().resize, 200);
  EXPECT_EQ(detector.runner().recipe().longest, 333);
  EXPECT_TRUE(detector.detect(one).at(0).error.empty());
  const Segmenter large(source("mini_segmenter"), {.size = 8000}, {.window = 0});
  EXPECT_NE(large.segment(one).at(0).error.find("expected sides from 1 to 8192 (a fixed limit)"),
            std::string::npos);
}

TEST_F(Dense, HandsOutImagesUntilToldToStop) {
  const Segmenter segmenter(source("mini_segmenter"));
  size_t seen = 0;
  EXPECT_FALSE(segmenter.segment(some_images(),
                                 [&](std::span<const SegmentedImage>) { return ++seen < 2; }));
  EXPECT_EQ(seen, 2u);
  std::vector<size_t> order;
  EXPECT_TRUE(segmenter.segment(some_images(),
                                [&](std::span<const SegmentedImage> batch) {
                                  for (const auto& image : batch) order.push_back(image.index);
                                  return true;
                                },
                                {3, 0, 2}));
  EXPECT_EQ(order, (std::vector<size_t>{3, 0, 2}));
}

TEST_F(Dense, ServesSeveralThreadsAtOnce) {
  const ImageFiles images = some_images();
  const Detector detector(source("mini_detector"), {.threads = 2});
  const auto expected = detector.detect(images);
  std::vector<std::vector<DetectedImage>> found(3);
  {
    std::vector<std::jthread> callers;
    for (auto& one : found) callers.emplace_back([&] { one = detector.detect(images); });
  }
  for (const auto& one : found) {
    ASSERT_EQ(one.size(), expected.size());
    for (size_t i = 0; i < one.size(); ++i) {
      ASSERT_EQ(one[i].prediction.size(), expected[i].prediction.size());
      for (size_t k = 0; k < one[i].prediction.size(); ++k) {
        EXPECT_EQ(one[i].prediction[k].box, expected[i].prediction[k].box);
        EXPECT_EQ(one[i].prediction[k].mask, expected[i].prediction[k].mask);
      }
    }
  }
}

TEST_F(Dense, ModelsOfAnotherTaskNameTheRightCommand) {
  const ModelSource segment = source("mini_segmenter"), detect = source("mini_detector");
  ModelRequest request;
  request.model = golden("vig-mini-silu.pth");
  request.arch = "test_vig";
  const ModelSource classify = find_source(request);
  ErrorCode code = ErrorCode::kInput;
  EXPECT_NE(error_of([&] { Classifier{segment}; }, &code).find("use vig segment"),
            std::string::npos);
  EXPECT_EQ(code, ErrorCode::kUsage);
  EXPECT_NE(error_of([&] { Classifier{detect}; }).find("use vig detect"), std::string::npos);
  EXPECT_NE(error_of([&] { Segmenter{classify}; }).find("use vig classify"), std::string::npos);
  EXPECT_NE(error_of([&] { Segmenter{detect}; }).find("is a detector (mini_detector), not"),
            std::string::npos);
  EXPECT_NE(error_of([&] { Detector{segment}; }).find("use vig segment"), std::string::npos);
}

// Overflow gives no result.
TEST_F(Dense, RefuseWhatIsNotFinite) {
  for (const std::string model : {"mini_segmenter", "mini_detector"}) {
    const std::string path = file(model);
    std::vector<NamedTensor> tensors;
    const SafeTensors read = SafeTensors::open(path);
    std::vector<std::vector<float>> values;
    for (const NamedTensor& tensor : read.tensors()) {
      values.push_back(to_floats(tensor.view));
      if (tensor.name.ends_with(".weight")) {
        for (float& value : values.back()) value *= 1e30f;
      }
    }
    for (size_t i = 0; i < values.size(); ++i) {
      tensors.push_back(
          {read.tensors()[i].name, {values[i].data(), DType::kF32, read.tensors()[i].view.shape}});
    }
    const std::string bad = (folder_ / "bad.safetensors").string();
    write_safetensors(bad, tensors, read.metadata());
    const ImageFiles one({image_file("photos/cat_chelsea.png")});
    const std::string error = model == "mini_segmenter"
                                  ? Segmenter(dense_source(bad)).segment(one).at(0).error
                                  : Detector(dense_source(bad)).detect(one).at(0).error;
    EXPECT_TRUE(error.ends_with("cat_chelsea.png: the network's outputs are not finite")) << error;
  }
}

}  // namespace
}  // namespace vig::test
