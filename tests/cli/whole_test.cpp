// embed and classify on whole images: the same results whatever memory they may have.
#include <gtest/gtest.h>

#include <fstream>

#include "cli/npy_file.h"
#include "cli/vig.h"
#include "support/sanitised.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A photograph's worth of detail at any size.
std::string large_image(const TempDir& folder, int width, int height) {
  std::string pixels = "P6 " + std::to_string(width) + " " + std::to_string(height) + " 255\n";
  uint32_t random = 1;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      random = random * 1664525u + 1013904223u;
      pixels += static_cast<char>(x / 8 + y / 16);
      pixels += static_cast<char>((x * y) >> 10);
      pixels += static_cast<char>(random >> 24);
    }
  }
  const std::string file = (folder / "large.ppm").string();
  write_file(file, pixels);
  return file;
}

class Whole : public testing::Test {
 protected:
  void SetUp() override {
    model_ = make_model(folder_);
    image_ = large_image(folder_, 2049, 1601);
  }
  RunResult run(const char* command, const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {command, "-m", model_, image_, "--json", "--whole"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return vig(arguments);
  }

  TempDir folder_;
  std::string model_, image_;
};

TEST_F(Whole, ResultsDoNotDependOnTheMemory) {
  const RunResult free = run("embed", {"--threads", "1"});
  ASSERT_EQ(free.exit_code, 0) << free.err;
  const json list = json::parse(free.out);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["shape"], json({64}));
  fs::create_directory(folder_ / "scratch");
  for (const char* threads : {"1", "2", "5"}) {
    const RunResult little = run("embed", {"--threads", threads, "--max-memory", "70MB",
                                           "--scratch", (folder_ / "scratch").string()});
    EXPECT_EQ(little.exit_code, 0) << little.err;
    EXPECT_EQ(little.out, free.out) << threads << " threads";
    if (kSanitised) continue;
    EXPECT_GT(free.peak_bytes, 80'000'000u);
    EXPECT_LT(little.peak_bytes, 70'000'000u);
  }
  EXPECT_TRUE(fs::is_empty(folder_ / "scratch"));
  const RunResult classes = run("classify", {}), again = run("classify", {"--max-memory", "70MB"});
  EXPECT_EQ(classes.exit_code, 0) << classes.err;
  EXPECT_EQ(again.out, classes.out);
}

// Patches of 4 and 8 pixels, whose maps alone are 53 and 13 MB: they go from the scratch file to
// the result in parts.
TEST_F(Whole, MapsAreWrittenInPartsWhateverTheirSize) {
  const auto map = [&](const std::string& patch, const std::string& name, const char* memory) {
    const std::string model = (folder_ / ("patch" + patch + ".safetensors")).string();
    if (!fs::exists(model)) {
      expect_success(vig({"convert", "--random", "test_vig", model, "--set", "patch_size=" + patch,
                          "--set", "image_size=56"}));
    }
    std::vector<std::string> command = {"embed",   "-m",    model,          image_,
                                        "--whole", "--map", "--max-memory", memory};
    if (!name.empty()) command.insert(command.end(), {"--out", (folder_ / name).string()});
    const RunResult result = vig(command);
    expect_success(result);
    return result;
  };
  // Peaks are those of programs started before this one grows by the arrays.
  const uint64_t free = map("4", "free.npy", "4GB").peak_bytes,
                 little = map("4", "little.npy", "60MB").peak_bytes;
  map("8", "free8.npy", "4GB");
  const RunResult text = map("8", "", "60MB");
  const Array expected = read_npy(folder_ / "free.npy"), actual = read_npy(folder_ / "little.npy");
  EXPECT_NE(expected.header.find("(1, 401, 513, 64,)"), std::string::npos) << expected.header;
  EXPECT_EQ(actual.header, expected.header);
  EXPECT_TRUE(actual.values == expected.values);
  const json entry = json::parse(text.out)[0];
  EXPECT_EQ(entry["shape"], json({200, 256, 64}));
  EXPECT_TRUE(entry["values"].get<std::vector<float>>() == read_npy(folder_ / "free8.npy").values);
  if (kSanitised) return;
  EXPECT_GT(free, 200'000'000u);
  EXPECT_LT(little, 60'000'000u);
  EXPECT_LT(text.peak_bytes, 60'000'000u);
}

TEST_F(Whole, ImagesOfAnArrayHaveOneSize) {
  const std::string out = (folder_ / "map.npy").string();
  expect_complaint(vig({"embed", "-m", model_, data("image/photos/cat_chelsea.png"),
                        data("image/photos/hopper_1bit.png"), "--whole", "--map", "--out", out}),
                   1, "rows of different shapes");
  EXPECT_FALSE(fs::exists(out));
}

TEST_F(Whole, TooLittleMemoryIsOneSentence) {
  if (kSanitised) GTEST_SKIP() << "memory of sanitisers";
  const RunResult result = run("embed", {"--max-memory", "1MB"});
  expect_complaint(result, 1, "for 2049x1601 pixels");
  EXPECT_NE(result.err.find("large.ppm: the network needs "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("by segments it needs "), std::string::npos) << result.err;
  const RunResult missing =
      run("embed", {"--max-memory", "60MB", "--scratch", (folder_ / "none").string()});
  if (missing.exit_code != 0) {  // where the map does not fit without a file
    expect_complaint(missing, 1, "none: cannot make a scratch file");
  }
}

TEST_F(Whole, OptionsExcludeEachOther) {
  expect_complaint(run("embed", {"--size", "64"}), 2, "--whole and --size");
  expect_complaint(run("classify", {"--batch", "2"}), 2, "--whole and --batch");
  expect_complaint(run("embed", {"--max-memory", "lots"}), 2, "--max-memory lots: expected a size");
  expect_complaint(
      vig({"embed", "-m", model_, image_, "--whole", "--index", (folder_ / "x.index").string()}), 2,
      "--whole and --index");
  expect_complaint(vig({"embed", "-m", model_, image_, "--max-memory", "1GB"}), 2,
                   "--max-memory needs --whole");
  expect_complaint(vig({"classify", "-m", model_, image_, "--scratch", "/tmp"}), 2,
                   "--scratch needs --whole");
}

TEST_F(Whole, BrokenImagesAreReportedAndSkipped) {
  const RunResult result = vig({"embed", "-m", model_, data("image/broken/zero_byte.png"),
                                data("image/photos/cat_chelsea.png"), "--whole"});
  expect_complaint(result, 3, "zero_byte.png");
  const json list = json::parse(result.out);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TRUE(list[0].contains("error"));
  EXPECT_EQ(list[1]["values"].size(), 64u);
}

}  // namespace
}  // namespace vig::test
