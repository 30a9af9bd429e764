// The figures of a training benchmark follow from its times.
#include "vig/train/bench.h"

#include <gtest/gtest.h>

namespace vig::test {
namespace {

using train::BenchOptions;
using train::BenchResult;

void expect_figures(const BenchResult& result, const ModelSpec& spec, int size, int batch) {
  const auto macs = static_cast<double>(count_macs(build_graph(spec, size, size)).total());
  EXPECT_GT(result.best, 0);
  EXPECT_LE(result.best, result.median);
  EXPECT_LE(result.median, result.p95);
  EXPECT_NEAR(result.images_per_second * result.median, batch, 1e-9 * batch);
  // A multiply-add is two operations, and a backward pass counts as two forward passes.
  const double operations = 3 * 2 * macs * batch;
  EXPECT_NEAR(result.gflops * 1e9 * result.best, operations, 1e-9 * operations);
  EXPECT_GT(result.peak_gflops, 0);
  EXPECT_NEAR(result.peak_share * result.peak_gflops, result.gflops, 1e-9 * result.gflops);
  EXPECT_GT(result.process_bytes, size_t{1} << 20);
}

TEST(TrainingBench, FiguresFollowFromTheTimes) {
  const ModelSpec spec = find_model("test_vig");
  int asked = 0;
  BenchOptions options;
  options.size = 32;
  options.batch = 3;
  options.threads = 2;
  options.seconds = 0;
  options.keep_going = [&] {
    ++asked;
    return true;
  };
  const BenchResult result = bench_training(spec, options);
  EXPECT_EQ(result.steps, 5) << "the fewest";
  EXPECT_EQ(asked, 4) << "before each but the first";
  EXPECT_GT(result.expansion_best, 0);
  expect_figures(result, spec, 32, 3);
}

TEST(TrainingBench, EndsAfterTheRoundUnderWay) {
  const ModelSpec spec = find_model("test_vig");
  BenchOptions options;
  options.batch = 1;
  options.threads = 3;  // more than there are images
  options.seconds = 1000;
  options.expansion = false;
  options.keep_going = [] { return false; };
  const BenchResult result = bench_training(spec, options);
  EXPECT_EQ(result.steps, 1);
  EXPECT_EQ(result.expansion_best, 0) << "not measured";
  EXPECT_EQ(result.spread, 0);
  expect_figures(result, spec, 64, 1);  // the model's own size
}

}  // namespace
}  // namespace vig::test
