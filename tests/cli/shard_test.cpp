// Jobs that share images by --shard: what they write together is what one job writes.
#include <gtest/gtest.h>

#include <map>

#include "cli/vig.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Shards : public testing::Test {
 protected:
  // Images of one name in several folders.
  void SetUp() override {
    for (const char* path : {"a/cat", "b/cat", "b/dog"}) {
      fs::create_directories(folder_ / "images" / path);
      fs::copy_file(data("image/photos/cat_progressive_320x240.jpg"),
                    folder_ / "images" / path / "same.jpg");
    }
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // A miniature with random weights.
  std::string dense_model(const std::string& arch) const {
    const std::string file = path(arch + ".safetensors");
    EXPECT_EQ(vig({"convert", arch, file, "--random"}).exit_code, 0);
    return file;
  }
  std::map<std::string, std::string> files_of(const std::string& folder) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder_ / folder)) {
      files[entry.path().filename().string()] = read_file(entry.path());
    }
    return files;
  }
  // Runs a command as a whole and in two parts; gives what both printed as JSON.
  std::pair<json, json> both_ways(const std::vector<std::string>& command) {
    const auto classify = [&](const std::string& out, const std::string& shard) {
      std::vector<std::string> line = command;
      line.insert(line.end(), {path("images"), "--json", "--out", path(out)});
      if (!shard.empty()) line.insert(line.end(), {"--shard", shard});
      const RunResult result = vig(line);
      expect_success(result);
      std::string text = result.out;
      for (size_t at; (at = text.find(path(out))) != std::string::npos;) {
        text.replace(at, path(out).size(), "OUT");
      }
      return json::parse(text);
    };
    const json whole = classify("whole", "");
    json parts = classify("parts", "1/2");
    const json second = classify("parts", "2/2");
    parts.insert(parts.end(), second.begin(), second.end());
    return {whole, parts};
  }

  TempDir folder_;
};

TEST_F(Shards, DrawingsOfDifferentPartsHaveDifferentNames) {
  const auto [whole, parts] =
      both_ways({"segment", "-m", dense_model("test_vig_upernet"), "--threads", "2"});
  EXPECT_EQ(whole, parts);
  EXPECT_EQ(files_of("whole").size(), 6u);
  EXPECT_EQ(files_of("whole"), files_of("parts"));
}

TEST_F(Shards, IdsOfImagesAreThoseOfTheWhole) {
  const auto [whole, parts] =
      both_ways({"detect", "-m", dense_model("test_vig_maskrcnn"), "--score", "0.05"});
  EXPECT_EQ(whole, parts);
  EXPECT_EQ(files_of("whole").size(), 3u);
  EXPECT_EQ(files_of("whole"), files_of("parts"));
}

// Ids are the numbers of files, those of the images where each has its own.
TEST_F(Shards, TwoImagesOfOneNumberAreCounted) {
  fs::rename(path("images/a/cat/same.jpg"), path("images/a/cat/7.jpg"));
  fs::rename(path("images/b/cat/same.jpg"), path("images/b/cat/9.jpg"));
  const std::string model = dense_model("test_vig_maskrcnn");
  const auto ids = [&](const char* last) {
    fs::copy_file(path("images/b/dog/same.jpg"), path(std::string("images/b/cat/") + last));
    const RunResult result = vig({"detect", "-m", model, path("images/a"), path("images/b/cat"),
                                  "--score", "0.05", "--json", "--out", path("out")});
    expect_success(result);
    std::set<int> found;
    for (const json& one : json::parse(result.out)) found.insert(one.at("image_id").get<int>());
    fs::remove(path(std::string("images/b/cat/") + last));
    return found;
  };
  EXPECT_EQ(ids("11.jpg"), (std::set<int>{7, 9, 11}));
  EXPECT_EQ(ids("7.jpg"), (std::set<int>{1, 2, 3}));
  EXPECT_EQ(ids("11a.jpg"), (std::set<int>{1, 2, 3}));
}

// What is wrong with the list is said once, not by every job.
TEST_F(Shards, TheFirstPartNamesTheProblemsOfTheList) {
  const std::string model = make_model(folder_);
  const auto classify = [&](const std::string& shard) {
    return vig({"classify", "-m", model, path("images"), path("none*.jpg"), "--shard", shard});
  };
  expect_complaint(classify("1/2"), 3, "none*.jpg");
  expect_success(classify("2/2"));
}

TEST_F(Shards, EvaluationsCountTheirOwnPart) {
  const std::string model = make_model(folder_);
  const auto eval = [&](const std::string& predictions, const std::vector<std::string>& more) {
    std::vector<std::string> command = {
        "eval", "-m", model, path("images/b"), "--predictions", path(predictions), "--json"};
    command.insert(command.end(), more.begin(), more.end());
    return vig(command);
  };
  const RunResult whole = eval("whole.csv", {});
  expect_success(whole);
  int64_t images = 0;
  std::string concatenated;
  for (const char* shard : {"1/2", "2/2"}) {
    const RunResult part = eval("part.csv", {"--shard", shard});
    expect_success(part);
    images += json::parse(part.out)["images"].get<int64_t>();
    concatenated += read_file(path("part.csv"));
  }
  EXPECT_EQ(images, json::parse(whole.out)["images"]);
  EXPECT_EQ(concatenated, read_file(path("whole.csv")));
  expect_complaint(eval("part.csv", {"--shard", "1/3"}), 2, "more parts than the 2 images");
  expect_complaint(eval("part.csv", {"--shard", "0/3"}), 2, "--shard");
}

}  // namespace
}  // namespace vig::test
