// The orientation that images store, in training and in the evaluation of a run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/run_program.h"
#include "support/tree.h"
#include "train/fixtures.h"
#include "vig/image/decode.h"
#include "vig/train/tasks/labelled_data.h"

namespace vig::test {
namespace {

using train::TrainOptions;

class Orientation : public ::testing::Test {
 protected:
  Orientation() {
    const std::string turned = read_file(turned_);
    for (const char* split : {"train", "val"}) {
      write_files(folder_ / "data" / split, striped_images(2, 2));
      write_file(folder_ / "data" / split / "class0/turned.webp", turned);
    }
  }
  std::string path(const char* name) const { return (folder_ / name).string(); }

  const std::string turned_ = std::string(kFixtures) + "/image/photos/hopper_orient6.webp";
  TempDir folder_;
};

TEST_F(Orientation, IsIgnoredInTrainingIfAskedFor) {
  TrainOptions options;
  std::vector<Image> seen;
  for (const bool ignore : {false, true}) {
    options.ignore_orientation = ignore;
    const train::LabelledData data = train::open_labelled_data(path("data"), options, 1);
    const Image expected = read_image(turned_, {.apply_orientation = !ignore});
    for (const Dataset& part : {data.train, *data.val}) {
      ASSERT_EQ(part.name(2), "class0/turned.webp");
      EXPECT_EQ(*part.load(2).image, expected) << ignore;
    }
    seen.push_back(expected);
  }
  EXPECT_NE(seen[0], seen[1]);
}

TEST_F(Orientation, EvaluationOfARunFollowsItsTraining) {
  TrainOptions options = tiny_options("small");
  options.ignore_orientation = true;
  options.epochs = 1;
  run_training(options, path("data"), path("run"));
  const auto loss = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {kVig, "eval", "--json"});
    const RunResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out)["loss"].get<double>();
  };
  const std::string model = path("run") + "/best.safetensors";
  const double stored = loss({"-m", model, path("data"), "--split", "val", "--ignore-orientation"});
  EXPECT_EQ(loss({path("run")}), stored);
  EXPECT_NE(loss({"-m", model, path("data"), "--split", "val"}), stored);
}

}  // namespace
}  // namespace vig::test
