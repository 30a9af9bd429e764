// vig segment and vig detect.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "cli/dense_commands.h"
#include "cli/npy_file.h"
#include "vig/cli/output.h"
#include "vig/image/decode.h"
#include "vig/image/label_file.h"
#include "vig/image/mask.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

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
  std::string expected = cat_ + "  451x300\n";
  for (const json& one : list[0]["classes"]) {
    expected += fmt::format("  {:6.2f} %  {:4}  {}\n", 100 * one["share"].get<double>(),
                            one["index"].get<int>(), one["name"].get<std::string>());
  }
  EXPECT_EQ(text.out, expected);
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
  const Array array = read_npy(out() / "cat_chelsea.probabilities.npy");
  EXPECT_NE(array.header.find("'shape': (300, 451, 5,)"), std::string::npos) << array.header;
  ASSERT_EQ(array.values.size(), size_t{300} * 451 * 5);
  // The most probable class of each pixel is its label.
  const LabelMap map = read_label_map((out() / "cat_chelsea.labels.png").string());
  size_t others = 0;
  for (size_t p = 0; p < map.labels.size(); ++p) {
    const auto pixel = array.values.begin() + static_cast<std::ptrdiff_t>(p * 5);
    others += std::max_element(pixel, pixel + 5) - pixel != map.labels[p] ? 1 : 0;
  }
  EXPECT_EQ(others, 0u);
}

TEST_F(DenseCommands, PicturesOfOneNameAreToldApartAndNoneIsOverwritten) {
  fs::create_directories(folder_ / "a");
  fs::create_directories(folder_ / "b");
  fs::copy_file(flower_, folder_ / "a/x.webp");
  fs::copy_file(cat_, folder_ / "b/x.png");
  fs::create_directories(folder_ / "c");
  fs::copy_file(flower_, folder_ / "c/x-2.webp");
  fs::copy_file(flower_, folder_ / "c/x.webp");
  // A number whose name is taken already is left out.
  expect_success(run("detect", detect_,
                     {(folder_ / "c").string(), (folder_ / "a").string(),
                      (folder_ / "b/*").string(), "--score", "1"}));
  EXPECT_EQ(written(), (std::set<std::string>{"x-2.detections.png", "x.detections.png",
                                              "x-3.detections.png", "x-4.detections.png"}));
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
  // The same objects in words.
  std::string expected = cat_ + "\n";
  json others = json::array();  // than bees
  for (const json& one : list) {
    if (one["image_id"] != 1) continue;
    if (one["category_name"] != "bee") others.push_back(one);
    const auto box = one["bbox"].get<std::vector<float>>();
    const Mask mask =
        mask_from_text("", one["segmentation"]["counts"].get<std::string>(), cat.width, cat.height);
    expected += fmt::format("  {:6.2f} %  {:4}  {}  at {:.0f},{:.0f}, {:.0f}x{:.0f}, {} pixels\n",
                            100 * one["score"].get<float>(), one["category_id"].get<int>() - 1,
                            one["category_name"].get<std::string>(), box[0], box[1], box[2], box[3],
                            cli::grouped(mask.area()));
  }
  EXPECT_EQ(run("detect", detect_, {cat_, "--score", "0.05"}).out, expected);
  const RunResult bees =
      run("detect", detect_, {cat_, flower_, "--json", "--score", "0.05", "--classes", "bee"});
  for (const json& one : json::parse(bees.out)) {
    EXPECT_EQ(one["category_id"], 2);
    EXPECT_EQ(one["category_name"], "bee");
  }
  // By number and by name.
  const RunResult two =
      run("detect", detect_, {cat_, "--json", "--score", "0.05", "--classes", "2,ant"});
  EXPECT_GT(others.size(), 0u);
  EXPECT_EQ(json::parse(two.out), others);
  expect_complaint(run("detect", detect_, {cat_, "--classes", "bees"}), 2, "bees");
  expect_complaint(run("detect", detect_, {cat_, "--classes", "3"}), 2, "--classes 3");
  const RunResult broken = run("detect", detect_, {broken_, "--json"});
  expect_complaint(broken, 1, "zero_byte.png");
  EXPECT_EQ(broken.out, "[]\n");
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

// Which model it is stands before the answers, but not within JSON.
TEST_F(DenseCommands, DefaultModelsAreNamed) {
  const std::string segments =
      "default model: test_vig_upernet, 5 classes: ant, bee, cat, dog, eel\n";
  const std::string detects = "default model: test_vig_maskrcnn, 3 classes: ant, bee, cat\n";
  for (const auto& [command, variable, note] :
       {std::tuple("segment", "VIG_SEGMENT_MODEL=" + segment_, segments),
        {"detect", "VIG_DETECT_MODEL=" + detect_, detects}}) {
    const RunOptions options = {.environment = {variable}};
    const RunResult text = vig({command, flower_, "--out", out().string()}, options);
    expect_success(text);
    EXPECT_TRUE(text.out.starts_with(note + flower_)) << text.out;
    const RunResult as_json = vig({command, flower_, "--out", out().string(), "--json"}, options);
    EXPECT_EQ(as_json.err, "vig: " + note);
    EXPECT_TRUE(json::parse(as_json.out).is_array()) << as_json.out;
  }
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
