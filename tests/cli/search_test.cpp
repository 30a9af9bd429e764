// `vig embed --index` and `vig search`.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <limits>

#include "cli/vig.h"
#include "vig/pipeline/image_index.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json names_of(const std::string& index) {
  return json::parse(SafeTensors::open(index).metadata().at("vig.files"));
}

int images_in(const fs::path& page) {
  const std::string html = read_file(page), image = "data:image/jpeg";
  int count = 0;
  for (size_t at = 0; (at = html.find(image, at)) != std::string::npos; ++at) ++count;
  return count;
}

// The index with other vectors or names.
void rewrite(const std::string& path,
             const std::function<void(std::vector<float>& vectors, json& names)>& change) {
  std::vector<float> vectors, probe;
  Metadata metadata;
  Shape shape;
  {
    const SafeTensors file = SafeTensors::open(path);
    const auto copy = [&](const char* name) {
      const TensorView& view = file.find(name)->view;
      const auto* const data = static_cast<const float*>(view.data);
      return std::vector<float>(data, data + view.shape.elements());
    };
    vectors = copy("vectors");
    probe = copy("probe");
    metadata = file.metadata();
    shape = file.find("vectors")->view.shape;
  }
  json names = json::parse(metadata.at("vig.files"));
  change(vectors, names);
  metadata["vig.files"] = names.dump();
  write_safetensors(path,
                    std::vector<NamedTensor>{{"vectors", {vectors.data(), DType::kF32, shape}},
                                             {"probe", {probe.data(), DType::kF32, {shape[1]}}}},
                    metadata);
}

void rename_all(const std::string& index, const std::string& name) {
  rewrite(index, [&](std::vector<float>&, json& names) {
    for (json& one : names) one = name;
  });
}

class Search : public testing::Test {
 protected:
  void SetUp() override {
    model_ = make_model(folder_);
    fs::create_directories(folder_ / "images");
    for (const char* name : {"cat_chelsea.png", "flower.webp", "kitten_gray.jpg"}) {
      fs::copy_file(data(std::string("image/photos/") + name), folder_ / "images" / name);
    }
    index_ = (folder_ / "images.index").string();
  }
  std::string images() const { return (folder_ / "images").string(); }
  RunResult make_index(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {"embed", "-m", model_, images(), "--index", index_};
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

TEST_F(Search, AImageIsMostLikeItself) {
  EXPECT_NE(make_index().err.find("3 images in"), std::string::npos);
  const RunResult result = search({images(), "--json", "--top", "2"});
  expect_success(result);
  for (const json& image : json::parse(result.out)) {
    ASSERT_EQ(image["neighbours"].size(), 2u);
    EXPECT_EQ(image["neighbours"][0]["file"], image["file"]);
    EXPECT_NEAR(image["neighbours"][0]["cosine"].get<double>(), 1.0, 1e-5);
    EXPECT_LT(image["neighbours"][1]["cosine"], 0.99999);
  }
  const std::string page = (folder_ / "page.html").string();
  const std::string flower = data("image/photos/flower.webp");
  const RunResult text = search({flower, "--html", page, "--top", "1"});
  expect_success(text);
  EXPECT_EQ(text.out, flower + "\n   1.0000  " + images() + "/flower.webp\n");
  EXPECT_NE(read_file(page).find("data:image/jpeg"), std::string::npos);
}

// Cosines are those of the vectors that embed prints.
TEST_F(Search, CosinesAreThoseOfTheVectors) {
  make_index();
  const json vectors = json::parse(vig({"embed", "-m", model_, images()}).out);
  const json found = json::parse(search({images(), "--json", "--top", "9"}).out);
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
    std::vector<std::string> options = {images(), "--json", "--top", "1"};
    options.insert(options.end(), more.begin(), more.end());
    const RunResult result = search(options);
    expect_success(result);
    std::vector<double> values;
    for (const json& image : json::parse(result.out)) {
      EXPECT_EQ(image["neighbours"][0]["file"], image["file"]);
      values.push_back(image["neighbours"][0]["cosine"]);
    }
    return values;
  };
  for (const double cosine : cosines({})) EXPECT_NEAR(cosine, 1, 1e-5);
  for (const double cosine : cosines({"--size", "64"})) EXPECT_LT(cosine, 1 - 1e-4);
}

// Images that cannot be read have no vector; the others keep theirs.
TEST_F(Search, BrokenImagesLeaveTheOthersTheirNeighbours) {
  write_file(folder_ / "images/broken.png", "no image");
  const RunResult made = vig({"embed", "-m", model_, images(), "--index", index_});
  EXPECT_EQ(made.exit_code, 3);
  EXPECT_NE(made.err.find("broken.png"), std::string::npos) << made.err;
  EXPECT_NE(made.err.find("vig: 3 images in " + index_ + "\n"), std::string::npos) << made.err;
  EXPECT_EQ(SafeTensors::open(index_).metadata().at("vig.index"),
            R"({"arch":"test_vig","size":0})");
  const RunResult result = search({images(), "--json", "--top", "1", "--batch", "4"});
  expect_complaint(result, 3, "broken.png");
  const json list = json::parse(result.out);
  ASSERT_EQ(list.size(), 4u);
  for (const json& image : list) {
    const bool broken = image["file"] == images() + "/broken.png";
    EXPECT_EQ(image.contains("error"), broken) << image;
    if (!broken) {
      EXPECT_EQ(image["neighbours"][0]["file"], image["file"]);
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
  const ImageIndex index = ImageIndex::open(index_);
  ASSERT_EQ(index.size(), static_cast<size_t>(kRows));
  const std::vector<std::vector<float>> ends = {{1, 0}, {0, 1}};
  const auto found = index.nearest(ends, 3);
  const auto indices = [](const std::vector<Neighbour>& list) {
    std::vector<size_t> rows;
    for (const Neighbour& one : list) rows.push_back(one.image);
    return rows;
  };
  EXPECT_NEAR(found[1][0].cosine, 1, 1e-5);
  EXPECT_EQ(indices(found[1]), (std::vector<size_t>{kRows - 1, kRows - 2, kRows - 3}));
  EXPECT_EQ(indices(found[0])[0], 0u);
}

// So that images and index can be moved together, and a search can be made from anywhere.
TEST_F(Search, NamesAreRelativeToTheIndex) {
  make_index();
  EXPECT_EQ(names_of(index_),
            json({"images/cat_chelsea.png", "images/flower.webp", "images/kitten_gray.jpg"}));
  const fs::path moved = folder_ / "moved";
  fs::create_directories(moved);
  fs::rename(folder_ / "images", moved / "images");
  fs::rename(index_, moved / "images.index");
  const RunResult result = vig({"search", "images.index", "-m", model_, "images/flower.webp",
                                "--top", "1", "--html", "page.html"},
                               {.directory = moved});
  expect_success(result);
  EXPECT_EQ(result.out, "images/flower.webp\n   1.0000  images/flower.webp\n");
  EXPECT_EQ(images_in(moved / "page.html"), 2);
  // An index in another folder, behind a link, and one beside its images.
  fs::create_directories(folder_ / "far/away");
  fs::create_directory_symlink(folder_ / "far/away", folder_ / "link");
  const auto name_in = [&](const std::string& index, const std::string& image) {
    const RunResult made =
        vig({"embed", "-m", model_, image, "--index", index}, {.directory = folder_.path()});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return names_of((folder_ / index).string()).at(0).get<std::string>();
  };
  const std::string flower = "moved/images/flower.webp";
  EXPECT_EQ(name_in("a.index", flower), flower);
  EXPECT_EQ(name_in("a.index", (folder_ / flower).string()), flower);
  EXPECT_EQ(name_in("far/a.index", "./" + flower), "../" + flower);
  EXPECT_EQ(name_in("moved/images/a.index", flower), "flower.webp");
  EXPECT_EQ(name_in("link/a.index", flower), "../../" + flower);
  const RunResult linked = vig({"search", "link/a.index", "-m", model_, flower, "--top", "1"},
                               {.directory = folder_.path()});
  expect_success(linked);
  EXPECT_EQ(linked.out, flower + "\n   1.0000  link/../../" + flower + "\n") << "is the file";
}

// An untrusted index may name any file. The page shows only what lies in its folder.
TEST_F(Search, ThePageOpensNothingOutsideOfItsFolder) {
  make_index();
  const TempDir elsewhere;
  const std::string secret = (elsewhere / "deep/secret.png").string(),
                    page = (folder_ / "page.html").string();
  fs::create_directories(elsewhere / "deep");
  fs::copy_file(data("image/photos/cat_chelsea.png"), secret);
  fs::create_symlink(secret, folder_ / "images/out.png");
  fs::create_symlink("flower.webp", folder_ / "images/in.webp");
  fs::create_directory_symlink(elsewhere / "deep", folder_ / "images/deep");
  ASSERT_EQ(mkfifo((folder_ / "images/pipe.png").c_str(), 0600), 0);
  const std::string up = fs::relative(secret, folder_.path()).string();
  ASSERT_TRUE(up.starts_with("../")) << up;
  const std::string flower = data("image/photos/flower.webp");
  // The images in the page beside the query's own, where all three neighbours have this name.
  const auto shown = [&](const std::string& name, const std::vector<std::string>& more = {}) {
    rename_all(index_, name);
    std::vector<std::string> options = {flower, "--html", page, "--top", "3"};
    options.insert(options.end(), more.begin(), more.end());
    const RunResult result = search(options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const int images = images_in(page) - 1;
    EXPECT_EQ(result.err.find("--images DIR") == std::string::npos, images == 3) << result.err;
    EXPECT_NE(read_file(page).find(fs::path(name).filename().string()), std::string::npos);
    return images;
  };
  for (const std::string name : {"images/flower.webp", "images/in.webp",
                                 "images/../images/flower.webp", "./images//flower.webp"}) {
    EXPECT_EQ(shown(name), 3) << name;
  }
  for (const std::string& name :
       {secret, up, std::string("images/out.png"), std::string("images/deep/secret.png"),
        (folder_ / "images/flower.webp").string()}) {
    EXPECT_EQ(shown(name), 0) << name;
  }
  const std::vector<std::string> allowed = {"--images", elsewhere.path().string()};
  for (const std::string& name :
       {secret, up, std::string("images/out.png"), std::string("images/deep/secret.png"),
        std::string("images/flower.webp")}) {
    EXPECT_EQ(shown(name, allowed), 3) << name;
  }
  EXPECT_EQ(shown(data("image/photos/kitten_gray.jpg"), allowed), 0);
  // What is no regular file is not opened either.
  rename_all(index_, "images/pipe.png");
  expect_success(search({flower, "--html", page}));
  EXPECT_EQ(images_in(page), 1);
  expect_complaint(search({flower, "--images", elsewhere.path().string()}), 2, "--html");
  expect_complaint(search({flower, "--html", page, "--images", secret}), 2, "expected a folder");
}

TEST_F(Search, VectorsThatAreNotFiniteAreRefused) {
  make_index();
  rewrite(index_, [](std::vector<float>& vectors, json&) {
    vectors[vectors.size() / 3] = std::numeric_limits<float>::quiet_NaN();
  });
  const RunResult result = search({images()});
  expect_complaint(result, 1, "images.index: the vector of images/flower.webp");
  EXPECT_EQ(result.out, "");
}

TEST_F(Search, AnotherNetworkIsRefused) {
  make_index();
  const RunResult result = vig({"search", index_, images()});  // the default model
  expect_complaint(result, 1, "another network");
}

TEST_F(Search, BrokenIndicesAreNamed) {
  make_index();
  const std::string bytes = read_file(index_);
  expect_complaint(vig({"search", model_, "-m", model_, images()}), 1, "vig embed --index");
  write_file(index_, bytes.substr(0, bytes.size() / 2));
  expect_complaint(search({images()}), 1, "images.index");
  write_file(index_, "");
  expect_complaint(search({images()}), 1, "images.index");
  expect_complaint(vig({"embed", "-m", model_, images(), "--index", index_, "--map"}), 2,
                   "--index");
  // An output is no input.
  expect_complaint(vig({"embed", "-m", model_, images(), "--index", model_}), 2, "--index");
}

}  // namespace
}  // namespace vig::test
