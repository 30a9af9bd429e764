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

// What the text says of the warnings in JSON.
std::string warning_lines(const json& result) {
  std::string lines;
  for (const json& one : result.value("warnings", json::array())) {
    lines += fmt::format("  warning: {}\n", one["message"].get<std::string>());
  }
  return lines;
}

TEST_F(DenseCommands, SegmentWritesImagesAndShares) {
  const RunResult result = run("segment", segment_, {cat_, broken_, flower_, "--json"});
  EXPECT_EQ(result.exit_code, 3);  // one of the three is broken
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
  EXPECT_EQ(text.out, expected + warning_lines(list[0]));
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

TEST_F(DenseCommands, ImagesOfOneNameAreToldApartAndNoneIsOverwritten) {
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
  // Now an output is one of the images.
  fs::copy_file(cat_, out() / "x.overlay.png");
  const std::string before = read_file(out() / "x.overlay.png");
  expect_complaint(run("segment", segment_,
                       {(out() / "x.overlay.png").string(), (folder_ / "a/x.webp").string()}),
                   2, "would be written over the image");
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
  EXPECT_EQ(run("detect", detect_, {cat_, "--score", "0.05"}).out,
            expected + warning_lines(list[0]));
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
  const RunResult none = run("detect", detect_, {cat_, "--score", "1", "--size", "300"});
  EXPECT_EQ(none.out, cat_ + "\n  nothing found\n");
  EXPECT_EQ(run("detect", detect_, {cat_, "--score", "1", "--json"}).out, "[]\n");
}

// The miniatures see 451 x 300 pixels 4.7 times smaller.
TEST_F(DenseCommands, WarningsAreInTextAndJson) {
  const std::string shrunk =
      "the network sees the image 4.7 times smaller: small objects may be "
      "missed or mistaken; give a larger --size than 64, or parts of the "
      "image";
  const json map = json::parse(run("segment", segment_, {cat_, "--json"}).out)[0];
  EXPECT_EQ(map["warnings"], (json{{{"kind", "shrunk"}, {"message", shrunk}}}));
  EXPECT_FALSE(
      json::parse(run("segment", segment_, {cat_, "--json", "--size", "300"}).out)[0].contains(
          "warnings"));

  const std::vector<std::string> few = {cat_, "--score", "0.05", "--set", "detections=2"};
  const RunResult text = run("detect", detect_, few);
  expect_success(text);
  const std::string most =
      "the network finds at most 2 objects in an image, and there may be more; "
      "give a larger --set detections=N, or parts of the image";
  EXPECT_NE(text.out.find(fmt::format("\n  warning: {}\n  warning: {}\n", shrunk, most)),
            std::string::npos)
      << text.out;
  std::vector<std::string> as_json = few;
  as_json.push_back("--json");
  const RunResult objects = run("detect", detect_, as_json);
  expect_success(objects);
  const json list = json::parse(objects.out);
  ASSERT_EQ(list.size(), 2u);
  for (const json& one : list) {
    EXPECT_EQ(one["warnings"], (json{{{"kind", "shrunk"}, {"message", shrunk}},
                                     {{"kind", "most_objects"}, {"message", most}}}));
  }
  // Without an object they are on standard error.
  const RunResult none = run("detect", detect_, {cat_, "--score", "1", "--json"});
  EXPECT_EQ(none.out, "[]\n");
  EXPECT_EQ(none.err, fmt::format("vig: {}: warning: {}\n", cat_, shrunk));
}

TEST_F(DenseCommands, LabelsOfDrawnObjectsAreAnOption) {
  const auto drawn = [&](std::vector<std::string> more) {
    more.insert(more.end(), {cat_, "--score", "0.05", "--set", "detections=3"});
    expect_success(run("detect", detect_, more));
    return read_file(out() / "cat_chelsea.detections.png");
  };
  const std::string full = drawn({"--labels", "full"}), brief = drawn({"--labels", "short"}),
                    none = drawn({"--labels", "none"});
  EXPECT_EQ(drawn({}), full) << "three objects";
  EXPECT_NE(full, brief);
  EXPECT_NE(full, none);
  EXPECT_NE(brief, none);
  expect_complaint(run("detect", detect_, {cat_, "--labels", "all"}), 2, "--labels");
}

TEST_F(DenseCommands, LargeDrawingsGetAPreview) {
  const auto image = [&](const std::string& name, int width, int height) {
    const std::string file = (folder_ / name).string();
    write_file(file,
               fmt::format("P5 {} {} 255\n", width, height) +
                   std::string(static_cast<size_t>(width) * static_cast<size_t>(height), 'x'));
    return file;
  };
  const std::string large = image("large.pgm", 2001, 2000), small = image("small.pgm", 2000, 2000);
  expect_success(run("detect", detect_, {large, small}));
  EXPECT_EQ(written(), (std::set<std::string>{"large.detections.png", "small.detections.png",
                                              "large.detections.preview.jpg"}));
  const Image preview = read_image((out() / "large.detections.preview.jpg").string());
  EXPECT_EQ(preview.width, 1600);
  EXPECT_EQ(preview.height, 1599);
  EXPECT_EQ(read_image((out() / "large.detections.png").string()).width, 2001);
  expect_success(run("segment", segment_, {large}));
  EXPECT_TRUE(fs::exists(out() / "large.overlay.preview.jpg"));
  EXPECT_FALSE(fs::exists(out() / "large.labels.preview.jpg"));
  // A preview is an output like others.
  fs::copy_file(cat_, out() / "small.overlay.preview.jpg");
  expect_complaint(
      run("segment", segment_, {(out() / "small.overlay.preview.jpg").string(), small}), 2,
      "would be written over the image");
}

TEST_F(DenseCommands, ModelsOfAnotherTaskNameTheRightCommand) {
  const std::string classifier = make_model(folder_);
  expect_complaint(vig({"classify", "-m", segment_, cat_}), 2, "use vig segment");
  expect_complaint(vig({"embed", "-m", detect_, cat_}), 2, "use vig detect");
  expect_complaint(run("segment", classifier, {cat_}), 2, "use vig classify");
  expect_complaint(run("detect", segment_, {cat_}), 2, "use vig segment");
  EXPECT_TRUE(written().empty());
}

// Which model it is stands before the results, but not within JSON.
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
