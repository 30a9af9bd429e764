// Invalid weight files, through the program.
#include <gtest/gtest.h>

#include "cli/vig.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

TEST(WeightFiles, EveryBrokenOneIsOneSentence) {
  const TempDir folder;
  const std::string image = data("image/photos/flower.webp");
  const std::string out = (folder / "out.safetensors").string();
  for (const auto& entry : fs::directory_iterator(data("weights/broken"))) {
    const std::string file = entry.path().string(), name = entry.path().filename().string();
    SCOPED_TRACE(name);
    expect_complaint(vig({"classify", "-m", file, image}), 1, name);
    expect_complaint(vig({"info", file}), 1, name);
    expect_complaint(vig({"convert", file, out}), 1, name);
  }
  EXPECT_FALSE(fs::exists(out));
}

TEST(WeightFiles, NoWeightsAtAll) {
  const std::string image = data("image/photos/flower.webp");
  expect_complaint(vig({"classify", "-m", "missing.safetensors", image}), 1, "missing");
  expect_complaint(vig({"classify", "-m", data("image"), image}), 1, "image");
  expect_complaint(vig({"classify", "-m", image, image}), 1, "flower.webp");
  expect_complaint(vig({"classify", "-m", "/dev/null", image}), 1, "/dev/null");
}

// A cut file never becomes a model, wherever it is cut.
TEST(WeightFiles, CutAnywhere) {
  const TempDir folder;
  const std::string whole = read_file(make_model(folder));
  const std::string cut = (folder / "cut.safetensors").string();
  for (const size_t size :
       {size_t{0}, size_t{7}, size_t{8}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
    write_file(cut, std::string_view(whole).substr(0, size));
    expect_complaint(vig({"info", cut}), 1, "cut.safetensors");
  }
}

}  // namespace
}  // namespace vig::test
