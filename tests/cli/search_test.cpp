// `vig embed --index` and `vig search`.
#include <gtest/gtest.h>

#include "cli/vig.h"
#include "vig/pipeline/picture_index.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Search : public testing::Test {
 protected:
  void SetUp() override {
    model_ = make_model(folder_);
    fs::create_directories(folder_ / "pictures");
    for (const char* name : {"cat_chelsea.png", "flower.webp", "kitten_gray.jpg"}) {
      fs::copy_file(data(std::string("image/photos/") + name), folder_ / "pictures" / name);
    }
    index_ = (folder_ / "pictures.index").string();
  }
  std::string pictures() const { return (folder_ / "pictures").string(); }
  RunResult make_index(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {"embed", "-m", model_, pictures(), "--index", index_};
    command.insert(command.end(), more.begin(), more.end());
    RunResult result = vig(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  }
  RunResult search(std::vector<std::string> options) {
    options.insert(options.begin(), {"search", index_, "-m", model_});
    return vig(options);
  }

  TempDir folder_;
  std::string model_, index_;
};

TEST_F(Search, APictureIsMostLikeItself) {
  EXPECT_NE(make_index().err.find("3 pictures in"), std::string::npos);
  const RunResult result = search({pictures(), "--json", "--top", "2"});
  expect_success(result);
  for (const json& picture : json::parse(result.out)) {
    ASSERT_EQ(picture["neighbours"].size(), 2u);
    EXPECT_EQ(picture["neighbours"][0]["file"], picture["file"]);
    EXPECT_NEAR(picture["neighbours"][0]["cosine"].get<double>(), 1.0, 1e-5);
    EXPECT_LT(picture["neighbours"][1]["cosine"], 0.99999);
  }
  const std::string page = (folder_ / "page.html").string();
  const std::string flower = data("image/photos/flower.webp");
  const RunResult text = search({flower, "--html", page, "--top", "1"});
  expect_success(text);
  EXPECT_EQ(text.out, flower + "\n   1.0000  " + pictures() + "/flower.webp\n");
  EXPECT_NE(read_file(page).find("data:image/jpeg"), std::string::npos);
}

// Cosines are those of the vectors that embed prints.
TEST_F(Search, CosinesAreThoseOfTheVectors) {
  make_index();
  const json vectors = json::parse(vig({"embed", "-m", model_, pictures()}).out);
  const json found = json::parse(search({pictures(), "--json", "--top", "9"}).out);
  const auto cosine = [&](size_t a, size_t b) {
    double product = 0, left = 0, right = 0;
    for (size_t c = 0; c < vectors[a]["values"].size(); ++c) {
      const double x = vectors[a]["values"][c], y = vectors[b]["values"][c];
      product += x * y;
      left += x * x;
      right += y * y;
    }
    return product / std::sqrt(left * right);
  };
  for (size_t a = 0; a < 3; ++a) {
    ASSERT_EQ(found[a]["neighbours"].size(), 3u);
    double last = 2;
    for (const json& one : found[a]["neighbours"]) {
      size_t b = 0;
      while (vectors[b]["file"] != one["file"]) ++b;
      EXPECT_NEAR(one["cosine"].get<double>(), cosine(a, b), 1e-5);
      EXPECT_LE(one["cosine"].get<double>(), last);
      last = one["cosine"];
    }
  }
}

TEST_F(Search, TheSizeOfTheIndexIsThatOfTheSearch) {
  make_index({"--size", "96"});
  const auto cosines = [&](const std::vector<std::string>& more) {
    std::vector<std::string> options = {pictures(), "--json", "--top", "1"};
    options.insert(options.end(), more.begin(), more.end());
    const RunResult result = search(options);
    expect_success(result);
    std::vector<double> values;
    for (const json& picture : json::parse(result.out)) {
      EXPECT_EQ(picture["neighbours"][0]["file"], picture["file"]);
      values.push_back(picture["neighbours"][0]["cosine"]);
    }
    return values;
  };
  for (const double cosine : cosines({})) EXPECT_NEAR(cosine, 1, 1e-5);
  for (const double cosine : cosines({"--size", "64"})) EXPECT_LT(cosine, 1 - 1e-4);
}

// Pictures that cannot be read have no vector; the others keep theirs.
TEST_F(Search, BrokenPicturesLeaveTheOthersTheirNeighbours) {
  write_file(folder_ / "pictures/broken.png", "no picture");
  const RunResult made = vig({"embed", "-m", model_, pictures(), "--index", index_});
  EXPECT_EQ(made.exit_code, 1);
  EXPECT_NE(made.err.find("broken.png"), std::string::npos) << made.err;
  EXPECT_NE(made.err.find("vig: 3 pictures in " + index_ + "\n"), std::string::npos) << made.err;
  EXPECT_EQ(SafeTensors::open(index_).metadata().at("vig.index"),
            R"({"arch":"test_vig","size":0})");
  const RunResult result = search({pictures(), "--json", "--top", "1", "--batch", "4"});
  expect_complaint(result, 1, "broken.png");
  const json list = json::parse(result.out);
  ASSERT_EQ(list.size(), 4u);
  for (const json& picture : list) {
    const bool broken = picture["file"] == pictures() + "/broken.png";
    EXPECT_EQ(picture.contains("error"), broken) << picture;
    if (!broken) {
      EXPECT_EQ(picture["neighbours"][0]["file"], picture["file"]);
    }
  }
}

// Rows are compared in blocks of 4096.
TEST_F(Search, AnIndexOfSeveralBlocks) {
  constexpr int kRows = 9000;
  std::vector<float> vectors;
  json files;
  for (int i = 0; i < kRows; ++i) {  // a quarter of a circle
    const double angle = i * 1.57 / kRows;
    vectors.push_back(static_cast<float>(std::cos(angle)));
    vectors.push_back(static_cast<float>(std::sin(angle)));
    files.push_back(std::to_string(i));
  }
  const float probe[] = {1, 0};
  write_safetensors(index_,
                    std::vector<NamedTensor>{{"vectors", {vectors.data(), DType::kF32, {kRows, 2}}},
                                             {"probe", {probe, DType::kF32, {2}}}},
                    {{"vig.index", R"({"arch":"none","size":0})"}, {"vig.files", files.dump()}});
  const PictureIndex index = PictureIndex::open(index_);
  ASSERT_EQ(index.size(), static_cast<size_t>(kRows));
  const std::vector<std::vector<float>> ends = {{1, 0}, {0, 1}};
  const auto found = index.nearest(ends, 3);
  const auto places = [](const std::vector<Neighbour>& list) {
    std::vector<size_t> rows;
    for (const Neighbour& one : list) rows.push_back(one.picture);
    return rows;
  };
  EXPECT_NEAR(found[1][0].cosine, 1, 1e-5);
  EXPECT_EQ(places(found[1]), (std::vector<size_t>{kRows - 1, kRows - 2, kRows - 3}));
  EXPECT_EQ(places(found[0])[0], 0u);
}

TEST_F(Search, AnotherNetworkIsRefused) {
  make_index();
  const RunResult result = vig({"search", index_, pictures()});  // the default model
  expect_complaint(result, 1, "another network");
}

TEST_F(Search, BrokenIndicesAreNamed) {
  make_index();
  const std::string bytes = read_file(index_);
  expect_complaint(vig({"search", model_, "-m", model_, pictures()}), 1, "vig embed --index");
  write_file(index_, bytes.substr(0, bytes.size() / 2));
  expect_complaint(search({pictures()}), 1, "pictures.index");
  write_file(index_, "");
  expect_complaint(search({pictures()}), 1, "pictures.index");
  expect_complaint(vig({"embed", "-m", model_, pictures(), "--index", index_, "--map"}), 2,
                   "--index");
  // An output is no input.
  expect_complaint(vig({"embed", "-m", model_, pictures(), "--index", model_}), 2, "--index");
}

}  // namespace
}  // namespace vig::test
