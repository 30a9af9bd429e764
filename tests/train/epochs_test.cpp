// The batches of a run: every epoch in an order of its own, every image augmented anew.
#include "vig/train/epochs.h"

#include <gtest/gtest.h>

#include <map>

#include "support/errors.h"
#include "train/fixtures.h"
#include "vig/image/decode.h"
#include "vig/train/preview.h"

namespace vig::test {
namespace {

using train::TrainOptions;

struct Epoch {
  std::vector<size_t> order;
  std::map<size_t, std::vector<float>> images;  // by sample
};

class EpochsTest : public ::testing::Test {
 protected:
  EpochsTest() { write_files(folder_ / "data", striped_images(2, 12)); }
  // A step is an epoch.
  TrainOptions options(uint64_t seed) const {
    TrainOptions options = tiny_options("small");
    options.seed = seed;
    options.batch = 24;
    options.val_share = 0;
    return options;
  }
  std::unique_ptr<train::Task> open(const TrainOptions& options) const {
    return train::open_task(options, (folder_ / "data").string(), 1);
  }
  Epoch epoch(uint64_t seed, int64_t number) const {
    const TrainOptions own = options(seed);
    const auto task = open(own);
    train::Group alone;
    train::Epochs epochs(*task, own, alone);
    EXPECT_EQ(epochs.steps(), 1);
    const Batch& batch = epochs.next(number);
    Epoch seen{batch.samples, {}};
    const size_t floats = task->image_floats();
    for (size_t i = 0; i < batch.samples.size(); ++i) {
      const float* first = batch.data + i * floats;
      seen.images[batch.samples[i]].assign(first, first + floats);
    }
    return seen;
  }
  // Of the images that both show, how many are equal.
  static int same_images(const Epoch& a, const Epoch& b) {
    int same = 0;
    for (const auto& [sample, floats] : a.images) same += b.images.at(sample) == floats ? 1 : 0;
    return same;
  }

  TempDir folder_;
};

TEST_F(EpochsTest, DependOnTheirNumberAndTheSeed) {
  const Epoch first = epoch(3, 0), again = epoch(3, 0), second = epoch(3, 1), other = epoch(4, 0);
  ASSERT_EQ(first.order.size(), 24u);
  EXPECT_EQ(again.order, first.order);
  EXPECT_EQ(same_images(again, first), 24);
  // A crop and a flip of a small image may be drawn twice, but hardly for many of them.
  EXPECT_NE(second.order, first.order);
  EXPECT_LT(same_images(second, first), 8);
  EXPECT_NE(other.order, first.order);
  EXPECT_LT(same_images(other, first), 8);
}

TEST_F(EpochsTest, AreWhatThePreviewShows) {
  TrainOptions own = options(3);
  own.preview = 24;
  write_file(folder_ / "data/class0/3.png", "no image");
  const auto task = open(own);
  write_preview(*task, own, folder_.path().string());
  const Epoch first = epoch(3, 0);
  EXPECT_EQ(first.images.size(), 23u) << "one cannot be read";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "preview")) {
    const std::vector<float>& input = first.images.at(std::stoul(entry.path().stem().string()));
    EXPECT_EQ(read_image(entry.path().string()), train::input_image(input.data(), task->model()))
        << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 23);
}

TEST_F(EpochsTest, ABatchHasImagesForAll) {
  class ThreeProcesses : public train::Group {
   public:
    int size() const override { return 3; }
  };
  TrainOptions own = options(3);
  own.batch = 2;
  const auto task = open(own);
  ThreeProcesses group;
  expect_error(ErrorCode::kUsage, {"--batch is 2", "each of the 3 processes"},
               [&] { train::Epochs(*task, own, group); });
}

}  // namespace
}  // namespace vig::test
