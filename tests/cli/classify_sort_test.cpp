// `vig classify` with a threshold, by shards, and sorting images into folders.
#include <gtest/gtest.h>

#include "cli/vig.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class ClassifySort : public testing::Test {
 protected:
  void SetUp() override {
    model_ = make_model(folder_);
    fs::create_directories(folder_ / "images/below");
    fs::copy_file(data("image/photos/cat_chelsea.png"), folder_ / "images/a.png");
    fs::copy_file(data("image/photos/cat_chelsea.png"), folder_ / "images/below/a.png");
    fs::copy_file(data("image/photos/flower.webp"), folder_ / "images/b.webp");
    fs::copy_file(data("image/photos/kitten_gray.jpg"), folder_ / "images/c.jpg");
  }
  RunResult classify(std::vector<std::string> options) {
    options.insert(options.begin(), {"classify", "-m", model_, (folder_ / "images").string()});
    return vig(options);
  }
  size_t files_below(const char* name) const {
    size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / name)) {
      files += entry.is_regular_file() ? 1 : 0;
    }
    return files;
  }

  TempDir folder_;
  std::string model_;
};

TEST_F(ClassifySort, BelowTheThresholdItIsNoneOfThem) {
  const RunResult certain = classify({"--threshold", "1"});
  expect_success(certain);
  EXPECT_NE(certain.out.find("none of them: no class reaches 100 %"), std::string::npos);
  const json none = json::parse(classify({"--threshold", "1", "--json"}).out);
  const json some = json::parse(classify({"--threshold", "0.01", "--json"}).out);
  for (const json& image : none) EXPECT_EQ(image["none_of_them"], true);
  for (const json& image : some) EXPECT_EQ(image["none_of_them"], false);
  EXPECT_FALSE(json::parse(classify({"--json"}).out)[0].contains("none_of_them"));
  const std::string csv = (folder_ / "predictions.csv").string();
  expect_success(classify({"--threshold", "1", "--out", csv, "--top", "1"}));
  EXPECT_NE(read_file(csv).find("\nfile,prediction,index1"), 0u);
  EXPECT_NE(read_file(csv).find("b.webp\",none of them,"), std::string::npos);
  expect_complaint(classify({"--threshold", "2"}), 2, "--threshold");
}

TEST_F(ClassifySort, ShardsInTheirOrderAreTheWhole) {
  const std::string whole = (folder_ / "whole.csv").string();
  expect_success(classify({"--out", whole}));
  std::string joined, text;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    const std::string part = (folder_ / "part.csv").string();
    expect_success(classify({"--out", part, "--shard", shard}));
    joined += read_file(part);
    text += classify({"--shard", shard}).out;
  }
  EXPECT_EQ(joined, read_file(whole));
  EXPECT_EQ(text, classify({}).out);
  // More parts than images: some are empty, and that is no error.
  expect_success(classify({"--shard", "1/9"}));
  for (const char* bad : {"0/3", "4/3", "2", "a/b", "1/2/3", "-1/2"}) {
    expect_complaint(classify({std::string("--shard=") + bad}), 2, "--shard");
  }
}

TEST_F(ClassifySort, MovesIntoFoldersAndNeverOverwrites) {
  const std::string sorted = (folder_ / "sorted").string();
  const json results = json::parse(classify({"--json", "--top", "1"}).out);
  expect_success(classify({"--move", sorted}));
  EXPECT_EQ(files_below("sorted"), 4u);
  EXPECT_EQ(files_below("images"), 0u);
  for (const json& result : results) {
    const fs::path name = fs::path(result["file"].get<std::string>()).filename();
    EXPECT_TRUE(fs::exists(fs::path(sorted) / result["classes"][0]["name"] / name)) << name;
  }
  // Two images of one name and class.
  const std::string cat = results[0]["classes"][0]["name"];
  EXPECT_TRUE(fs::exists(fs::path(sorted) / cat / "a (2).png"));
  // Again, from where they are now: they stay.
  expect_success(vig({"classify", "-m", model_, sorted, "--move", sorted}));
  EXPECT_EQ(files_below("sorted"), 4u);
  EXPECT_TRUE(fs::exists(fs::path(sorted) / cat / "a (2).png"));
}

TEST_F(ClassifySort, WhatCannotBeMovedStays) {
  write_file(folder_ / "file", "no folder");
  expect_complaint(classify({"--move", (folder_ / "file").string()}), 1, "file");
  EXPECT_EQ(files_below("images"), 4u);
  expect_complaint(vig({"classify", "-m", model_, "-", "--move", (folder_ / "to").string()}), 2,
                   "--move");
  expect_complaint(classify({"--move", (folder_ / "to").string(), "--shard", "1/2"}), 2, "--shard");
  expect_complaint(classify({"--threshold", "nan"}), 2, "found nan");
  // Broken images have no class.
  write_file(folder_ / "images/d.png", "no image");
  const RunResult result = classify({"--move", (folder_ / "to").string()});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(files_below("to"), 4u);
  EXPECT_TRUE(fs::exists(folder_ / "images/d.png"));
}

// From another folder it would lead elsewhere.
TEST_F(ClassifySort, ARelativeLinkStays) {
  fs::create_symlink("a.png", folder_ / "images/link.png");
  const RunResult linked = classify({"--move", (folder_ / "linked").string()});
  EXPECT_EQ(linked.exit_code, 3);
  EXPECT_NE(linked.err.find("a link to a.png"), std::string::npos) << linked.err;
  EXPECT_TRUE(fs::is_symlink(folder_ / "images/link.png"));
}

// A class of an untrusted file may have any name.
TEST_F(ClassifySort, NoClassLeadsOutOfTheFolder) {
  const std::string cat = data("image/photos/cat_chelsea.png");
  const int predicted =
      json::parse(vig({"classify", "-m", model_, cat, "--json"}).out)[0]["classes"][0]["index"];
  const std::pair<const char*, const char*> cases[] = {{"..", "_."},
                                                       {".", "_"},
                                                       {"../x", "_._x"},
                                                       {"/x", "_x"},
                                                       {"a/../../x", "a_.._.._x"},
                                                       {".hidden", "_hidden"},
                                                       {"a.b", "a.b"}};
  for (const auto& [name, expected] : cases) {
    SCOPED_TRACE(name);
    const TempDir own;
    std::string classes;
    for (int i = 0; i < 10; ++i) {
      classes += (i == predicted ? name : "other " + std::to_string(i)) + "\n";
    }
    write_file(own / "classes.txt", classes);
    const std::string hostile = (own / "model.safetensors").string();
    expect_success(vig({"convert", golden("vig-mini-silu.pth"), hostile, "--arch", "test_vig",
                        "--classes", (own / "classes.txt").string()}));
    fs::create_directories(own / "x/y");
    fs::copy_file(cat, own / "cat.png");
    expect_success(vig({"classify", "-m", hostile, (own / "cat.png").string(), "--move",
                        (own / "x/y/sorted").string()}));
    EXPECT_TRUE(fs::exists(own / "x/y/sorted" / expected / "cat.png"));
  }
}

TEST_F(ClassifySort, ClassesWithoutNamesAreIndices) {
  const std::string nameless = (folder_ / "nameless.safetensors").string();
  expect_success(vig({"convert", golden("vig-mini-silu.pth"), nameless, "--arch", "test_vig"}));
  model_ = nameless;
  const json results = json::parse(classify({"--json", "--top", "1"}).out);
  ASSERT_EQ(results.size(), 4u);
  expect_success(classify({"--move", (folder_ / "sorted").string()}));
  for (const json& result : results) {
    const fs::path name = fs::path(result["file"].get<std::string>()).filename();
    EXPECT_TRUE(fs::exists(folder_ / "sorted" / result["classes"][0]["index"].dump() / name))
        << name;
  }
}

TEST_F(ClassifySort, NoneOfThemIsAFolder) {
  expect_success(classify({"--threshold", "1", "--move", (folder_ / "sorted").string()}));
  EXPECT_EQ(files_below("sorted/none of them"), 4u);
}

}  // namespace
}  // namespace vig::test
