#include "vig/train/preview.h"

#include <gtest/gtest.h>

#include "train/fixtures.h"
#include "vig/image/preprocess.h"

namespace vig::test {
namespace {

using train::TrainOptions;

TEST(Preview, ShowsTheColoursOfTheImage) {
  const TrainOptions options = tiny_options("small");
  const train::TrainedModel model = make_trained_model(options, {"a", "b"});
  ASSERT_EQ(model.width, 24);
  Image image(24, 24);
  for (size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = static_cast<uint8_t>(i * 7);
  std::vector<float> input(image.rgb.size());
  normalise(image, model.spec.recipe, input.data());
  EXPECT_EQ(train::input_image(input.data(), model), image);
}

// The only image of one class is half of the epoch and is shown once.
TEST(Preview, ShowsAsManyImagesAsAskedFor) {
  const TempDir folder;
  write_files(folder / "data", striped_images(1, 20));
  write_file(folder / "data/class1/0.png", png_bytes(Image(24, 24)));
  TrainOptions options = tiny_options("small");
  options.sampling = "balanced";
  options.val_share = 0;
  options.preview = 8;
  const auto task = train::open_task(options, (folder / "data").string(), 1);
  write_preview(*task, options, folder.path().string());
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "preview")) {
    EXPECT_EQ(entry.path().extension(), ".png");
    ++files;
  }
  EXPECT_EQ(files, 8);
}

}  // namespace
}  // namespace vig::test
