// Images by windows at their own resolution, read by regions.
#include "vig/pipeline/region_windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "pipeline/dense_networks.h"
#include "pipeline/fixtures.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/tree.h"
#include "vig/image/encode_png.h"
#include "vig/pipeline/segmenter.h"
#include "vig/pipeline/window_detector.h"
#include "vig/tasks/label_pixels.h"

namespace vig::test {
namespace {

// Smooth, so that labels form areas, and nowhere the same.
Image landscape(int width, int height) {
  Image image(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const double wave = std::sin(0.11 * x + 0.6 * c) + std::cos(0.07 * y - 0.4 * c) +
                            std::sin(0.019 * (x + 2 * y) * (1 + 0.2 * c));
        image.row(y)[x * 3 + c] = static_cast<uint8_t>(128 + 40 * wave);
      }
    }
  }
  return image;
}

Image crop(const Image& image, int x, int y, int width, int height) {
  Image part(width, height);
  for (int i = 0; i < height; ++i) {
    std::copy_n(image.row(y + i) + static_cast<size_t>(x) * 3, part.row_bytes(), part.row(i));
  }
  return part;
}

// Labels of all rows, which come once and in order.
LabelMap streamed(const Segmenter& segmenter, RegionSource& source, const WindowPlan& plan,
                  int first_row = 0) {
  RegionWindows windows(source, plan, segmenter.runner().recipe());
  LabelMap labels(windows.width(), 0);
  int next = first_row;
  SegmentSteps steps;
  steps.on_rows = [&](int first, const Segmentation& rows) {
    EXPECT_EQ(first, next);
    next += rows.labels.height;
    labels.labels.insert(labels.labels.end(), rows.labels.labels.begin(), rows.labels.labels.end());
    labels.height += rows.labels.height;
  };
  EXPECT_TRUE(segmenter.segment(windows, steps, first_row));
  EXPECT_EQ(next, windows.height());
  return labels;
}

// Plainly: each window alone, sums and counts of the whole image.
LabelMap naive(const Segmenter& segmenter, const Image& image, const WindowPlan& plan) {
  const auto classes = static_cast<size_t>(model_classes(segmenter.runner().spec()));
  std::vector<float> sums(image.rgb.size() / 3 * classes, 0.0f);
  std::vector<int> counts(image.rgb.size() / 3, 0);
  for (const InputWindow& window :
       sliding_windows(image.width, image.height, plan.side, plan.stride)) {
    const Image part = crop(image, window.x, window.y, window.width, window.height);
    const Recipe recipe =
        window_recipe(segmenter.runner().recipe(), plan, window.width, window.height);
    const Placement placement = place(recipe, window.width, window.height);
    const SessionPool::Lease session =
        segmenter.runner().sessions().take(placement.input_height, placement.input_width, 1);
    preprocess(part, recipe, session->input(0));
    session->run(1);
    const Grid& grid = session->graph().node(session->graph().find_output("logits")).grid;
    const float* logits = session->output("logits", 0);
    const LogitField field(window.width, window.height, static_cast<int>(classes),
                           {{{0, 0, window.width, window.height},
                             grid.height,
                             grid.width,
                             {logits, logits + grid.elements()}}});
    std::vector<float> row(static_cast<size_t>(window.width) * classes), scratch;
    for (int y = 0; y < window.height; ++y) {
      field.row(y, row, scratch);
      const auto at = static_cast<size_t>(window.y + y) * static_cast<size_t>(image.width) +
                      static_cast<size_t>(window.x);
      for (size_t i = 0; i < row.size(); ++i) sums[at * classes + i] += row[i];
      for (size_t x = 0; x < static_cast<size_t>(window.width); ++x) ++counts[at + x];
    }
  }
  LabelMap labels(image.width, image.height);
  for (size_t p = 0; p < counts.size(); ++p) {
    float* pixel = sums.data() + p * classes;
    for (size_t c = 0; c < classes; ++c) pixel[c] /= static_cast<float>(counts[p]);
    labels.labels[p] = static_cast<uint8_t>(std::max_element(pixel, pixel + classes) - pixel);
  }
  return labels;
}

class WindowedImages : public ::testing::Test {
 protected:
  ModelSource source(const std::string& model) {
    const std::string path = (folder_ / (model + ".safetensors")).string();
    write_dense_network(model, path);
    return dense_source(path);
  }
  static WindowPlan plan_for(const Segmenter& segmenter, const RegionSource& source,
                             const WindowOptions& options) {
    return plan_windows(source, segmenter.runner().recipe(), options, kSegmentOverlap);
  }

  TempDir folder_;
};

TEST_F(WindowedImages, LabelsAreThoseOfEachWindowAlone) {
  const ModelSource model = source("mini_segmenter");
  const Segmenter one(model, {.threads = 1}), three(model, {.threads = 3, .batch = 0});
  const std::vector<std::pair<int, int>> sizes = {{100, 75}, {33, 150}, {96, 64}, {20, 21},
                                                  {150, 10}, {32, 32},  {33, 33}};
  for (const auto& [width, height] : sizes) {
    SCOPED_TRACE(fmt::format("{}x{}", width, height));
    const Image image = landscape(width, height);
    const auto regions = regions_of(image);
    for (const int overlap : {-1, 0, 20}) {
      WindowOptions options;
      options.window = 32;
      options.overlap = overlap;
      const WindowPlan plan = plan_for(one, *regions, options);
      EXPECT_EQ(plan.stride, overlap < 0 ? 21 : 32 - overlap);
      const LabelMap labels = streamed(one, *regions, plan);
      EXPECT_EQ(labels, naive(one, image, plan));
      EXPECT_EQ(labels, streamed(three, *regions, plan));
    }
  }
}

// The present path of an image that fits: windows over the whole input in memory.
TEST_F(WindowedImages, LabelsEqualThoseInMemory) {
  const ModelSource model = source("mini_segmenter");
  const Image image = landscape(192, 96);
  const std::vector<uint8_t> png = encode_png(image);
  const std::string file = (folder_ / "image.png").string();
  write_file(file, {reinterpret_cast<const char*>(png.data()), png.size()});
  // A size at which nothing is resized.
  const Segmenter segmenter(model, {.threads = 2, .size = 96}, {.window = 64});
  const auto whole = segmenter.segment(ImageFiles({file}));
  ASSERT_EQ(whole.at(0).error, "");
  std::set<uint8_t> different(whole[0].prediction.labels.labels.begin(),
                              whole[0].prediction.labels.labels.end());
  EXPECT_GT(different.size(), 1u);
  const auto regions = regions_of(image);
  WindowOptions options;
  options.window = 64;
  EXPECT_EQ(streamed(segmenter, *regions, plan_for(segmenter, *regions, options)),
            whole[0].prediction.labels);
}

TEST_F(WindowedImages, ARegionGivesTheLabelsOfItsCrop) {
  const ModelSource model = source("mini_segmenter");
  const Segmenter segmenter(model, {.threads = 2});
  const Image image = landscape(150, 130);
  const auto regions = regions_of(image);
  const auto part = regions_of(crop(image, 31, 17, 77, 90));
  WindowOptions options;
  options.window = 32;
  const LabelMap expected = streamed(segmenter, *part, plan_for(segmenter, *part, options));
  options.region = ImageRegion{31, 17, 77, 90};
  EXPECT_EQ(streamed(segmenter, *regions, plan_for(segmenter, *regions, options)), expected);
}

TEST_F(WindowedImages, RowsContinueWhereTheyEnded) {
  const ModelSource model = source("mini_segmenter");
  const Segmenter segmenter(model, {.threads = 2});
  const auto regions = regions_of(landscape(70, 200));
  WindowOptions options;
  options.window = 32;
  options.overlap = 20;
  const WindowPlan plan = plan_for(segmenter, *regions, options);
  const LabelMap all = streamed(segmenter, *regions, plan);
  RegionWindows windows(*regions, plan, segmenter.runner().recipe());
  for (size_t i = 1; i < windows.rows().size(); i += 3) {
    const int first = windows.rows()[i].front().y;
    const LabelMap rest = streamed(segmenter, *regions, plan, first);
    EXPECT_TRUE(std::equal(rest.labels.begin(), rest.labels.end(), all.row(first))) << first;
  }
}

TEST_F(WindowedImages, TheWorkEndsWhenAsked) {
  const ModelSource model = source("mini_segmenter");
  const Segmenter segmenter(model, {.threads = 1});
  const auto regions = regions_of(landscape(70, 200));
  WindowOptions options;
  options.window = 32;
  RegionWindows windows(*regions, plan_for(segmenter, *regions, options),
                        segmenter.runner().recipe());
  size_t seen = 0;
  SegmentSteps steps;
  steps.on_rows = [](int, const Segmentation&) {};
  steps.on_windows = [&](size_t count) { return (seen += count) < 5; };
  EXPECT_FALSE(segmenter.segment(windows, steps));
  EXPECT_EQ(seen, 5u);
}

TEST_F(WindowedImages, BackgroundIsSkippedWhereAsked) {
  const ModelSource model = source("mini_segmenter");
  const Segmenter segmenter(model, {.threads = 2});
  Image image = landscape(160, 96);
  for (int y = 0; y < 96; ++y) std::fill_n(image.row(y) + 64 * 3, 96 * 3, uint8_t{250});
  const auto regions = regions_of(image);
  WindowOptions options;
  options.window = 32;
  options.overlap = 0;
  const LabelMap all = streamed(segmenter, *regions, plan_for(segmenter, *regions, options));
  options.skip_background = true;
  const LabelMap some = streamed(segmenter, *regions, plan_for(segmenter, *regions, options));
  for (int y = 0; y < 96; ++y) {
    for (int x = 0; x < 160; ++x) {
      EXPECT_EQ(some.row(y)[x], x < 64 ? all.row(y)[x] : kNoLabel);
    }
  }
  EXPECT_FALSE(is_background(landscape(40, 40)));
  EXPECT_TRUE(is_background(Image(40, 40)));
}

TEST(WindowPlan, NativeResolutionUnlessAskedOtherwise) {
  Recipe recipe;
  recipe.crop = 256;
  recipe.framing = Framing::kStretch;
  recipe.multiple = 32;
  const auto source = regions_of(Image(1000, 700));
  WindowPlan plan = plan_windows(*source, recipe, {}, 0.25);
  EXPECT_EQ(plan.side, 256);
  EXPECT_EQ(plan.stride, 192);
  EXPECT_EQ(plan.scale, 1);
  EXPECT_EQ(plan.region, (ImageRegion{0, 0, 1000, 700}));
  const Placement placement = place(window_recipe(recipe, plan, 256, 256), 256, 256);
  EXPECT_EQ(placement.input_width, 256);
  EXPECT_EQ(placement.scale_x(), 1);
  recipe.window_stride = 200;
  EXPECT_EQ(plan_windows(*source, recipe, {}, 0.25).stride, 200);
  WindowOptions options;
  options.window = 128;
  options.size = 224;
  options.overlap = 28;
  plan = plan_windows(*source, recipe, options, 0.25);
  EXPECT_EQ(plan.stride, 100);
  EXPECT_EQ(plan.scale, 1.75);
  EXPECT_EQ(place(window_recipe(recipe, plan, 128, 128), 128, 128).input_width, 224);
}

TEST(WindowPlan, OptionsThatDoNotFitAreRefused) {
  Recipe recipe;
  recipe.crop = 64;
  const auto source = regions_of(Image(100, 80));
  const auto expect = [&](const WindowOptions& options, std::initializer_list<std::string> words) {
    expect_error(ErrorCode::kUsage, words, [&] { plan_windows(*source, recipe, options, 0.25); });
  };
  expect({.level = 1}, {"--level 1", "expected 0"});
  expect({.mpp = 0.5}, {"--mpp 0.5", "does not say"});
  expect({.mpp = 0.5, .size = 32}, {"--mpp", "--size"});
  expect({.region = ImageRegion{90, 0, 20, 10}}, {"--region 90,0,20,10", "100x80"});
  expect({.region = ImageRegion{0, 0, int64_t{1} << 62, 10}}, {"--region", "100x80"});
  expect({.window = 64, .overlap = 49}, {"--overlap 49", "48"});
  expect({.window = 1 << 20}, {"windows of 1048576"});
}

// Boxes of all windows of the detector, merged.
std::vector<LargeObject> found_by_windows(const Detector& detector, RegionSource& source,
                                          const WindowPlan& plan) {
  RegionWindows windows(source, plan, detector.runner().recipe());
  ObjectMerger merger(windows.width(), windows.height());
  std::vector<LargeObject> all;
  DetectSteps steps;
  steps.on_row = [&](size_t, const std::vector<LargeObject>& finished, int64_t) {
    all.insert(all.end(), finished.begin(), finished.end());
  };
  EXPECT_TRUE(detect_windows(detector, windows, merger, steps));
  return all;
}

TEST_F(WindowedImages, OneWindowGivesTheObjectsOfTheImage) {
  const ModelSource model = source("mini_detector");
  const Detector detector(model, {.threads = 2, .size = 96}, {.score = 0.3f});
  const Image image = landscape(128, 96);
  const std::vector<uint8_t> png = encode_png(image);
  const std::string file = (folder_ / "image.png").string();
  write_file(file, {reinterpret_cast<const char*>(png.data()), png.size()});
  const auto whole = detector.detect(ImageFiles({file}));
  ASSERT_EQ(whole.at(0).error, "");
  ASSERT_GT(whole[0].prediction.size(), 5u);
  const auto regions = regions_of(image);
  WindowOptions options;
  options.window = 160;
  const std::vector<LargeObject> found = found_by_windows(
      detector, *regions, plan_windows(*regions, detector.runner().recipe(), options, 0.25));
  ASSERT_EQ(found.size(), whole[0].prediction.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const Detection& expected = whole[0].prediction[i];
    EXPECT_EQ(found[i].label, expected.label);
    EXPECT_EQ(found[i].score, expected.score);
    EXPECT_EQ(found[i].x1, double{expected.box.x1});
    EXPECT_EQ(found[i].y2, double{expected.box.y2});
    EXPECT_EQ(found[i].mask.width > 0 ? found[i].mask.area() : 0, expected.mask.area());
  }
}

// Crops that are images of their own, and the rule that merges what they show.
TEST_F(WindowedImages, ObjectsAreThoseOfEachWindowAlone) {
  const Detector detector(source("mini_detector"), {.threads = 2, .size = 96}, {.score = 0.3f});
  const Image image = landscape(200, 180);
  const auto regions = regions_of(image);
  WindowOptions options;
  options.window = 96;
  const WindowPlan plan =
      plan_windows(*regions, detector.runner().recipe(), options, kDetectOverlap);
  ObjectMerger merger(image.width, image.height);
  const std::string file = (folder_ / "crop.png").string();
  for (const InputWindow& window :
       sliding_windows(image.width, image.height, plan.side, plan.stride)) {
    const std::vector<uint8_t> png =
        encode_png(crop(image, window.x, window.y, window.width, window.height));
    write_file(file, {reinterpret_cast<const char*>(png.data()), png.size()});
    const auto alone = detector.detect(ImageFiles({file}));
    ASSERT_EQ(alone.at(0).error, "");
    merger.add(window, alone[0].prediction);
  }
  const std::vector<LargeObject> expected = merger.take_above(image.height + 1);
  const std::vector<LargeObject> found = found_by_windows(detector, *regions, plan);
  ASSERT_GT(expected.size(), 5u);
  ASSERT_EQ(found.size(), expected.size());
  // Rows of windows that are finished come first.
  EXPECT_TRUE(std::ranges::is_permutation(found, expected));
}

TEST_F(WindowedImages, ObjectsAreTheSameForAnyThreads) {
  const ModelSource model = source("mini_detector");
  const auto regions = regions_of(landscape(200, 180));
  std::vector<std::vector<LargeObject>> results;
  for (const int threads : {1, 3}) {
    const Detector detector(model, {.threads = threads}, {.score = 0.3f});
    WindowOptions options;
    options.window = 96;
    results.push_back(found_by_windows(
        detector, *regions, plan_windows(*regions, detector.runner().recipe(), options, 0.25)));
  }
  EXPECT_GT(results[0].size(), 5u);
  EXPECT_EQ(results[0], results[1]);
}

double box_overlap(const LargeObject& a, const LargeObject& b) {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (width <= 0 || height <= 0) return 0;
  const double both = width * height;
  return both / ((a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) - both);
}

// Intersection over union of the masks.
double mask_overlap(const LargeObject& a, const LargeObject& b) {
  const auto left = std::max(a.mask_x, b.mask_x), top = std::max(a.mask_y, b.mask_y);
  const auto width = std::min(a.mask_x + a.mask.width, b.mask_x + b.mask.width) - left;
  const auto height = std::min(a.mask_y + a.mask.height, b.mask_y + b.mask.height) - top;
  if (width <= 0 || height <= 0) return 0;
  const auto shown = [&](const LargeObject& one) {
    return decode_mask(one.mask, static_cast<int>(left - one.mask_x),
                       static_cast<int>(top - one.mask_y), static_cast<int>(width),
                       static_cast<int>(height));
  };
  const std::vector<uint8_t> in_a = shown(a), in_b = shown(b);
  int64_t both = 0;
  for (size_t i = 0; i < in_a.size(); ++i) both += in_a[i] != 0 && in_b[i] != 0;
  return static_cast<double>(both) / static_cast<double>(a.mask.area() + b.mask.area() - both);
}

// Nuclei that the detector is sure of and `others` lack.
int64_t missing(const std::vector<LargeObject>& objects, const std::vector<LargeObject>& others) {
  return std::ranges::count_if(objects, [&](const LargeObject& one) {
    return one.score > 0.5f && std::ranges::none_of(others, [&](const LargeObject& other) {
             return mask_overlap(one, other) >= 0.5;
           });
  });
}

// The whole image, and windows of it at the same scale. No limit of objects is reached in the
// image; in windows that of the model changes nothing.
TEST(WindowedNuclei, AreThoseOfTheWholeImageEachOnce) {
  const std::filesystem::path tree = kSourceDir;
  const std::string file = (tree / "examples/nuclei.png").string();
  ModelRequest request;
  request.model = (tree / "models/detect.safetensors").string();
  const Detector own(find_source(request), {.threads = 2}, {.score = 0.3f});
  request.fields = {{"detections", "500"}, {"proposals", "1000"}, {"proposals_per_level", "1000"}};
  const Detector larger(find_source(request), {.threads = 2}, {.score = 0.3f});
  const auto whole = larger.detect(ImageFiles({file}));
  std::vector<LargeObject> expected;
  for (const Detection& one : whole.at(0).prediction) {
    expected.push_back(
        {one.box.x1, one.box.y1, one.box.x2, one.box.y2, one.label, one.score, 0, 0, one.mask});
  }
  ASSERT_GT(expected.size(), 60u);
  ASSERT_LT(expected.size(), 500u);
  const auto regions = open_regions(file);
  for (const Detector* detector : {&own, &larger}) {
    for (const int window : {128, 160}) {
      SCOPED_TRACE(
          fmt::format("{} in windows of {}", detector == &own ? "own limits" : "larger", window));
      WindowOptions options;
      options.window = window;
      options.size = window * 7 / 4;  // the whole image is 448 pixels instead of 256
      const WindowPlan plan =
          plan_windows(*regions, detector->runner().recipe(), options, kDetectOverlap);
      const std::vector<LargeObject> found = found_by_windows(*detector, *regions, plan);
      EXPECT_LE(missing(expected, found), 1);
      EXPECT_LE(missing(found, expected), 1);
      for (size_t i = 0; i < found.size(); ++i) {
        // Masks of the whole image overlap more, too: the network compares boxes.
        for (size_t k = 0; k < i; ++k) EXPECT_LT(box_overlap(found[i], found[k]), 0.5) << i;
      }
    }
  }
}

}  // namespace
}  // namespace vig::test
