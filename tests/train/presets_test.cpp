// Options that follow from the data.
#include "vig/train/presets.h"

#include <gtest/gtest.h>

#include "train/fixtures.h"

namespace vig::test {
namespace {

using train::choose_preset;
using train::ChosenPreset;
using train::TrainOptions;

TEST(Presets, FollowNumberAndSizeOfThePictures) {
  EXPECT_EQ(choose_preset({1281167, 375}, {}).options.preset, "imagenet");
  EXPECT_EQ(choose_preset({1281167, 32}, {}).options.preset, "small") << "small pictures";
  EXPECT_EQ(choose_preset({99999, 375}, {}).options.preset, "small") << "few of them";
  EXPECT_EQ(option_texts(choose_preset({1281167, 375}, {}).options),
            option_texts(train::preset_options("imagenet")));
  EXPECT_EQ(option_texts(choose_preset({50000, 300}, {}).options),
            option_texts(train::preset_options("small")));

  const ChosenPreset few = choose_preset({300, 480}, {});
  EXPECT_EQ(few.options.batch, 16);
  EXPECT_EQ(few.options.lr, 0.00071);
  EXPECT_EQ(few.options.epochs, 53);  // 19 steps each
  EXPECT_EQ(few.options.size, 0);
  for (const char* words :
       {"preset small: 300 pictures", "480 pixels", "--batch 16 --epochs 53 --lr 0.00071"}) {
    EXPECT_NE(few.sentence.find(words), std::string::npos) << few.sentence;
  }
  for (const size_t pictures : {2u, 10u, 100u, 1000u, 10000u, 1000000u}) {
    for (const int side : {0, 1, 28, 100, 5000}) {
      const TrainOptions options = choose_preset({pictures, side}, {}).options;
      EXPECT_NO_THROW(check_options(options)) << pictures << " " << side;
      EXPECT_TRUE(options.size == 0 || options.size >= 64) << options.size;
    }
  }
  EXPECT_EQ(choose_preset({50000, 32}, {}).options.size, 64);
  EXPECT_EQ(choose_preset({50000, 64}, {}).options.size, 128);
  EXPECT_EQ(choose_preset({50000, 35}, {}).options.size, 64) << "70, the multiple below is nearer";
  EXPECT_EQ(choose_preset({50000, 38}, {}).options.size, 80) << "76, the one above";
  EXPECT_EQ(choose_preset({50000, 111}, {}).options.size, 224);
  EXPECT_EQ(choose_preset({50000, 112}, {}).options.size, 0) << "as they are";
}

TEST(Presets, OfDenseTasksFollowThePictures) {
  using enum ModelTask;
  EXPECT_EQ(choose_preset({9999, 600, kSegment}, {}).options.preset, "segment");
  EXPECT_EQ(choose_preset({10000, 600, kSegment}, {}).options.preset, "ade20k");
  EXPECT_EQ(choose_preset({49999, 600, kDetect}, {}).options.preset, "detect");
  EXPECT_EQ(choose_preset({50000, 600, kDetect}, {}).options.preset, "coco");
  const auto options = [](size_t pictures, int side, ModelTask task) {
    return choose_preset({pictures, side, task}, {}).options;
  };
  EXPECT_EQ(options(800, 511, kSegment).size, 480) << "whole patches";
  EXPECT_EQ(options(800, 512, kSegment).size, 0);
  EXPECT_EQ(options(800, 40, kSegment).size, 64);
  EXPECT_EQ(options(800, 512, kDetect).size, 512);
  EXPECT_EQ(options(800, 800, kDetect).size, 0);
  EXPECT_EQ(options(800, 512, kSegment).epochs, 20) << "100 steps each";
  EXPECT_EQ(options(9, 512, kSegment).epochs, 200);
  EXPECT_EQ(options(9000, 512, kSegment).epochs, 10);
}

TEST(Presets, LeaveWhatIsGiven) {
  const ChosenPreset chosen =
      choose_preset({300, 32}, {{"batch", "32"}, {"epochs", "3"}, {"model", "vig_s"}});
  EXPECT_EQ(chosen.options.batch, 32);
  EXPECT_EQ(chosen.options.epochs, 3);
  EXPECT_EQ(chosen.options.model, "vig_s");
  EXPECT_EQ(chosen.options.size, 0) << "the model's own";
  EXPECT_EQ(chosen.options.lr, 0.001) << "for that batch";
  EXPECT_EQ(chosen.sentence.find("--batch"), std::string::npos) << chosen.sentence;
  EXPECT_EQ(choose_preset({300, 32}, {{"lr", "0.5"}}).options.lr, 0.5);
  EXPECT_EQ(choose_preset({300, 32}, {{"size", "40"}}).options.size, 40);
}

TEST(Presets, MeasureTheTrainingPart) {
  const TempDir folder;
  write_files(folder / "plain", striped_pictures(2, 6));
  write_file(folder / "plain/class0/9.png", "no picture");
  const train::DataFacts plain = train::measure_data((folder / "plain").string(), TrainOptions());
  EXPECT_EQ(plain.pictures, 13u);
  EXPECT_EQ(plain.short_side, 24);
  write_files(folder / "splits/train", striped_pictures(2, 5));
  write_files(folder / "splits/val", striped_pictures(2, 6));
  EXPECT_EQ(train::measure_data((folder / "splits").string(), TrainOptions()).pictures, 10u);
  // Those looked at come from all of the data, not from its first class alone.
  for (int i = 0; i < 100; ++i) {
    const int side = i < 25 ? 24 : 48;
    write_file(folder / (i < 25 ? "sizes/a" : "sizes/b") / (std::to_string(i) + ".png"),
               png_bytes(Image(side, side)));
  }
  EXPECT_EQ(train::measure_data((folder / "sizes").string(), TrainOptions()).short_side, 48);
  write_file(folder / "bad/a/1.png", "no picture");
  write_file(folder / "bad/b/1.png", "no picture");
  EXPECT_EQ(train::measure_data((folder / "bad").string(), TrainOptions()).short_side, 0);
}

}  // namespace
}  // namespace vig::test
