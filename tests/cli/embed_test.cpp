#include <gtest/gtest.h>

#include "cli/npy_file.h"
#include "cli/vig.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Embed : public testing::Test {
 protected:
  void SetUp() override {
    model_ = make_model(folder_);
    images_ = {data("image/photos/cat_chelsea.png"), data("image/broken/zero_byte.png"),
               data("image/photos/flower.webp")};
  }
  RunResult embed(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"embed", "-m", model_};
    arguments.insert(arguments.end(), images_.begin(), images_.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return vig(arguments);
  }

  TempDir folder_;
  std::string model_;
  std::vector<std::string> images_;
};

TEST_F(Embed, JsonVectors) {
  const RunResult result = embed({});
  EXPECT_EQ(result.exit_code, 3);  // one of the three is broken
  const json list = json::parse(result.out);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["file"], images_[0]);
  EXPECT_EQ(list[0]["shape"], json({64}));
  EXPECT_EQ(list[0]["values"].size(), 64u);
  EXPECT_TRUE(list[1].contains("error"));
  EXPECT_NE(list[0]["values"], list[2]["values"]);
}

TEST_F(Embed, NumpyHoldsTheSameValues) {
  const RunResult text = embed({});
  const RunResult array = embed({"--out", (folder_ / "vectors.npy").string()});
  EXPECT_EQ(array.exit_code, 3);
  EXPECT_EQ(array.out, "");
  const Array npy = read_npy(folder_ / "vectors.npy");
  EXPECT_NE(npy.header.find("'descr': '<f4'"), std::string::npos) << npy.header;
  EXPECT_NE(npy.header.find("'shape': (2, 64,)"), std::string::npos) << npy.header;
  const json list = json::parse(text.out);
  std::vector<float> expected = list[0]["values"].get<std::vector<float>>();
  const auto second = list[2]["values"].get<std::vector<float>>();
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(npy.values, expected);
  // A line for each image; those without an error name the rows.
  std::istringstream lines(read_file(folder_ / "vectors.jsonl"));
  std::string line;
  for (const std::string& image : images_) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(json::parse(line)["file"], image);
    EXPECT_EQ(json::parse(line).contains("error"), image == images_[1]);
  }
}

TEST_F(Embed, Maps) {
  const RunResult text =
      embed({"--map", "--size", "96", "--out", (folder_ / "maps.jsonl").string()});
  EXPECT_EQ(text.out, "");
  const std::string lines = read_file(folder_ / "maps.jsonl");
  EXPECT_EQ(std::ranges::count(lines, '\n'), 3);
  const json first = json::parse(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(first["shape"], json({6, 6, 64}));
  EXPECT_EQ(first["values"].size(), 6u * 6u * 64u);
  embed({"--map", "--size", "96", "--out", (folder_ / "maps.npy").string()});
  const Array npy = read_npy(folder_ / "maps.npy");
  EXPECT_NE(npy.header.find("(2, 6, 6, 64,)"), std::string::npos) << npy.header;
  EXPECT_EQ(npy.values.size(), 2u * 6u * 6u * 64u);
}

TEST_F(Embed, BadOutputs) {
  for (const char* name : {"no/such/folder/x.jsonl", "no/such/folder/x.npy"}) {
    expect_complaint(embed({"--out", (folder_ / name).string()}), 1, "no/such/folder/x.jsonl");
  }
}

TEST_F(Embed, WritesThroughLinks) {
  write_file(folder_ / "target.npy", "old");
  fs::create_symlink(folder_ / "target.npy", folder_ / "link.npy");
  embed({"--out", (folder_ / "link.npy").string()});
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.npy"));
  EXPECT_EQ(read_npy(folder_ / "target.npy").values.size(), 2u * 64u);
}

TEST_F(Embed, LeavesNothingBehind) {
  embed({"--out", (folder_ / "vectors.npy").string()});
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    EXPECT_EQ(entry.path().string().find("tmp", folder_.path().string().size()), std::string::npos)
        << entry.path();
  }
}

}  // namespace
}  // namespace vig::test
