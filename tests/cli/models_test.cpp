// `vig models` and `vig info`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "cli/vig.h"
#include "vig/cli/output.h"
#include "vig/models/family.h"
#include "vig/weights/checkpoint.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

using nlohmann::json;

TEST(Models, ExactParameterCounts) {
  const std::map<std::string, std::string> expected = {{"vig_t", "5,834,536"},
                                                       {"vig_s", "22,615,144"},
                                                       {"vig_b", "89,022,184"},
                                                       {"vig_h_t", "28,600,680"},
                                                       {"vig_h_s", "50,051,688"},
                                                       {"vig_h_b", "88,904,360"},
                                                       {"gla_t", "5,713,384"},
                                                       {"gla_t_stem", "5,755,816"},
                                                       {"gla_t_bidirectional", "5,755,816"},
                                                       {"gla_t_position", "5,793,448"},
                                                       {"gla_t_gated", "5,813,032"},
                                                       {"gla_t_locality", "5,834,536"},
                                                       {"gla_t_vim", "6,697,000"}};
  const RunResult result = vig({"models"});
  expect_success(result);
  std::istringstream lines(result.out);
  size_t found = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, size, count;
    words >> name >> size >> count;
    const auto entry = expected.find(name);
    if (entry == expected.end()) continue;
    ++found;
    EXPECT_EQ(count, entry->second) << name;
  }
  EXPECT_EQ(found, expected.size());
  EXPECT_NE(result.out.find("down_proj"), std::string::npos);
}

// Detectors at their largest wide image, segmentation at its window.
TEST(Models, SizesOfDenseNetworks) {
  const json models = json::parse(vig({"models", "--json"}).out);
  int found = 0;
  for (const json& model : models) {
    if (model["name"] == "vig_t_maskrcnn") {
      ++found;
      EXPECT_EQ(model["input"], json({800, 1344}));
      EXPECT_EQ(model["parameters"], 28181408);
    } else if (model["name"] == "vig_t_upernet") {
      ++found;
      EXPECT_EQ(model["input"], json({512, 512}));
      EXPECT_EQ(model["parameters"], 36175324);
    }
  }
  EXPECT_EQ(found, 2);
  const RunResult table = vig({"models"});
  EXPECT_NE(table.out.find("800x1344"), std::string::npos);
}

// The graphs of a detector: layers and multiply-adds of each, parameters of all.
TEST(Info, OfADetector) {
  const RunResult result = vig({"info", "test_vig_maskrcnn"});
  expect_success(result);
  EXPECT_NE(result.out.find("input: 64x96"), std::string::npos);
  EXPECT_NE(result.out.find("box_features"), std::string::npos);
  EXPECT_NE(result.out.find("mask_features"), std::string::npos);
  const json described = json::parse(vig({"info", "test_vig_maskrcnn", "--json"}).out);
  ASSERT_EQ(described["further_graphs"].size(), 2u);
  EXPECT_EQ(described["further_graphs"][0]["input"], "box_features");
  // 16 x 7 x 7 values to 24, 24 to 24, to 4 classes and to 12 deltas.
  EXPECT_EQ(described["further_graphs"][0]["multiply_adds"], 784 * 24 + 24 * 24 + 24 * 4 + 24 * 12);
  expect_complaint(vig({"info", "test_vig_maskrcnn", "--size", "64x48"}), 2, "64x48");
}

// A line with the family's name, then its models.
TEST(Models, AreGroupedByFamily) {
  const RunResult result = vig({"models"});
  expect_success(result);
  const json models = json::parse(vig({"models", "--json"}).out);
  size_t at = 0;
  std::string family;
  std::istringstream lines(result.out);
  std::set<std::string> headings;
  for (std::string line; std::getline(lines, line) && at < models.size();) {
    const std::string model = models[at]["name"];
    if (line.starts_with("  " + model + " ")) {
      EXPECT_EQ(family, models[at]["family"]) << line;
      ++at;
    } else if (line.find(' ') == std::string::npos) {
      family = line;
      EXPECT_TRUE(headings.insert(line).second) << line << " is there twice";
    }
  }
  EXPECT_EQ(at, models.size());
  EXPECT_TRUE(headings.contains("resnet"));
}

TEST(Models, Json) {
  const RunResult result = vig({"models", "--json"});
  expect_success(result);
  const json models = json::parse(result.out);
  EXPECT_EQ(models[0]["name"], "vig_t");
  EXPECT_EQ(models[0]["parameters"], 5834536);
  EXPECT_EQ(models[0]["paper_parameters"], "6M");
  EXPECT_EQ(models[0]["paper_flops"], find_model("vig_t").paper_flops);
  EXPECT_GT(models[0]["scan_multiply_adds"], 86000000);
}

TEST(Info, LayersOfAModelAddUp) {
  const RunResult result = vig({"info", "vig_t", "--size", "96x160", "--json"});
  expect_success(result);
  const json info = json::parse(result.out);
  EXPECT_EQ(info["input"], json({96, 160}));
  int64_t parameters = 0, multiply_adds = 0;
  for (const json& layer : info["layers"]) {
    parameters += layer["parameters"].get<int64_t>();
    multiply_adds += layer["multiply_adds"].get<int64_t>();
    const auto grid = layer["output"].get<std::vector<int64_t>>();
    EXPECT_EQ(layer["bytes"], 4 * grid.at(0) * grid.at(1) * grid.at(2)) << layer;
  }
  EXPECT_EQ(parameters, 5834536);
  EXPECT_EQ(info["parameters"], 5834536);
  EXPECT_EQ(multiply_adds,
            info["dense_multiply_adds"].get<int64_t>() + info["scan_multiply_adds"].get<int64_t>());
  EXPECT_EQ(info["layers"].back()["output"], json({1, 1, 1000}));
}

// Running means and variances are stored, but nothing learns them.
TEST(Info, StatisticsOfBatchNormsAreNoParameters) {
  const json info = json::parse(vig({"info", "resnet50", "--size", "64", "--json"}).out);
  int64_t parameters = 0;
  for (const json& layer : info["layers"]) parameters += layer["parameters"].get<int64_t>();
  EXPECT_EQ(parameters, 25557032);
  EXPECT_EQ(info["parameters"], 25557032);
  EXPECT_EQ(info["scan_multiply_adds"], 0);
}

// A recipe for whole images, in words and as values.
TEST(Info, OfNetworksThatSeeWholeImages) {
  const TempDir folder;
  const std::string file = (folder / "model.safetensors").string();
  const std::pair<const char*, json> cases[] = {{"test_vig_upernet", "stretch"},
                                                {"test_vig_maskrcnn", "pad"}};
  for (const auto& [model, framing] : cases) {
    expect_success(vig({"convert", "--random", model, file, "--force"}));
    const RunResult text = vig({"info", file});
    expect_success(text);
    const json recipe = json::parse(vig({"info", file, "--json"}).out)["recipe"];
    const Recipe own = find_model(model).recipe;
    EXPECT_EQ(recipe["framing"], framing);
    EXPECT_EQ(recipe["resize"], own.resize);
    EXPECT_EQ(recipe["crop"], own.crop);
    EXPECT_EQ(recipe["longest"], own.longest);
    EXPECT_EQ(recipe["multiple"], own.multiple);
    EXPECT_EQ(recipe["window_stride"], own.window_stride);
    std::string expected = fmt::format(
        "\nrecipe: short side to {}, long side at most {}, {} to multiples of {}, ", own.resize,
        own.longest, framing == "pad" ? "padded" : "stretched", own.multiple);
    if (framing == "stretch") {
      expected += fmt::format("windows of {} every {}, ", own.crop, own.window_stride);
    }
    EXPECT_NE(text.out.find(expected + "bilinear, mean "), std::string::npos) << text.out;
  }
}

TEST(Info, TableWithChanges) {
  const RunResult result =
      vig({"info", "vig_h_t", "--set", "classes=5", "--set", "depths=1,1,1,1"});
  expect_success(result);
  EXPECT_NE(result.out.find("classes 5"), std::string::npos);
  EXPECT_NE(result.out.find("layers.3.blocks.0.op.o_proj"), std::string::npos);
  const json info = json::parse(
      vig({"info", "vig_h_t", "--set", "classes=5", "--set", "depths=1,1,1,1", "--json"}).out);
  const auto dense = info["dense_multiply_adds"].get<int64_t>();
  const auto scan = info["scan_multiply_adds"].get<int64_t>();
  EXPECT_GT(dense, scan);
  EXPECT_GT(scan, 0);
  EXPECT_NE(result.out.find("\nmultiply-adds   " + cli::grouped(dense) + " dense + " +
                            cli::grouped(scan) + " scan = " + cli::grouped(dense + scan) + "\n"),
            std::string::npos)
      << result.out;
}

// Of the lines above the table, those that name a size name one.
TEST(Info, ShowsOneInputSize) {
  const TempDir folder;
  const std::string file = make_model(folder);
  const auto sizes = [](const RunResult& result) {
    expect_success(result);
    std::set<std::string> found;
    const std::string text = result.out.substr(0, result.out.find("\n\n"));
    const std::regex size("[0-9]+x[0-9]+");
    for (std::sregex_iterator i(text.begin(), text.end(), size), end; i != end; ++i) {
      found.insert(i->str());
    }
    EXPECT_EQ(text.find("image_size"), std::string::npos) << text;
    return found;
  };
  using Sizes = std::set<std::string>;
  EXPECT_EQ(sizes(vig({"info", "vig_t"})), Sizes{"224x224"});
  EXPECT_EQ(sizes(vig({"info", file})), Sizes{"64x64"});
  EXPECT_EQ(sizes(vig({"info", "vig_t", "--set", "image_size=384"})), Sizes{"384x384"});
  EXPECT_EQ(sizes(vig({"info", "vig_h_t", "--set", "image_size=384", "--size", "96"})),
            Sizes{"96x96"});
  // The position table is named where it was made for another size.
  const RunResult other = vig({"info", file, "--size", "96"});
  EXPECT_EQ(sizes(other), (Sizes{"64x64", "96x96"}));
  EXPECT_NE(other.out.find("centre 96x96"), std::string::npos) << other.out;
  EXPECT_NE(other.out.find("input: 96x96, one image, position table resized from 64x64\n"),
            std::string::npos)
      << other.out;
  EXPECT_EQ(sizes(vig({"info", file, "--size", "64x96"})), (Sizes{"64x64", "64x96"}));
  const json as_json = json::parse(vig({"info", file, "--size", "96", "--json"}).out);
  EXPECT_EQ(as_json["input"], json({96, 96}));
  EXPECT_EQ(as_json["recipe"]["crop"], 96);
}

TEST(Info, CountsThatDoNotFitAreAnError) {
  expect_complaint(
      vig({"info", "vig_t", "--set", "embed_dim=1048576", "--set", "heads=1", "--size", "8192"}), 2,
      "multiply-adds do not fit 63 bits");
}

TEST(Info, StagesThatDisagreeSayWhatToGive) {
  expect_complaint(vig({"info", "vig_h_t", "--set", "depths=2,2"}), 2, "depths=2,2 are 2");
}

TEST(Info, OfAFile) {
  const TempDir folder;
  const RunResult result = vig({"info", make_model(folder)});
  expect_success(result);
  EXPECT_NE(result.out.find("test_vig"), std::string::npos);
  EXPECT_NE(result.out.find("10 (ant, bee"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("centre 64x64"), std::string::npos) << result.out;
}

// How a model was trained travels with it and can be read again.
TEST(Info, WhatElseTheFileSays) {
  const TempDir folder;
  const std::string file = make_model(folder),
                    described = (folder / "described.safetensors").string();
  const Checkpoint checkpoint = Checkpoint::open(file);
  Metadata metadata = checkpoint.metadata();
  metadata["vig.training"] = "{\"top1\":0.9}";
  metadata["odd\x1bkey"] = "odd\nvalue";
  write_safetensors(described, checkpoint.tensors(), metadata);
  const RunResult text = vig({"info", described});
  expect_success(text);
  EXPECT_NE(text.out.find("\nvig.training: {\"top1\":0.9}\n"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("\nodd\\x1bkey: odd\\x0avalue\n"), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("vig.recipe"), std::string::npos);
  const RunResult as_json = vig({"info", described, "--json"});
  expect_success(as_json);
  EXPECT_EQ(json::parse(as_json.out)["metadata"]["vig.training"], "{\"top1\":0.9}");
  EXPECT_FALSE(json::parse(vig({"info", file, "--json"}).out).contains("metadata"));
}

TEST(Info, ASizeWithoutATokenIsAnError) {
  expect_complaint(vig({"info", "vig_t", "--size", "1"}), 1, "too small");
}

}  // namespace
}  // namespace vig::test
