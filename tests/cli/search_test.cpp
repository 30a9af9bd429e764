// `vig embed --index` and `vig search`.
#include <gtest/gtest.h>

#include "cli/vig.h"

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
  RunResult make_index() {
    RunResult result = vig({"embed", "-m", model_, pictures(), "--index", index_});
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
  const RunResult text = search({data("image/photos/flower.webp"), "--html", page});
  expect_success(text);
  EXPECT_NE(text.out.find("flower.webp\n"), std::string::npos) << text.out;
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
