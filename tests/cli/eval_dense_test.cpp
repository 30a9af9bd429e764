// vig eval of segmentation networks and detectors.
#include <gtest/gtest.h>

#include "cli/dense_commands.h"
#include "vig/image/label_file.h"
#include "vig/tasks/class_colors.h"
#include "vig/tasks/overlay.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using EvalDense = DenseCommands;

TEST_F(EvalDense, EvalOfSegmentation) {
  const std::string data = predicted_data({"cat"});
  const RunResult text = vig({"eval", "-m", segment_, data});
  expect_success(text);
  EXPECT_NE(text.out.find("mIoU      100.00 %\n"), std::string::npos) << text.out;
  const RunResult result =
      vig({"eval", "-m", segment_, data, "--json", "--worst", "1", "--worst-out",
           (folder_ / "worst").string(), "--confusion", (folder_ / "confusion.svg").string(),
           "--csv", (folder_ / "classes.csv").string()});
  expect_success(result);
  EXPECT_EQ(json::parse(result.out)["mean_iou"], 1.0);
  EXPECT_TRUE(fs::exists(folder_ / "worst/1-cat.prediction.png"));
  EXPECT_TRUE(fs::exists(folder_ / "worst/1-cat.truth.png"));
  EXPECT_NE(read_file(folder_ / "confusion.svg").find("<svg"), std::string::npos);
  EXPECT_NE(read_file(folder_ / "classes.csv").find("index,class,labelled"), std::string::npos);
  expect_complaint(vig({"eval", "-m", segment_, data, "--curves", "x.svg"}), 2, "--curves");
  expect_complaint(vig({"eval", "-m", detect_, data}), 1, "label maps");
}

TEST_F(EvalDense, TheWorstImagesHaveTheLowestScores) {
  const std::string data = predicted_data({"a", "b", "c"});
  const std::string file = data + "/labels/b.png";
  LabelMap wrong = read_label_map(file);
  for (uint8_t& label : wrong.labels) label = static_cast<uint8_t>((label + 1) % 5);
  const std::vector<uint8_t> png = encode_label_map(wrong, class_palette(5));
  write_file(file, {reinterpret_cast<const char*>(png.data()), png.size()});
  for (const int count : {1, 2}) {
    const fs::path folder = folder_ / ("worst" + std::to_string(count));
    expect_success(vig({"eval", "-m", segment_, data, "--worst", std::to_string(count),
                        "--worst-out", folder.string()}));
    std::set<std::string> expected = {"1-b.prediction.png", "1-b.truth.png"};
    if (count == 2) expected.merge(std::set<std::string>{"2-a.prediction.png", "2-a.truth.png"});
    EXPECT_EQ(files_in(folder), expected);
    const std::string prediction = read_file(out() / "cat_chelsea.overlay.png");
    EXPECT_EQ(read_file(folder / "1-b.prediction.png"), prediction);
    EXPECT_NE(read_file(folder / "1-b.truth.png"), prediction);
    if (count == 2) {
      EXPECT_EQ(read_file(folder / "2-a.truth.png"), prediction);
    }
  }
}

// An image without its labels, or one that cannot be read, is as bad as the other.
TEST_F(EvalDense, AnEvaluationOfDataWithGapsSaysSo) {
  const std::string data = predicted_data({"a", "b"});
  const auto expect_gap = [&](const std::string& about) {
    const RunResult result = vig({"eval", "-m", segment_, data});
    expect_complaint(result, 3, about);
    EXPECT_NE(result.out.find("mIoU      100.00 %\n"), std::string::npos) << result.out;
  };
  fs::rename(data + "/labels/b.png", data + "/away.png");
  expect_gap("b.png");
  fs::rename(data + "/away.png", data + "/labels/b.png");
  write_file(data + "/images/b.png", "no image");
  expect_gap("b.png");
}

TEST_F(EvalDense, EvalOfDetection) {
  fs::create_directories(folder_ / "data");
  fs::copy_file(cat_, folder_ / "data/1.png");
  const RunResult found =
      run("detect", detect_, {(folder_ / "data/1.png").string(), "--json", "--score", "0.05"});
  json coco = {
      {"images", {{{"id", 1}, {"file_name", "1.png"}, {"width", 451}, {"height", 300}}}},
      {"annotations", json::array()},
      {"categories",
       {{{"id", 1}, {"name", "ant"}}, {{"id", 2}, {"name", "bee"}}, {{"id", 3}, {"name", "cat"}}}}};
  for (const json& one : json::parse(found.out)) {
    coco["annotations"].push_back(
        {{"id", coco["annotations"].size() + 1},
         {"image_id", 1},
         {"category_id", one["category_id"]},
         {"bbox", one["bbox"]},
         {"area", one["bbox"][2].get<double>() * one["bbox"][3].get<double>()},
         {"iscrowd", 0},
         {"segmentation", one["segmentation"]}});
  }
  const std::string data = (folder_ / "data/all.json").string();
  write_file(data, coco.dump());
  const RunResult result =
      vig({"eval", "-m", detect_, data, "--json", "--curves", (folder_ / "curves.svg").string(),
           "--worst", "3", "--worst-out", (folder_ / "worst").string(), "--csv",
           (folder_ / "classes.csv").string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json figures = json::parse(result.out);
  EXPECT_GT(figures["boxes"]["ap50"], 0.9);
  EXPECT_EQ(figures["classes"].size(), 3u);
  EXPECT_TRUE(
      read_file(folder_ / "classes.csv").starts_with("index,class,objects,box_ap,mask_ap\n"))
      << read_file(folder_ / "classes.csv");
  EXPECT_NE(read_file(folder_ / "curves.svg").find("recall"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "worst/1-1.prediction.png"));
  const RunResult text = vig({"eval", "-m", detect_, data});
  EXPECT_NE(text.out.find("AP of small objects"), std::string::npos) << text.out;

  // A class of which there is nothing to find takes no part in the curves.
  const int first = coco["annotations"].at(0)["category_id"].get<int>();
  json some = json::array();
  for (const json& one : coco["annotations"]) {
    if (one["category_id"] == first) some.push_back(one);
  }
  EXPECT_LT(some.size(), coco["annotations"].size());
  coco["annotations"] = some;
  write_file(data, coco.dump());
  const std::string curves = (folder_ / "few.svg").string();
  expect_success(vig({"eval", "-m", detect_, data, "--curves", curves}));
  const auto lines = [](const std::string& svg) {
    size_t count = 0;
    for (size_t at = 0; (at = svg.find("stroke-linejoin=\"round\"", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  EXPECT_EQ(lines(read_file(curves)), lines(read_file(folder_ / "curves.svg")));
  EXPECT_GE(lines(read_file(curves)), 3u);
  EXPECT_EQ(read_file(curves).find("nan"), std::string::npos);
}

// Options of one task that say nothing of another.
TEST_F(EvalDense, OptionsOfOtherTasksAreRefused) {
  const std::string classifier = make_model(folder_), file = (folder_ / "file").string();
  const struct {
    std::string model;
    std::vector<std::string> options;
  } cases[] = {
      {segment_, {"--mistakes", "1", "--page", file}},
      {segment_, {"--predictions", file}},
      {detect_, {"--whole"}},
      {detect_, {"--window", "64"}},
      {detect_, {"--confusion", file}},
      {classifier, {"--worst", "1"}},
      {classifier, {"--curves", file}},
  };
  for (const auto& [model, options] : cases) {
    std::vector<std::string> command = {"eval", "-m", model, folder_.path().string()};
    command.insert(command.end(), options.begin(), options.end());
    expect_complaint(vig(command), 2, options[0] + " is for ");
    EXPECT_FALSE(fs::exists(file));
  }
}

// The labels are the predictions of the windows that the file asks for.
TEST_F(EvalDense, OptionsReachTheNetwork) {
  const std::string data = predicted_data({"cat"});
  const auto mean_iou = [&](const std::vector<std::string>& options) {
    std::vector<std::string> command = {"eval", "-m", segment_, data, "--json"};
    command.insert(command.end(), options.begin(), options.end());
    const RunResult result = vig(command);
    expect_success(result);
    return json::parse(result.out)["mean_iou"].get<double>();
  };
  EXPECT_LT(mean_iou({"--whole"}), 1);
  EXPECT_LT(mean_iou({"--window", "32"}), 1);
  EXPECT_LT(mean_iou({"--size", "96"}), 1);
  const RunResult small = vig({"eval", "-m", segment_, data, "--max-pixels", "1000"});
  EXPECT_EQ(small.exit_code, 1);
  EXPECT_NE(small.err.find("limit of 1000 pixels"), std::string::npos) << small.err;
  EXPECT_NE(small.err.find("none of its 1 images could be read"), std::string::npos) << small.err;
  // Label maps without names have the model's.
  fs::remove(data + "/classes.txt");
  EXPECT_EQ(mean_iou({}), 1);
  // The data says which default model is meant.
  const RunResult unnamed = vig({"eval", data}, {.environment = {"VIG_SEGMENT_MODEL=" + segment_}});
  expect_success(unnamed);
  EXPECT_TRUE(unnamed.out.starts_with("model     default, " + segment_ + ", test_vig_upernet\n"))
      << unnamed.out;
}

}  // namespace
}  // namespace vig::test
