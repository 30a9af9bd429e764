// The whole of Segmenter and Detector against the miniatures of the golden cases.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "pipeline/dense_networks.h"
#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/image/preprocess.h"
#include "vig/pipeline/detector.h"
#include "vig/pipeline/runner.h"
#include "vig/pipeline/segmenter.h"
#include "vig/weights/elements.h"
#include "vig/weights/model_info.h"

namespace vig::test {
namespace {

class DenseGoldenCase : public ::testing::Test {
 protected:
  // Skips where the network or its case is not part of the build.
  bool open(const std::string& model, const std::string& name) {
    const std::string path = golden("dense/" + name + ".safetensors");
    const auto& zoo = model_zoo();
    const bool known =
        std::ranges::any_of(zoo, [&](const ModelSpec& spec) { return spec.name == model; });
    if (!known || !std::filesystem::exists(path)) return false;
    case_.emplace(SafeTensors::open(path));
    return true;
  }
  // The parameters of the case as a weight file.
  ModelSource source(const std::string& model, std::map<std::string, std::string> fields) {
    ModelInfo info;
    info.arch = model;
    info.overrides = std::move(fields);
    info.recipe = find_model(model).recipe;
    std::vector<NamedTensor> tensors;
    const std::string prefix = "param/";
    for (const NamedTensor& tensor : case_->tensors()) {
      if (!tensor.name.starts_with(prefix)) continue;
      tensors.push_back({tensor.name.substr(prefix.size()), tensor.view});
    }
    const std::string path = (folder_ / "model.safetensors").string();
    write_safetensors(path, tensors, encode_model_info(info));
    ModelRequest request;
    request.model = path;
    return find_source(request);
  }
  const TensorView& view(const std::string& name) const { return case_->find(name)->view; }
  std::vector<float> floats(const std::string& name) const { return to_floats(view(name)); }

  // Image `index` of "input" [images, 3, height, width], channels last.
  std::vector<float> input(size_t index) const {
    const std::vector<float> planes = floats("input");
    const Shape& shape = view("input").shape;
    const auto pixels = static_cast<size_t>(shape[2] * shape[3]);
    std::vector<float> result(pixels * 3);
    for (size_t p = 0; p < pixels; ++p) {
      for (size_t c = 0; c < 3; ++c) result[p * 3 + c] = planes[(index * 3 + c) * pixels + p];
    }
    return result;
  }

  TempDir folder_;
  std::optional<SafeTensors> case_;
};

TEST_F(DenseGoldenCase, UperNetLabelsPixels) {
  if (!open("test_vig_upernet", "upernet-mini")) GTEST_SKIP() << "no such network";
  RunImage image;
  image.placement = {77, 50, 96, 64, 0, 0, 96, 64};
  image.write = writer(input(0));
  const Segmenter segmenter(source("test_vig_upernet", {}));
  const Segmentation found = segmenter.segment(image);
  const std::vector<int64_t> expected = to_int64s(view("pred"));
  const std::vector<float> margin = floats("margin");
  ASSERT_EQ(found.labels.labels.size(), expected.size());
  size_t compared = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (margin[i] <= 1e-4f) continue;
    ++compared;
    EXPECT_EQ(found.labels.labels[i], expected[i]) << i;
  }
  EXPECT_GT(compared, expected.size() * 9 / 10);
}

TEST_F(DenseGoldenCase, MaskRcnnFindsObjects) {
  if (!open("test_vig_maskrcnn", "maskrcnn-mini")) GTEST_SKIP() << "no such network";
  const Detector detector(
      source("test_vig_maskrcnn",
             {{"proposals_per_level", "60"}, {"proposals", "30"}, {"detections", "12"}}));
  const Placement placements[] = {{57, 38, 91, 61, 0, 0, 96, 64}, {52, 40, 83, 64, 0, 0, 96, 64}};
  double worst_box = 0, worst_score = 0;
  for (size_t i = 0; i < 2; ++i) {
    RunImage image;
    image.placement = placements[i];
    image.write = writer(input(i));
    const Detections found = detector.detect(image);
    const std::string number = std::to_string(i);
    const std::vector<float> boxes = floats("dets/" + number);
    const std::vector<int64_t> labels = to_int64s(view("labels/" + number));
    const std::vector<int64_t> masks = to_int64s(view("det_masks/" + number));
    ASSERT_EQ(found.size(), labels.size());
    for (size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(found[k].label, labels[k]) << i << " " << k;
      const float* box = boxes.data() + 5 * k;
      const float sides[] = {found[k].box.x1, found[k].box.y1, found[k].box.x2, found[k].box.y2};
      for (size_t s = 0; s < 4; ++s) {
        worst_box = std::max<double>(worst_box, std::abs(sides[s] - box[s]));
      }
      worst_score = std::max<double>(worst_score, std::abs(found[k].score - box[4]));
      const std::vector<uint8_t> pixels = decode_mask(found[k].mask);
      size_t different = 0;
      for (size_t p = 0; p < pixels.size(); ++p) {
        different += pixels[p] != masks[k * pixels.size() + p];
      }
      // Probabilities of a half may be rounded up or down.
      EXPECT_LE(different, pixels.size() / 500) << i << " " << k;
    }
  }
  EXPECT_LT(worst_box, 1e-2);
  EXPECT_LT(worst_score, 1e-4);
  RecordProperty("worst_box", std::to_string(worst_box));
  RecordProperty("worst_score", std::to_string(worst_score));
}

}  // namespace
}  // namespace vig::test
