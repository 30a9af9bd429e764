// The full comparison with Pillow and torchvision, on images that cannot be part of the tree.
// Runs where the archives photos.tar and preprocess-refs.tar.gz are found: in $VIG_SHARED/data, or
// in a folder shared/data beside the tree.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "image/fixtures.h"
#include "support/tree.h"
#include "vig/image/decode.h"
#include "vig/image/preprocess.h"

namespace vig {
namespace {

namespace fs = std::filesystem;

struct Tensor {
  std::vector<int> shape;
  std::vector<uint8_t> bytes;
};

// As much of safetensors as these files need.
std::map<std::string, Tensor> read_tensors(const fs::path& path) {
  const std::string file = test::read_file(path);
  uint64_t header = 0;
  std::memcpy(&header, file.data(), 8);
  const std::string json = file.substr(8, header);
  const auto data = file.begin() + 8 + static_cast<ptrdiff_t>(header);
  std::map<std::string, Tensor> tensors;
  const std::string mark = "\":{\"dtype\":";
  for (size_t at = json.find(mark); at != std::string::npos; at = json.find(mark, at + 1)) {
    const size_t quote = json.rfind('"', at - 1);
    const size_t shape = json.find("\"shape\"", at);
    int h = 0, w = 0, c = 0;
    ptrdiff_t begin = 0, end = 0;
    if (std::sscanf(json.c_str() + shape, "\"shape\":[%d,%d,%d],\"data_offsets\":[%td,%td]", &h, &w,
                    &c, &begin, &end) != 5) {
      throw std::runtime_error("cannot read the header of " + path.string());
    }
    tensors[json.substr(quote + 1, at - quote - 1)] = {{h, w, c}, {data + begin, data + end}};
  }
  return tensors;
}

fs::path archive_folder() {
  const char* shared = std::getenv("VIG_SHARED");
  const fs::path root =
      shared != nullptr ? fs::path(shared) : fs::path(test::kSourceDir) / "../shared";
  return root / "data";
}

class References : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const fs::path archives = archive_folder();
    if (!fs::exists(archives / "photos.tar")) return;
    folder_ = std::make_unique<test::TempDir>();
    for (const char* name : {"photos.tar", "preprocess-refs.tar.gz"}) {
      const std::string command =
          "tar -xf '" + (archives / name).string() + "' -C '" + folder_->path().string() + "'";
      ASSERT_EQ(std::system(command.c_str()), 0) << command;
    }
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override {
    if (folder_ == nullptr) GTEST_SKIP() << "no reference archives in " << archive_folder();
  }
  static fs::path file(const std::string& name) { return *folder_ / name; }

  static std::unique_ptr<test::TempDir> folder_;
};

std::unique_ptr<test::TempDir> References::folder_;

struct Difference {
  int largest = 0;
  size_t bytes = 0;
};

Difference compare(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  Difference difference;
  for (size_t i = 0; i < a.size(); ++i) {
    const int d = std::abs(a[i] - b[i]);
    difference.largest = std::max(difference.largest, d);
    difference.bytes += d != 0;
  }
  return difference;
}

TEST_F(References, Photos) {
  int photos = 0;
  for (const auto& item : fs::directory_iterator(file("preprocess-refs"))) {
    const std::string name = item.path().stem().string();
    if (name == "pngsuite_rgb" || item.path().extension() != ".safetensors") continue;
    SCOPED_TRACE(name);
    auto tensors = read_tensors(item.path());
    const Tensor &resized = tensors["resized"], &crop = tensors["crop"],
                 &output = tensors["output"];
    const Image image = read_image(file("photos/" + name).string(), test::kAsStored);
    const Recipe recipe;

    const Placement placement = place(recipe, image.width, image.height);
    ASSERT_EQ(placement.resized_height, resized.shape[0]);
    ASSERT_EQ(placement.resized_width, resized.shape[1]);
    const Image our_resized =
        resize_image(image, resized.shape[1], resized.shape[0], recipe.interpolation);
    const Image our_crop = crop_to_recipe(image, recipe);
    std::vector<float> input(crop.bytes.size());
    preprocess(image, recipe, input.data());

    // PNG pixels are beyond doubt; of JPEG and WebP another version may round otherwise.
    const double share = name.ends_with(".png") ? 0.0 : 0.001;
    const int tolerance = name.ends_with(".png") ? 0 : 1;
    for (const auto& [ours, theirs] : {std::pair{&our_resized, &resized}, {&our_crop, &crop}}) {
      ASSERT_EQ(ours->rgb.size(), theirs->bytes.size());
      const Difference difference = compare(ours->rgb, theirs->bytes);
      EXPECT_LE(difference.largest, tolerance);
      EXPECT_LE(static_cast<double>(difference.bytes),
                share * static_cast<double>(ours->rgb.size()));
      RecordProperty(name + (theirs == &crop ? ".crop" : ".resized") + ".different_bytes",
                     std::to_string(difference.bytes));
    }
    // The reference is channels first. Where the bytes agree the floats may differ in the last bit.
    const size_t plane = input.size() / 3;
    float largest = 0;
    for (size_t i = 0; i < input.size(); ++i) {
      float expected;
      std::memcpy(&expected, output.bytes.data() + (i % 3 * plane + i / 3) * 4, 4);
      if (our_crop.rgb[i] == crop.bytes[i]) {
        largest = std::max(largest, std::abs(input[i] - expected));
      }
    }
    EXPECT_LE(largest, 5e-7f);
    ++photos;
  }
  EXPECT_EQ(photos, 16);
}

TEST_F(References, PngSuite) {
  const auto tensors = read_tensors(file("preprocess-refs/pngsuite_rgb.safetensors"));
  EXPECT_EQ(tensors.size(), 160u);
  for (const auto& [name, tensor] : tensors) {
    const Image image = read_image(file("photos/pngsuite/" + name).string(), test::kAsStored);
    EXPECT_EQ(image.height, tensor.shape[0]) << name;
    EXPECT_EQ(image.width, tensor.shape[1]) << name;
    EXPECT_EQ(image.rgb, tensor.bytes) << name;
  }
}

// The hashes in the tree are those of the references.
TEST_F(References, GoldenHashes) {
  const auto suite = read_tensors(file("preprocess-refs/pngsuite_rgb.safetensors"));
  for (const auto& row : test::read_table(test::data_path("golden.tsv"))) {
    if (row.at(4).find(' ') != std::string::npos) continue;
    const std::string name = fs::path(row.at(0)).filename().string();
    const Tensor tensor =
        row.at(1) == "decoded"
            ? suite.at(name)
            : read_tensors(file("preprocess-refs/" + name + ".safetensors")).at(row.at(1));
    EXPECT_EQ(test::hash(tensor.bytes), std::stoull(row.at(4), nullptr, 16))
        << name << " " << row[1];
  }
}

TEST_F(References, EveryPhotoDecodes) {
  for (const auto& row : test::read_table(file("photos/index.tsv"))) {
    const std::string& format = row.at(1);
    if (format != "JPEG" && format != "PNG" && format != "WEBP") continue;
    SCOPED_TRACE(row.at(0));
    const Image image = read_image(file("photos/" + row[0]).string(), test::kAsStored);
    EXPECT_EQ(std::to_string(image.width) + "x" + std::to_string(image.height), row.at(3));
  }
}

}  // namespace
}  // namespace vig
