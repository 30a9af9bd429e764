// Made evaluations of segmentation and detection as text, JSON, CSV and SVG.
#include "vig/cli/eval_dense_report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "support/xml.h"

namespace vig::test {
namespace {

using nlohmann::json;

const cli::DenseTitle kTitle = {"dir/m.safetensors",   "test", "dir/data/", "val",
                                {"ant", "bee", "cat"}, true};
const std::string kHead =
    "model     default, dir/m.safetensors, test\ndata      dir/data/, split val\n"
    "images  4\nskipped   2\nspeed     8.0 images/s\n";

template <class Evaluation>
Evaluation run_of() {
  Evaluation result;
  result.images = 4;
  result.skipped = 2;
  result.seconds = 0.5;
  return result;
}

// Three pixels of the first class, of which one is taken for the second; one of the second.
SegmentationEvaluation segmentation() {
  auto result = run_of<SegmentationEvaluation>();
  result.metrics = SegmentationMetrics(3);
  LabelMap truth(2, 2, 0), prediction(2, 2, 0);
  truth.labels = {0, 0, 0, 1};
  prediction.labels = {0, 0, 1, 1};
  result.metrics.add(prediction, truth);
  return result;
}

TEST(SegmentationReport, SaysTheSameInEveryForm) {
  const SegmentationEvaluation result = segmentation();
  const cli::SegmentationReport report{kTitle, result};
  EXPECT_EQ(report.text(), kHead +
                               "mIoU      58.33 %\n"
                               "mAcc      83.33 % (mean accuracy of the classes)\n"
                               "aAcc      75.00 % (of all pixels)\n\n"
                               "class  pixels      IoU  accuracy\n"
                               "ant         3  66.67 %   66.67 %\n"
                               "bee         1  50.00 %  100.00 %\n"
                               "cat         0\n");
  EXPECT_EQ(report.classes_csv(),
            "index,class,labelled,predicted,both,iou,accuracy\n"
            "0,\"ant\",3,2,2,0.6666666666666666,0.6666666666666666\n"
            "1,\"bee\",1,2,1,0.5,1\n"
            "2,\"cat\",0,0,0,,\n");
  const json parsed = json::parse(report.json());
  EXPECT_NEAR(parsed["mean_iou"], 7.0 / 12, 1e-12);
  EXPECT_NEAR(parsed["mean_accuracy"], 5.0 / 6, 1e-12);
  EXPECT_EQ(parsed["pixel_accuracy"], 0.75);
  EXPECT_EQ(parsed["pixels"], 4);
  EXPECT_EQ(parsed["split"], "val");
  EXPECT_EQ(parsed["complete"], true);
  EXPECT_EQ(parsed["images_per_second"], 8.0);
  EXPECT_EQ(parsed["classes"][1], (json{{"index", 1},
                                        {"name", "bee"},
                                        {"labelled", 1},
                                        {"predicted", 2},
                                        {"both", 1},
                                        {"iou", 0.5},
                                        {"accuracy", 1.0}}));
  EXPECT_TRUE(parsed["classes"][2]["iou"].is_null());
}

TEST(SegmentationReport, DrawsPixelsThatAreTakenForOthers) {
  const SegmentationEvaluation result = segmentation();
  const std::string svg = cli::SegmentationReport{kTitle, result}.confusion();
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_NE(svg.find(">m.safetensors on data, split val: mIoU 58.33 %<"), std::string::npos);
  EXPECT_NE(svg.find("ant taken for bee: 1 "), std::string::npos) << svg;
  EXPECT_EQ(svg.find("bee taken for ant"), std::string::npos);
}

// Boxes of both classes are found; of the masks that of the second alone. All objects are small.
DetectionEvaluation detection() {
  auto result = run_of<DetectionEvaluation>();
  const Mask left{20, 10, {0, 100, 100}}, right{20, 10, {100, 100}};  // column by column
  const std::vector<CocoTruth> truths = {{{0, 0, 10, 10}, 0, false, 100, left},
                                         {{10, 0, 10, 10}, 1, false, 100, right}};
  std::vector<CocoDetection> detections = {{{0, 0, 10, 10}, 0, 0.9, right},
                                           {{10, 0, 10, 10}, 1, 0.8, right}};
  result.boxes = CocoMetrics(3, CocoShape::kBox);
  result.masks = CocoMetrics(3, CocoShape::kMask);
  result.boxes.add(1, truths, detections);
  result.masks.add(1, truths, detections);
  return result;
}

TEST(DetectionReport, SaysTheSameInEveryForm) {
  DetectionEvaluation result = detection();
  const cli::DetectionReport report{kTitle, result};
  EXPECT_EQ(report.text(), kHead +
                               "\n"
                               "                         boxes    masks\n"
                               "AP, IoU 0.50 to 0.95  100.00 %  50.00 %\n"
                               "AP50                  100.00 %  50.00 %\n"
                               "AP75                  100.00 %  50.00 %\n"
                               "AP of small objects   100.00 %  50.00 %\n"
                               "AP of medium ones\n"
                               "AP of large ones\n"
                               "AR of the best 1      100.00 %  50.00 %\n"
                               "AR of the best 10     100.00 %  50.00 %\n"
                               "AR of the best 100    100.00 %  50.00 %\n"
                               "AR of small objects   100.00 %  50.00 %\n"
                               "AR of medium ones\n"
                               "AR of large ones\n"
                               "\n"
                               "class  objects  AP of boxes  AP of masks\n"
                               "ant          1     100.00 %       0.00 %\n"
                               "bee          1     100.00 %     100.00 %\n"
                               "cat          0\n");
  const std::vector<double> boxes = result.boxes.class_ap(), masks = result.masks.class_ap();
  EXPECT_EQ(report.classes_csv(),
            fmt::format("index,class,objects,box_ap,mask_ap\n0,\"ant\",1,{},{}\n1,\"bee\",1,{},{}\n"
                        "2,\"cat\",0,,\n",
                        boxes[0], masks[0], boxes[1], masks[1]));
  const json parsed = json::parse(report.json());
  EXPECT_NEAR(parsed["boxes"]["ap"], 1, 1e-12);
  EXPECT_NEAR(parsed["boxes"]["ap_small"], 1, 1e-12);
  EXPECT_TRUE(parsed["boxes"]["ap_medium"].is_null());
  EXPECT_TRUE(parsed["boxes"]["ar_large"].is_null());
  EXPECT_NEAR(parsed["masks"]["ar_100"], 0.5, 1e-12);
  EXPECT_NEAR(parsed["classes"][0]["box_ap"], 1, 1e-12);
  EXPECT_EQ(parsed["classes"][0]["mask_ap"], 0.0);
  EXPECT_EQ(parsed["classes"][0]["objects"], 1);
  EXPECT_TRUE(parsed["classes"][2]["box_ap"].is_null());
  const std::string svg = report.curves();
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_NE(svg.find("precision, boxes"), std::string::npos);
  EXPECT_NE(svg.find("precision, masks"), std::string::npos);
}

TEST(DetectionReport, WithoutMasksNothingIsSaidOfThem) {
  DetectionEvaluation result = detection();
  result.has_masks = false;
  const cli::DetectionReport report{kTitle, result};
  EXPECT_NE(report.text().find("\nAP50                  100.00 %\n"), std::string::npos)
      << report.text();
  EXPECT_NE(report.text().find("\nbee          1     100.00 %\n"), std::string::npos)
      << report.text();
  EXPECT_EQ(report.classes_csv(),
            fmt::format("index,class,objects,box_ap,mask_ap\n0,\"ant\",1,{0},\n"
                        "1,\"bee\",1,{0},\n2,\"cat\",0,,\n",
                        result.boxes.class_ap()[0]));
  const json parsed = json::parse(report.json());
  EXPECT_TRUE(parsed["masks"].is_null());
  EXPECT_TRUE(parsed["classes"][1]["mask_ap"].is_null());
  EXPECT_EQ(report.curves().find("precision, masks"), std::string::npos);
}

// A small object that is found, a medium one that is missed, and a large one whose box is found but
// not exactly: no two areas have the same figures.
TEST(DetectionReport, FiguresHaveTheirNames) {
  auto result = run_of<DetectionEvaluation>();
  result.boxes = CocoMetrics(1, CocoShape::kBox);
  result.boxes.add(
      1,
      std::vector<CocoTruth>{{{0, 0, 10, 10}, 0, false, 100, {}},
                             {{20, 0, 50, 50}, 0, false, 2500, {}},
                             {{0, 100, 200, 100}, 0, false, 20000, {}}},
      std::vector<CocoDetection>{{{0, 0, 10, 10}, 0, 0.9, {}}, {{0, 100, 160, 100}, 0, 0.8, {}}});
  result.has_masks = false;
  const CocoFigures figures = result.boxes.figures();
  EXPECT_TRUE(figures.ap_medium < figures.ap_large && figures.ap_large < figures.ap_small);
  EXPECT_TRUE(figures.ar_medium < figures.ar_large && figures.ar_large < figures.ar_small);
  const json boxes = json::parse(cli::DetectionReport{kTitle, result}.json())["boxes"];
  const std::map<std::string, double> expected = {{"ap", figures.ap},
                                                  {"ap50", figures.ap50},
                                                  {"ap75", figures.ap75},
                                                  {"ap_small", figures.ap_small},
                                                  {"ap_medium", figures.ap_medium},
                                                  {"ap_large", figures.ap_large},
                                                  {"ar_1", figures.ar_first},
                                                  {"ar_10", figures.ar_second},
                                                  {"ar_100", figures.ar_third},
                                                  {"ar_small", figures.ar_small},
                                                  {"ar_medium", figures.ar_medium},
                                                  {"ar_large", figures.ar_large}};
  for (const auto& [name, figure] : expected) EXPECT_NEAR(boxes[name], figure, 1e-12) << name;
}

}  // namespace
}  // namespace vig::test
