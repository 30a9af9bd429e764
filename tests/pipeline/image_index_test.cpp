// An index of images: what is found in it, and which files are none.
#include "vig/pipeline/image_index.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

#include "pipeline/fixtures.h"
#include "support/errors.h"
#include "support/files.h"

#include "vig/pipeline/model_source.h"

namespace vig::test {
namespace {

// Three images, the first and the last of which are alike.
struct IndexFile {
  Shape vectors = {3, 2};
  Shape probe = {2};
  DType dtype = DType::kF32;
  Metadata metadata = {{"vig.index", R"({"arch":"x","size":0})"},
                       {"vig.files", R"(["a","b","c"])"}};

  std::array<float, 6> values = {1, 0, 0, 1, 1, 0};
  std::array<float, 2> probe_values = {1, 0};

  std::string write(const TempDir& folder) const {
    const std::string path = (folder / "images.index").string();
    write_safetensors(
        path,
        std::vector<NamedTensor>{{"vectors", {values.data(), dtype, vectors}},
                                 {"probe", {probe_values.data(), DType::kF32, probe}}},
        metadata);
    return path;
  }
};

std::vector<size_t> rows_of(const std::vector<Neighbour>& found) {
  std::vector<size_t> images;
  for (const Neighbour& one : found) images.push_back(one.image);
  return images;
}

TEST(ImageIndex, OfEqualNeighboursTheEarlierComesFirst) {
  const TempDir folder;
  const ImageIndex index = ImageIndex::open(IndexFile().write(folder));
  ASSERT_EQ(index.size(), 3u);
  EXPECT_EQ(index.channels(), 2);
  EXPECT_EQ(index.file(1), "b");
  const std::vector<std::vector<float>> queries = {{2, 0}, {0, 3}};
  using Rows = std::vector<size_t>;
  const auto two = index.nearest(queries, 2), all = index.nearest(queries, 9);
  EXPECT_EQ(rows_of(two[0]), (Rows{0, 2}));
  EXPECT_EQ(rows_of(two[1]), (Rows{1, 0}));
  EXPECT_EQ(rows_of(all[0]), (Rows{0, 2, 1}));
  EXPECT_EQ(rows_of(all[1]), (Rows{1, 0, 2}));
  EXPECT_EQ(all[0][0].cosine, 1);
  EXPECT_EQ(all[0][2].cosine, 0);
  EXPECT_TRUE(index.nearest(queries, 0)[0].empty());
  const std::vector<std::vector<float>> zeros = {{0, 0}}, wide = {{1, 0, 0}};
  expect_error(ErrorCode::kInput, {"length 0"}, [&] { index.nearest(zeros, 1); });
  expect_error(ErrorCode::kInput, {"3 channels"}, [&] { index.nearest(wide, 1); });
}

// Names and indices of an untrusted file lead only into its own tensors.
TEST(ImageIndex, FilesWhosePartsDoNotFitAreRefused) {
  const TempDir folder;
  const auto about = [](const char* text) {
    return [text](IndexFile& file) { file.metadata["vig.index"] = text; };
  };
  const auto files = [](const char* text) {
    return [text](IndexFile& file) { file.metadata["vig.files"] = text; };
  };
  const std::pair<const char*, std::function<void(IndexFile&)>> cases[] = {
      {"a probe of 1 channels", [](IndexFile& file) { file.probe = {1}; }},
      {"a float32 tensor probe of 1 axes",
       [](IndexFile& file) {
         file.probe = {2, 1};
       }},
      {"vectors of 0",
       [](IndexFile& file) {
         file.vectors = {3, 0};
         file.probe = {0};
       }},
      {"a float32 tensor vectors of 2 axes", [](IndexFile& file) { file.vectors = {6}; }},
      {"a float32 tensor vectors", [](IndexFile& file) { file.dtype = DType::kF16; }},
      {"expected 3 names", files(R"(["a","b"])")},
      {"expected 3 names", files(R"(["a","b","c","d"])")},
      {"expected 3 names", files("{}")},
      {"expected texts", files(R"(["a",1,"c"])")},
      {"has no vig.files", [](IndexFile& file) { file.metadata.erase("vig.files"); }},
      {"has no vig.index", [](IndexFile& file) { file.metadata.erase("vig.index"); }},
      {"a size from 0 to 8192", about(R"({"size":-1})")},
      {"a size from 0 to 8192", about(R"({"size":8193})")},
      {"a size from 0 to 8192", about(R"({"size":"64"})")},
      {"a size from 0 to 8192", about("{}")},
      {"a size from 0 to 8192", about("3")},
  };
  for (const auto& [message, change] : cases) {
    IndexFile file;
    change(file);
    const std::string path = file.write(folder);
    expect_error(ErrorCode::kInput, {path + ": ", message}, [&] { ImageIndex::open(path); });
  }
  IndexFile largest;
  about(R"({"size":8192})")(largest);
  EXPECT_EQ(ImageIndex::open(largest.write(folder)).input_size(), 8192);
}

// They have no order among the others.
TEST(ImageIndex, VectorsThatAreNotFiniteOrTooLongAreRefused) {
  const TempDir folder;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> queries = {{0.6f, 0.8f}};
  for (const float value : {kNan, kInf, -kInf, 1e30f, 2.0f}) {
    for (const size_t row : {0, 1, 2}) {
      IndexFile file;
      file.values[2 * row] = value;
      const std::string path = file.write(folder);
      const ImageIndex index = ImageIndex::open(path);
      expect_error(ErrorCode::kInput,
                   {path + ": the vector of " + std::string(1, static_cast<char>('a' + row)) +
                    " gives the cosine "},
                   [&] { index.nearest(queries, 1); });
    }
  }
  for (const float value : {kNan, kInf}) {
    IndexFile file;
    file.probe_values[1] = value;
    const std::string path = file.write(folder);
    expect_error(ErrorCode::kInput, {path + ": its probe is not finite"},
                 [&] { ImageIndex::open(path); });
  }
}

// A network with other weights has vectors of the same length.
TEST(ImageIndex, BelongsToTheNetworkThatMadeIt) {
  const TempDir folder;
  const auto embedder = [](const std::string& file) {
    ModelRequest request;
    request.model = file;
    request.arch = "test_vig";
    return Embedder(find_source(request), {.threads = 1});
  };
  const std::string bare = (folder / "bare.safetensors").string();
  write_bare(find_model("test_vig"), bare);
  const Embedder own = embedder(golden("vig-mini-silu.pth")), other = embedder(bare);
  ImageIndexWriter writer(own, "test_vig", 96);
  std::vector<float> vector(64);
  expect_error(ErrorCode::kInput, {"zero.png: its vector has the length 0"},
               [&] { writer.add("zero.png", vector); });
  vector[3] = -5;
  writer.add("a.png", vector);
  EXPECT_EQ(writer.size(), 1u);
  const std::string path = (folder / "images.index").string();
  writer.write(path);
  EXPECT_EQ(SafeTensors::open(path).metadata().at("vig.index"), R"({"arch":"test_vig","size":96})");
  const ImageIndex index = ImageIndex::open(path);
  EXPECT_EQ(index.input_size(), 96);
  EXPECT_EQ(index.file(0), "a.png");
  const std::vector<std::vector<float>> query = {vector};
  EXPECT_EQ(index.nearest(query, 1)[0][0].cosine, 1);
  EXPECT_NO_THROW(index.check_network(own));
  expect_error(ErrorCode::kInput, {"another network", "the cosine of its vector and this one's"},
               [&] { index.check_network(other); });
}

}  // namespace
}  // namespace vig::test
