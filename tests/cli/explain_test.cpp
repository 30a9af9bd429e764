// `vig explain` as its users see it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>

#include "cli/npy_file.h"
#include "cli/vig.h"
#include "vig/image/decode.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Explain : public testing::Test {
 protected:
  void SetUp() override { model_ = make_model(folder_); }
  RunResult explain(std::vector<std::string> options) {
    options.insert(options.begin(), {"explain", "-m", model_, cat_, "--out", out()});
    return vig(options);
  }
  std::string out() const { return (folder_ / "out").string(); }
  bool written(const char* name) const { return fs::exists(folder_ / "out" / name); }

  TempDir folder_;
  std::string model_;
  const std::string cat_ = data("image/photos/cat_chelsea.png");
};

TEST_F(Explain, EvidenceHasTheLogitAsItsMean) {
  const json classified = json::parse(vig({"classify", "-m", model_, cat_, "--json"}).out)[0];
  const RunResult result = explain({"--json", "--npy"});
  expect_success(result);
  const json one = json::parse(result.out)[0];
  EXPECT_EQ(one["class"], classified["classes"][0]);
  double sum = 0;
  for (const json& value : one["values"]) sum += value.get<double>();
  EXPECT_NEAR(sum / static_cast<double>(one["values"].size()), one["class"]["logit"], 1e-5);
  EXPECT_EQ(one["shape"][0].get<size_t>() * one["shape"][1].get<size_t>(), one["values"].size());
  EXPECT_TRUE(written("cat_chelsea.evidence.png"));
  const Array array = read_npy(folder_ / "out/cat_chelsea.map.npy");
  EXPECT_NE(array.header.find("'shape': (4, 4,)"), std::string::npos) << array.header;
  EXPECT_EQ(array.values, one["values"].get<std::vector<float>>());
}

// The text says what the JSON says.
TEST_F(Explain, TextNamesTheClassesAndTheEnds) {
  const std::vector<std::string> options = {"--class", "dog", "--against", "0"};
  const RunResult text = explain(options);
  expect_success(text);
  std::vector<std::string> as_json = options;
  as_json.emplace_back("--json");
  const json one = json::parse(explain(as_json).out)[0];
  EXPECT_EQ(one["class"]["name"], "dog");
  EXPECT_EQ(one["against"]["name"], "ant");
  const auto values = one["values"].get<std::vector<float>>();
  const auto [least, most] = std::ranges::minmax(values);
  EXPECT_EQ(text.out,
            fmt::format("{}\n  dog {:.4f} against ant {:.4f}: evidence from {:.4f} to {:.4f}\n",
                        cat_, one["class"]["logit"].get<double>(),
                        one["against"]["logit"].get<double>(), least, most));
}

// What comes from a stream can be read once, and is drawn on as a file would be.
TEST_F(Explain, StandardInputIsDrawnOn) {
  expect_success(explain({}));
  const RunResult result =
      vig({"explain", "-m", model_, "--out", out(), "-", cat_}, {.input = read_file(cat_)});
  expect_success(result);
  EXPECT_EQ(read_file(out() + "/standard-input.evidence.png"),
            read_file(out() + "/cat_chelsea.evidence.png"));
}

// Names of files are those of the images, whichever of them can be read.
TEST_F(Explain, ABrokenImageIsReportedAndTheOthersKeepTheirNames) {
  const std::string broken = data("image/broken/zero_byte.png");
  const RunResult result = vig({"explain", "-m", model_, "--out", out(), broken, cat_, "--json"});
  expect_complaint(result, 3, "zero_byte.png");
  const json list = json::parse(result.out);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TRUE(list[0].contains("error"));
  EXPECT_FALSE(list[0].contains("image"));
  EXPECT_EQ(list[1]["image"], out() + "/cat_chelsea.evidence.png");
  EXPECT_TRUE(written("cat_chelsea.evidence.png"));
  EXPECT_FALSE(written("zero_byte.evidence.png"));
}

TEST_F(Explain, AttentionOfAPosition) {
  const RunResult result = explain({"--at", "0.1,0.9", "--layer", "0", "--head", "1", "--json"});
  expect_success(result);
  const json one = json::parse(result.out)[0];
  EXPECT_EQ(one["layer"], 0);
  EXPECT_EQ(one["head"], 1);
  EXPECT_EQ(one["row"], 3);  // of 4 x 4 tokens
  EXPECT_EQ(one["column"], 0);
  EXPECT_TRUE(written("cat_chelsea.attention.png"));
  const RunResult text = explain({"--at", "0.9,0.6"});
  expect_success(text);
  const json corner = json::parse(explain({"--at", "0.9,0.6", "--json"}).out)[0];
  const auto values = corner["values"].get<std::vector<float>>();
  const auto most = std::ranges::max_element(values) - values.begin();
  ASSERT_NE(most / 4, most % 4) << "rows could be taken for columns";
  EXPECT_EQ(
      text.out,
      fmt::format("{}\n  layer 1, all heads: the token in row 2, column 3 of 4 x 4 takes most "
                  "from row {}, column {}\n",
                  cat_, most / 4, most % 4));
}

TEST_F(Explain, AllDirectionsSideBySide) {
  const RunResult one = explain({"--at", "0.4,0.6", "--layer", "0"});
  expect_success(one);
  const Image alone = read_image(out() + "/cat_chelsea.attention.png");
  const RunResult all =
      explain({"--at", "0.4,0.6", "--layer", "0", "--direction", "all", "--json"});
  expect_success(all);
  const Image three = read_image(out() + "/cat_chelsea.attention.png");
  EXPECT_GT(three.width, 3 * alone.width);
  EXPECT_EQ(three.height, alone.height);
  const json found = json::parse(all.out)[0];
  for (size_t t = 0; t < found["values"].size(); ++t) {
    EXPECT_NEAR(found["values"][t].get<double>(),
                (found["forward"][t].get<double>() + found["backward"][t].get<double>()) / 2, 1e-6);
  }
}

// In the middle of the image, all of which is seen.
TEST_F(Explain, OpacityIsHowMuchTheImageIsCovered) {
  const auto middle = [](const std::string& file) {
    const Image image = read_image(file);
    std::vector<uint8_t> pixels;
    for (int y = 100; y < 200; ++y) {  // of 451 x 300
      const uint8_t* row = image.row(y) + 175 * 3;
      pixels.insert(pixels.end(), row, row + 300);
    }
    return pixels;
  };
  const auto drawn = [&](const std::vector<std::string>& options) {
    expect_success(explain(options));
    return middle(out() + "/cat_chelsea.evidence.png");
  };
  std::vector<uint8_t> grey = middle(cat_);
  for (size_t i = 0; i < grey.size(); i += 3) {
    const double brightness = 0.299 * grey[i] + 0.587 * grey[i + 1] + 0.114 * grey[i + 2];
    std::fill_n(&grey[i], 3, static_cast<uint8_t>(std::lround(brightness)));
  }
  EXPECT_EQ(drawn({"--opacity", "0"}), grey);
  const auto usual = drawn({}), whole = drawn({"--opacity", "1"});
  EXPECT_NE(usual, grey);
  EXPECT_NE(usual, whole);
  EXPECT_EQ(drawn({"--opacity", "0.7"}), usual);
  expect_complaint(explain({"--opacity", "1.1"}), 2, "--opacity");
}

TEST_F(Explain, LargeDrawingsGetAPreview) {
  const std::string large = (folder_ / "large.pgm").string();
  write_file(large, "P5 2001 2000 255\n" + std::string(2001 * 2000, 'x'));
  expect_success(vig({"explain", "-m", model_, large, "--out", out()}));
  EXPECT_EQ(read_image(out() + "/large.evidence.preview.jpg").height, 1600);
  expect_success(vig({"explain", "-m", model_, large, "--out", out(), "--at", "0,0"}));
  EXPECT_TRUE(written("large.attention.preview.jpg"));
}

TEST_F(Explain, BadUsageIsOneSentence) {
  expect_complaint(explain({"--class", "dgo"}), 2, "did you mean 'dog'");
  expect_complaint(explain({"--class", "10"}), 2, "--class");
  expect_complaint(explain({"--against=-1"}), 2, "--against -1");
  for (const char* position : {"1", "a,b", "0.5,", "0.5,0.5,0.5"}) {
    expect_complaint(explain({"--at", position}), 2, "--at");
  }
  expect_complaint(explain({"--at", "0.5,1.5"}), 2, "0 to 1");
  expect_complaint(explain({"--layer", "1"}), 2, "--at");
  expect_complaint(explain({"--head", "0"}), 2, "--at");
  expect_complaint(explain({"--direction", "all"}), 2, "--at");
  expect_complaint(explain({"--at", "0.5,0.5", "--direction", "up"}), 2, "--direction");
  expect_complaint(explain({"--at", "0.5,0.5", "--class", "dog"}), 2, "--class");
  expect_complaint(explain({"--at", "0.5,0.5", "--against", "dog"}), 2, "--against");
  expect_complaint(explain({"--at", "0.5,0.5", "--layer", "2"}), 2, "layer");
}

}  // namespace
}  // namespace vig::test
