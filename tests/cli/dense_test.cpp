// vig segment, vig detect, and vig eval of such models.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cli/vig.h"
#include "vig/image/decode.h"
#include "vig/image/label_file.h"
#include "vig/image/mask.h"
#include "vig/tasks/overlay.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class DenseCommands : public testing::Test {
 protected:
  void SetUp() override {
    segment_ = make("test_vig_upernet", "ant\nbee\ncat\ndog\neel\n");
    detect_ = make("test_vig_maskrcnn", "ant\nbee\ncat\n");
    if (segment_.empty() || detect_.empty()) GTEST_SKIP() << "no such networks in this build";
  }
  // Random weights; empty where the program does not know the network.
  std::string make(const std::string& model, const std::string& classes) {
    const std::string file = (folder_ / (model + ".safetensors")).string();
    write_file(folder_ / "classes.txt", classes);
    const RunResult made =
        vig({"convert", "--random", model, file, "--classes", (folder_ / "classes.txt").string()});
    return made.exit_code == 0 ? file : "";
  }
  RunResult run(const std::string& command, const std::string& model,
                std::vector<std::string> more) const {
    std::vector<std::string> arguments = {command, "-m", model, "--out", out().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return vig(arguments);
  }
  fs::path out() const { return folder_ / "out"; }
  static std::set<std::string> files_in(const fs::path& folder) {
    std::set<std::string> names;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder, missing)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  std::set<std::string> written() const { return files_in(out()); }
  // Pictures of these names with the labels that the model itself gives them.
  std::string answered_data(const std::vector<std::string>& names) const {
    write_file(folder_ / "data/classes.txt", "ant\nbee\ncat\ndog\neel\n");
    expect_success(run("segment", segment_, {cat_}));
    for (const std::string& name : names) {
      write_file(folder_ / ("data/images/" + name + ".png"), read_file(cat_));
      write_file(folder_ / ("data/labels/" + name + ".png"),
                 read_file(out() / "cat_chelsea.labels.png"));
    }
    return (folder_ / "data").string();
  }

  TempDir folder_;
  std::string segment_, detect_;
  const std::string cat_ = data("image/photos/cat_chelsea.png");
  const std::string flower_ = data("image/photos/flower.webp");
  const std::string broken_ = data("image/broken/zero_byte.png");
};

TEST_F(DenseCommands, SegmentWritesPicturesAndShares) {
  const RunResult result = run("segment", segment_, {cat_, broken_, flower_, "--json"});
  EXPECT_EQ(result.exit_code, 1);  // one of the three is broken
  EXPECT_EQ(written(), (std::set<std::string>{"cat_chelsea.overlay.png", "cat_chelsea.labels.png",
                                              "flower.overlay.png", "flower.labels.png"}));
  const json list = json::parse(result.out);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_TRUE(list[1].contains("error"));
  const LabelMap labels = read_label_map(list[0]["labels"]);
  const Image cat = read_image(cat_);
  EXPECT_EQ(labels.width, cat.width);
  EXPECT_EQ(labels.height, cat.height);
  std::map<int, int64_t> counted;
  for (const uint8_t label : labels.labels) ++counted[label];
  double shares = 0;
  for (const json& one : list[0]["classes"]) {
    EXPECT_EQ(one["pixels"], counted[one["index"]]);
    shares += one["share"].get<double>();
  }
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_GE(read_image(list[0]["overlay"]).width, cat.width);

  const RunResult text = run("segment", segment_, {cat_});
  expect_success(text);
  EXPECT_TRUE(text.out.starts_with(cat_ + "  451x300\n")) << text.out;
}

TEST_F(DenseCommands, WindowsThreadsAndSizesAreOptions) {
  const auto labels = [&](std::vector<std::string> more) {
    more.push_back(cat_);
    const RunResult result = run("segment", segment_, more);
    expect_success(result);
    return read_file(out() / "cat_chelsea.labels.png");
  };
  const std::string own = labels({});
  EXPECT_EQ(labels({"--threads", "1"}), own);
  EXPECT_EQ(labels({"--window", "64"}), own);
  EXPECT_NE(labels({"--whole"}), own);
  EXPECT_NE(labels({"--size", "100"}), own);
  expect_complaint(run("segment", segment_, {cat_, "--window", "33"}), 2, "multiple of 32");
  expect_complaint(run("segment", segment_, {cat_, "--window", "64", "--whole"}), 2, "--whole");
  labels({"--probabilities"});
  const std::string array = read_file(out() / "cat_chelsea.probabilities.npy");
  EXPECT_NE(array.find("'shape': (300, 451, 5,)"), std::string::npos);
  EXPECT_EQ(array.size(), 256u + 300 * 451 * 5 * 4);
}

TEST_F(DenseCommands, PicturesOfOneNameAreToldApartAndNoneIsOverwritten) {
  fs::create_directories(folder_ / "a");
  fs::create_directories(folder_ / "b");
  fs::copy_file(flower_, folder_ / "a/x.webp");
  fs::copy_file(cat_, folder_ / "b/x.png");
  expect_success(run("detect", detect_,
                     {(folder_ / "a").string(), (folder_ / "b/*").string(), "--score", "1"}));
  EXPECT_EQ(written(), (std::set<std::string>{"x.detections.png", "x-2.detections.png"}));
  // Now an output is one of the pictures.
  fs::copy_file(cat_, out() / "x.overlay.png");
  const std::string before = read_file(out() / "x.overlay.png");
  expect_complaint(run("segment", segment_,
                       {(out() / "x.overlay.png").string(), (folder_ / "a/x.webp").string()}),
                   2, "would be written over the picture");
  EXPECT_EQ(read_file(out() / "x.overlay.png"), before);
  write_file(folder_ / "file", "");
  const RunResult no_folder =
      vig({"detect", "-m", detect_, cat_, "--out", (folder_ / "file").string()});
  EXPECT_EQ(no_folder.exit_code, 1) << no_folder.err;
}

// A name that no command takes for an option.
TEST_F(DenseCommands, DrawingsOfStandardInputHaveAName) {
  const RunResult result =
      vig({"segment", "-m", segment_, "--out", out().string(), "-"}, {.input = read_file(cat_)});
  expect_success(result);
  EXPECT_EQ(written(),
            (std::set<std::string>{"standard-input.labels.png", "standard-input.overlay.png"}));
}

TEST_F(DenseCommands, DetectPrintsCocoResults) {
  const RunResult all = run("detect", detect_, {cat_, flower_, "--json", "--score", "0.05"});
  expect_success(all);
  const json list = json::parse(all.out);
  ASSERT_GT(list.size(), 2u);
  const Image cat = read_image(cat_);
  for (const json& one : list) {
    EXPECT_TRUE(one["image_id"] == 1 || one["image_id"] == 2);
    EXPECT_GT(one["score"], 0.05);
    EXPECT_EQ(one["bbox"].size(), 4u);
    if (one["image_id"] != 1) continue;
    EXPECT_EQ(one["segmentation"]["size"], (json{cat.height, cat.width}));
    EXPECT_NO_THROW(mask_from_text("", one["segmentation"]["counts"].get<std::string>(), cat.width,
                                   cat.height));
  }
  const RunResult bees =
      run("detect", detect_, {cat_, flower_, "--json", "--score", "0.05", "--classes", "bee"});
  for (const json& one : json::parse(bees.out)) {
    EXPECT_EQ(one["category_id"], 2);
    EXPECT_EQ(one["category_name"], "bee");
  }
  expect_complaint(run("detect", detect_, {cat_, "--classes", "bees"}), 2, "bees");
  const RunResult none = run("detect", detect_, {cat_, "--score", "1"});
  EXPECT_EQ(none.out, cat_ + "\n  nothing found\n");
  EXPECT_EQ(run("detect", detect_, {cat_, "--score", "1", "--json"}).out, "[]\n");
}

TEST_F(DenseCommands, ModelsOfAnotherTaskNameTheRightCommand) {
  const std::string classifier = make_model(folder_);
  expect_complaint(vig({"classify", "-m", segment_, cat_}), 2, "use vig segment");
  expect_complaint(vig({"embed", "-m", detect_, cat_}), 2, "use vig detect");
  expect_complaint(run("segment", classifier, {cat_}), 2, "use vig classify");
  expect_complaint(run("detect", segment_, {cat_}), 2, "use vig segment");
  EXPECT_TRUE(written().empty());
}

TEST_F(DenseCommands, EvalOfSegmentation) {
  const std::string data = answered_data({"cat"});
  const RunResult text = vig({"eval", "-m", segment_, data});
  expect_success(text);
  EXPECT_NE(text.out.find("mIoU      100.00 %\n"), std::string::npos) << text.out;
  const RunResult result =
      vig({"eval", "-m", segment_, data, "--json", "--worst", "1", "--worst-out",
           (folder_ / "worst").string(), "--confusion", (folder_ / "confusion.svg").string(),
           "--csv", (folder_ / "classes.csv").string()});
  expect_success(result);
  EXPECT_EQ(json::parse(result.out)["mean_iou"], 1.0);
  EXPECT_TRUE(fs::exists(folder_ / "worst/1-cat.answer.png"));
  EXPECT_TRUE(fs::exists(folder_ / "worst/1-cat.truth.png"));
  EXPECT_NE(read_file(folder_ / "confusion.svg").find("<svg"), std::string::npos);
  EXPECT_NE(read_file(folder_ / "classes.csv").find("index,class,labelled"), std::string::npos);
  expect_complaint(vig({"eval", "-m", segment_, data, "--curves", "x.svg"}), 2, "--curves");
  expect_complaint(vig({"eval", "-m", detect_, data}), 1, "label maps");
}

TEST_F(DenseCommands, TheWorstPicturesHaveTheLowestScores) {
  const std::string data = answered_data({"a", "b", "c"});
  const std::string file = data + "/labels/b.png";
  LabelMap wrong = read_label_map(file);
  for (uint8_t& label : wrong.labels) label = static_cast<uint8_t>((label + 1) % 5);
  const std::vector<uint8_t> png = encode_label_map(wrong, class_palette(5));
  write_file(file, {reinterpret_cast<const char*>(png.data()), png.size()});
  for (const int count : {1, 2}) {
    const fs::path folder = folder_ / ("worst" + std::to_string(count));
    expect_success(vig({"eval", "-m", segment_, data, "--worst", std::to_string(count),
                        "--worst-out", folder.string()}));
    std::set<std::string> expected = {"1-b.answer.png", "1-b.truth.png"};
    if (count == 2) expected.merge(std::set<std::string>{"2-a.answer.png", "2-a.truth.png"});
    EXPECT_EQ(files_in(folder), expected);
  }
}

// A picture without its labels, or one that cannot be read, is as bad as the other.
TEST_F(DenseCommands, AnEvaluationOfDataWithGapsEndsWithAnError) {
  const std::string data = answered_data({"a", "b"});
  const auto expect_gap = [&](const std::string& about) {
    const RunResult result = vig({"eval", "-m", segment_, data});
    expect_complaint(result, 1, about);
    EXPECT_NE(result.out.find("mIoU      100.00 %\n"), std::string::npos) << result.out;
  };
  fs::rename(data + "/labels/b.png", data + "/away.png");
  expect_gap("b.png");
  fs::rename(data + "/away.png", data + "/labels/b.png");
  write_file(data + "/images/b.png", "no picture");
  expect_gap("b.png");
}

TEST_F(DenseCommands, EvalOfDetection) {
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
           "--worst", "3", "--worst-out", (folder_ / "worst").string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json figures = json::parse(result.out);
  EXPECT_GT(figures["boxes"]["ap50"], 0.9);
  EXPECT_EQ(figures["classes"].size(), 3u);
  EXPECT_NE(read_file(folder_ / "curves.svg").find("recall"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "worst/1-1.answer.png"));
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
    for (size_t at = 0; (at = svg.find("stroke-width=\"1.6\"", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  EXPECT_EQ(lines(read_file(curves)), lines(read_file(folder_ / "curves.svg")));
  EXPECT_GE(lines(read_file(curves)), 3u);
  EXPECT_EQ(read_file(curves).find("nan"), std::string::npos);
}

TEST(DenseDefaults, ThatAreNotThereAreOneSentence) {
  for (const auto& [command, variable] :
       {std::pair{"segment", "VIG_SEGMENT_MODEL"}, {"detect", "VIG_DETECT_MODEL"}}) {
    RunOptions options;
    options.environment = {std::string(variable) + "=/gone.safetensors"};
    const RunResult result = vig({command, data("image/photos/flower.webp")}, options);
    expect_complaint(result, 2, "/gone.safetensors");
    EXPECT_NE(result.err.find("-m FILE"), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace vig::test
