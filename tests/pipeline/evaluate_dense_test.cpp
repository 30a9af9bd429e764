// mIoU and average precision of miniatures on data sets on disk.
#include "vig/pipeline/evaluate_dense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "pipeline/dense_networks.h"
#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/image/encode_png.h"
#include "vig/image/label_file.h"

namespace vig::test {
namespace {

// Stripes of colours that differ from image to image.
Image striped_image(int width, int height, int seed) {
  Image image(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.row(y)[3 * x + c] = static_cast<uint8_t>((x / 9 + 2 * (y / 7) + seed * (c + 1)) * 37);
      }
    }
  }
  return image;
}

void write_png(const std::filesystem::path& path, const std::vector<uint8_t>& bytes) {
  write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

class EvaluateDense : public ::testing::Test {
 protected:
  // Three images; the second cannot be read.
  void write_images(const std::string& folder) {
    for (int i = 0; i < 3; ++i) {
      const auto path = folder_ / (folder + "/" + std::to_string(i) + ".png");
      write_png(path, encode_png(striped_image(60 + 10 * i, 50, i)));
      if (i == 1) write_file(path, read_file(path).substr(0, 60));
    }
  }
  ModelSource model(const std::string& name, const std::vector<std::string>& classes) {
    const std::string path = (folder_ / (name + ".safetensors")).string();
    write_dense_network(name, path, classes);
    return dense_source(path);
  }

  TempDir folder_;
};

TEST_F(EvaluateDense, SegmentationIsCountedByNames) {
  write_images("data/images");
  const Segmenter segmenter(model("mini_segmenter", {"ant", "bee", "cat", "dog"}));
  // The truth is what the network says, but for the order of the classes and a column without one.
  write_file(folder_ / "data/classes.txt", "dog\ncat\nbee\nant\n");
  const ImageFiles files(
      {(folder_ / "data/images/0.png").string(), (folder_ / "data/images/2.png").string()});
  const auto results = segmenter.segment(files);
  for (size_t i = 0; i < 2; ++i) {
    LabelMap truth = results[i].prediction.labels;
    for (uint8_t& label : truth.labels) label = static_cast<uint8_t>(3 - label);
    for (int y = 0; y < truth.height; ++y) truth.row(y)[0] = kNoLabel;
    if (i == 1) truth.row(3)[5] = static_cast<uint8_t>(3 - truth.row(3)[5]);  // one wrong pixel
    write_png(folder_ / ("data/labels/" + std::to_string(2 * i) + ".png"),
              encode_label_map(truth, {}));
  }
  write_png(folder_ / "data/labels/1.png", encode_label_map(LabelMap(70, 50, 0), {}));

  const auto data = open_label_pairs((folder_ / "data").string()).whole;
  ASSERT_TRUE(data.has_value());
  std::vector<std::string> problems;
  std::map<size_t, double> scores;
  DenseEvaluateOptions options;
  options.on_problem = [&](size_t, const std::string& sentence) { problems.push_back(sentence); };
  options.on_score = [&](size_t sample, double score) { scores[sample] = score; };
  const SegmentationEvaluation result = evaluate(segmenter, *data, options);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.images, 2);
  EXPECT_EQ(result.skipped, 1);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("1.png"), std::string::npos);
  const int64_t pixels = 59 * 50 + 79 * 50;
  EXPECT_EQ(result.metrics.pixels(), pixels);
  EXPECT_DOUBLE_EQ(result.metrics.pixel_accuracy(), static_cast<double>(pixels - 1) / pixels);
  EXPECT_DOUBLE_EQ(scores.at(0), 1);
  EXPECT_LT(scores.at(2), 1);

  options.on_done = [] { return false; };
  EXPECT_FALSE(evaluate(segmenter, *data, options).complete);
}

TEST_F(EvaluateDense, ClassesThatDoNotMatchAreRefused) {
  write_images("data/images");
  write_file(folder_ / "data/classes.txt", "ant\nowl\n");
  for (const char* name : {"0", "1", "2"}) {
    write_png(folder_ / ("data/labels/" + std::string(name) + ".png"),
              encode_label_map(LabelMap(60, 50, 0), {}));
  }
  const Segmenter segmenter(model("mini_segmenter", {"ant", "bee", "cat", "dog"}));
  const auto data = open_label_pairs((folder_ / "data").string()).whole;
  EXPECT_NE(error_of([&] { evaluate(segmenter, *data); }).find("owl"), std::string::npos);
}

// The truth is what the detector says of some images: all of it is found, best first.
TEST_F(EvaluateDense, DetectionOfItsOwnResultsIsPerfect) {
  write_images("data");
  const Detector detector(model("mini_detector", {"ant", "bee", "cat"}), {}, {.score = 0.3f});
  const ImageFiles files({(folder_ / "data/0.png").string(), (folder_ / "data/2.png").string()});
  const auto results = detector.detect(files);
  nlohmann::json coco = {{"images", nlohmann::json::array()},
                         {"annotations", nlohmann::json::array()},
                         {"categories", nlohmann::json::array()}};
  const std::vector<std::string> names = {"cat", "ant", "bee"};  // ids 5, 6, 7: another order
  for (size_t i = 0; i < 3; ++i) {
    coco["categories"].push_back({{"id", i + 5}, {"name", names[i]}});
    coco["images"].push_back({{"id", i + 1},
                              {"file_name", std::to_string(i) + ".png"},
                              {"width", 60 + 10 * i},
                              {"height", 50}});
  }
  int64_t id = 0;
  std::map<int, int64_t> objects;
  for (size_t i = 0; i < 2; ++i) {
    for (const Detection& one : results[i].prediction) {
      const Box& box = one.box;
      nlohmann::json shape = {{"size", {one.mask.height, one.mask.width}},
                              {"counts", mask_text(one.mask)}};
      if (one.mask.area() == 0) {  // an annotation has some area
        shape = {{box.x1, box.y1, box.x2, box.y1, box.x2, box.y2, box.x1, box.y2}};
      }
      const int category = one.label == 2 ? 5 : one.label == 0 ? 6 : 7;
      ++objects[one.label];
      coco["annotations"].push_back({{"id", ++id},
                                     {"image_id", 2 * i + 1},
                                     {"category_id", category},
                                     {"bbox", {box.x1, box.y1, box.width(), box.height()}},
                                     {"area", box.area()},
                                     {"iscrowd", 0},
                                     {"segmentation", shape}});
    }
  }
  ASSERT_GT(id, 3);
  write_file(folder_ / "data/all.json", coco.dump());
  const auto data = open_coco((folder_ / "data/all.json").string()).whole;
  ASSERT_TRUE(data.has_value());
  const DetectionEvaluation result = evaluate(detector, *data);
  EXPECT_EQ(result.images, 2);
  EXPECT_EQ(result.skipped, 1);
  EXPECT_TRUE(result.has_masks);
  for (const auto& [label, count] : objects) {
    EXPECT_EQ(result.boxes.positives(label), count) << label;
  }
  EXPECT_DOUBLE_EQ(result.boxes.figures().ap, 1);
  EXPECT_GT(result.masks.figures().ap, 0);
  EXPECT_LE(result.masks.figures().ap, 1);
}

// All that COCO's rules ask of an object.
TEST(MatchedObjects, KeepWhatTheAnnotationsSay) {
  Objects truth;
  truth.objects.push_back({{1, 2, 4, 8}, 1, true, 7.5, {3, 2, {1, 2, 3}}});
  truth.objects.push_back({{0, 0, 2, 2}, 0, false, 4, {}});
  const std::vector<CocoTruth> found = matched_objects(truth, {5, 3});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].label, 3);
  EXPECT_TRUE(found[0].crowd);
  EXPECT_EQ(found[0].area, 7.5);
  EXPECT_EQ(found[0].mask, truth.objects[0].mask);
  EXPECT_EQ(found[0].box.x, 1);
  EXPECT_EQ(found[0].box.y, 2);
  EXPECT_EQ(found[0].box.width, 3);
  EXPECT_EQ(found[0].box.height, 6);
  EXPECT_EQ(found[1].label, 5);
  EXPECT_FALSE(found[1].crowd);
  EXPECT_EQ(found[1].mask.width, 0);
}

// Masks count only where all objects of all images have them.
TEST_F(EvaluateDense, BoxesWithoutMasksLeaveMasksOut) {
  write_images("data");
  const Detector detector(model("mini_detector", {"ant", "bee", "cat"}));
  const auto has_masks = [&](bool first, bool second) {
    nlohmann::json coco;
    coco["categories"].push_back({{"id", 1}, {"name", "bee"}});
    for (const int i : {0, 2}) {
      coco["images"].push_back({{"id", i + 1},
                                {"file_name", std::to_string(i) + ".png"},
                                {"width", 60 + 10 * i},
                                {"height", 50}});
      nlohmann::json object = {{"id", i + 1}, {"image_id", i + 1}, {"category_id", 1},
                               {"area", 400}, {"iscrowd", 0},      {"bbox", {10, 10, 20, 20}}};
      if (i == 0 ? first : second) {
        object["segmentation"].push_back({10, 10, 30, 10, 30, 30, 10, 30});
      }
      coco["annotations"].push_back(object);
    }
    write_file(folder_ / "data/all.json", coco.dump());
    const DetectionEvaluation result =
        evaluate(detector, *open_coco((folder_ / "data/all.json").string()).whole);
    EXPECT_EQ(result.images, 2);
    EXPECT_EQ(result.boxes.positives(1), 2);
    return result.has_masks;
  };
  EXPECT_TRUE(has_masks(true, true));
  EXPECT_FALSE(has_masks(false, true));
  EXPECT_FALSE(has_masks(true, false));
}

}  // namespace
}  // namespace vig::test
