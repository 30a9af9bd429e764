// Training on shards keeps the promises of training on a folder.
#include <gtest/gtest.h>

#include <map>

#include "data/archive_bytes.h"
#include "train/fixtures.h"
#include "train/together.h"

namespace vig::test {
namespace {

using train::TrainOptions;

class ShardsRun : public ::testing::Test {
 protected:
  // Three classes in seven shards, and what is left over in the last.
  ShardsRun() {
    std::map<std::string, Files> shards;
    int number = 0;
    for (const auto& [name, bytes] : striped_images(3, 12)) {
      shards[fmt::format("data/s-{}.tar", number++ % 7)][name] = bytes;
    }
    for (const auto& [shard, files] : shards) write_file(folder_ / shard, tar_bytes(files));
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static TrainOptions options() {
    TrainOptions options = tiny_options("small");
    options.epochs = 3;
    return options;
  }

  TempDir folder_;
};

TEST_F(ShardsRun, ResumesBitForBit) {
  const RunRecord whole = run_training(options(), path("data"), path("whole"));
  EXPECT_EQ(whole.summary.train_images + whole.summary.val_images, 36u);
  run_training(options(), path("data"), path("parts"), 3);
  run_training(options(), path("data/s-{0..6}.tar"), path("pattern"));
  run_training(options(), path("data"), path("parts"));
  expect_same_runs(path("parts"), path("whole"));
  EXPECT_EQ(read_file(path("pattern/validation.txt")), read_file(path("whole/validation.txt")));
}

TEST_F(ShardsRun, IsTheSameForAnyNumberOfProcesses) {
  TrainOptions own = options();
  own.lr = 2e-3;
  own.lr_batch = 0;
  own.warmup_epochs = 0;
  own.epochs = 2;
  own.ema = 0.9;
  own.threads = 1;
  train_together(1, own, path("data"), path("one"));
  train_together(2, own, path("data"), path("two"));
  EXPECT_LT(difference(path("two"), path("one")), 1e-4);
}

}  // namespace
}  // namespace vig::test
