// Images in tar files: the same results as of the files themselves.
#include <gtest/gtest.h>

#include "cli/vig.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class TarShards : public testing::Test {
 protected:
  void SetUp() override {
    model_ = make_model(folder_);
    int number = 0;
    for (const char* name :
         {"cat_chelsea.png", "flower.webp", "kitten_gray.jpg", "pixel_1x1.png"}) {
      for (const char* label : {"cat", "dog"}) {
        const std::string shard = number % 4 < 2 ? "s-0" : "s-1";
        const std::string image = std::string(label) + "/" + std::to_string(number++) + name;
        fs::create_directories(folder_ / shard / label);
        fs::create_directories(folder_ / "plain" / label);
        fs::copy_file(data(std::string("image/photos/") + name), folder_ / shard / image);
        fs::copy_file(data(std::string("image/photos/") + name), folder_ / "plain" / image);
      }
    }
    fs::create_directories(folder_ / "shards");
    for (const char* shard : {"s-0", "s-1"}) {
      const std::string tar = path(std::string("shards/") + shard + ".tar");
      ASSERT_EQ(run_program({"tar", "-cf", tar, "-C", path(shard), "--sort=name", "."}).exit_code,
                0);
    }
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  TempDir folder_;
  std::string model_;
};

TEST_F(TarShards, ClassifyAndEmbedReadImagesInTarFiles) {
  for (const char* verb : {"classify", "embed"}) {
    SCOPED_TRACE(verb);
    const auto results = [&](const std::vector<std::string>& inputs) {
      std::vector<std::string> line = {verb, "-m", model_, "--json"};
      line.insert(line.end(), inputs.begin(), inputs.end());
      const RunResult result = vig(line);
      expect_success(result);
      json list = json::parse(result.out);
      for (json& one : list) {
        const fs::path file = one["file"].get<std::string>();
        one["file"] = (file.parent_path().filename() / file.filename()).string();
      }
      return list;
    };
    const json plain = results({path("s-0"), path("s-1")});
    EXPECT_EQ(plain.size(), 8u);
    for (const std::string& input :
         {path("shards"), path("shards/s-{0..1}.tar"), path("shards/*.tar")}) {
      EXPECT_EQ(results({input}), plain) << input;
    }
    EXPECT_EQ(results({path("shards/s-0.tar"), path("shards/s-1.tar")}), plain);
  }
  const RunResult first = vig({"classify", "-m", model_, path("shards/s-1.tar"), "--json"});
  EXPECT_EQ(json::parse(first.out)[0]["file"].get<std::string>().find(path("shards/s-1.tar/cat/")),
            0u);
  expect_complaint(vig({"segment", "-m", model_, path("shards/s-0.tar")}), 2, "vig classify");
  expect_complaint(vig({"classify", "-m", model_, path("shards/s-0.tar"), "--move", path("x")}), 2,
                   "no file that can be moved");
}

TEST_F(TarShards, EvaluationsAreThoseOfTheFolder) {
  const auto report = [&](const std::string& data) {
    const RunResult result =
        vig({"eval", "-m", model_, data, "--json", "--predictions", path("p.csv")});
    expect_success(result);
    json found = json::parse(result.out);
    for (const char* key : {"data", "seconds", "images_per_second", "loss"}) found.erase(key);
    return found;
  };
  EXPECT_EQ(report(path("shards")), report(path("plain")));
  const std::string tar = path("shards/s-0.tar");
  expect_complaint(vig({"eval", "-m", model_, path("shards"), "--predictions", tar}), 2,
                   "the data");
}

}  // namespace
}  // namespace vig::test
