#include "vig/bench/bench.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/bench/statistics.h"

namespace vig::test {
namespace {

TEST(Quantile, InterpolatesBetweenRanks) {
  const std::vector<double> values = {1, 2, 3, 4, 5};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(values, 0.95), 4.8);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 5);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.3), 7);
}

TEST(RunTimes, AreThoseOfTheirNames) {
  const RunTimes times = summarise_times({5, 1, 4, 2, 3, 10, 7, 6});  // in any order
  EXPECT_EQ(times.runs, 8);
  EXPECT_DOUBLE_EQ(times.median, 4.5);
  EXPECT_DOUBLE_EQ(times.p95, 7 + 0.65 * 3);
  EXPECT_DOUBLE_EQ(times.spread, (6.25 - 2.75) / 4.5);  // of the quartiles
  EXPECT_DOUBLE_EQ(times.best, 1.5);
}

TEST(MeanOfFirstQuarter, TakesAtLeastOne) {
  EXPECT_DOUBLE_EQ(mean_of_first_quarter({3, 9}), 3);
  EXPECT_DOUBLE_EQ(mean_of_first_quarter({1, 2, 3, 4, 5, 6, 7, 8}), 1.5);
}

TEST(Bench, MeasuresAMiniature) {
  ModelRequest request;
  request.model = "test_vig_h";
  const Bench bench(find_source(request));
  BenchOptions options;
  options.seconds = 0.05;
  options.profile = true;
  const BenchResult result = bench.measure({64, 96, 3, 2}, options);
  EXPECT_TRUE(result.complete);
  EXPECT_GE(result.runs, 5);
  EXPECT_GT(result.best, 0);
  EXPECT_LE(result.best, result.median);
  EXPECT_LE(result.median, result.p95);
  EXPECT_NEAR(result.images_per_second, 3 / result.median, 1e-6 * result.images_per_second);
  EXPECT_GT(result.peak_gflops, 0);
  // Two operations for each multiply-add of the three images, in the time of the fastest quarter.
  EXPECT_DOUBLE_EQ(result.gflops,
                   2e-9 * static_cast<double>(result.macs.total()) * 3 / result.best);
  EXPECT_DOUBLE_EQ(result.peak_share, result.gflops / result.peak_gflops);
  EXPECT_GT(result.arena_bytes, 0u);
  EXPECT_GT(result.process_bytes, result.packed_bytes);
  ASSERT_FALSE(result.profile.empty());
  MacCount profiled;
  for (const ProfileEntry& entry : result.profile) profiled += entry.macs;
  EXPECT_EQ(profiled.total(), result.macs.total() * 3 * result.profile_runs);
}

// From the image to the masks: all three networks, and as many objects as the model finds at
// most.
TEST(Bench, MeasuresADetectorToItsMasks) {
  ModelRequest request;
  request.model = "test_vig_maskrcnn";
  request.fields = {{"proposals", "40"}, {"detections", "7"}};
  const ModelSource source = find_source(request);
  BenchOptions options;
  options.seconds = 0.05;
  options.profile = true;
  const BenchResult result = Bench(source).measure({64, 96, 1, 2}, options);
  EXPECT_EQ(result.proposals, 40u);
  EXPECT_EQ(result.objects, 7u);
  const std::vector<Graph> graphs = build_graphs(source.spec, 64, 96);
  EXPECT_EQ(result.macs.total(), count_macs(graphs.at(0)).total() +
                                     40 * count_macs(graphs.at(1)).total() +
                                     7 * count_macs(graphs.at(2)).total());
  MacCount profiled;
  for (const ProfileEntry& entry : result.profile) profiled += entry.macs;
  EXPECT_EQ(profiled.total(), result.macs.total() * result.profile_runs);
  EXPECT_GT(result.arena_bytes, 0u);
  EXPECT_GT(result.packed_bytes, 0u);

  EXPECT_NE(error_of([&] {
              Bench(source).measure({64, 96, 2, 1}, options);
            }).find("by image"),
            std::string::npos);
  options.baseline.command = "true";
  EXPECT_NE(error_of([&] {
              Bench(source).measure({64, 96, 1, 1}, options);
            }).find("baseline"),
            std::string::npos);
}

TEST(Bench, SettingsThatAreNoneAreRefused) {
  ModelRequest request;
  request.model = "test_vig";
  const ModelSource source = find_source(request);
  for (const BenchSetting& setting : {BenchSetting{64, 64, 0, 1}, BenchSetting{64, 64, 1, 0},
                                      BenchSetting{0, 64, 1, 1}, BenchSetting{64, 8193, 1, 1}}) {
    ErrorCode code = ErrorCode::kInput;
    EXPECT_NE(error_of([&] { check_bench(source, setting, {}); }, &code).find("expected"),
              std::string::npos);
    EXPECT_EQ(code, ErrorCode::kUsage);
  }
}

TEST(Bench, StopsWhenAsked) {
  ModelRequest request;
  request.model = "test_vig";
  BenchOptions options;
  options.seconds = 1000;
  options.keep_going = [] { return false; };
  const BenchResult result = Bench(find_source(request)).measure({64, 64, 1, 1}, options);
  EXPECT_FALSE(result.complete);
  EXPECT_GE(result.runs, 1);
}

TEST(Bench, StopsWhileABaselineIsWaitedFor) {
  ModelRequest request;
  request.model = "test_vig";
  const Bench bench(find_source(request));
  BenchOptions options;
  options.baseline.command = "exec sleep 1000";
  options.keep_going = [] { return false; };
  EXPECT_THROW(bench.measure({64, 64, 1, 1}, options), BenchStopped);
  // The rounds before the one in which the baseline falls silent are reported.
  const TempDir folder;
  const std::filesystem::path silent = folder / "silent";
  options.baseline.other = "any";
  options.baseline.command =
      "for reply in Fake ok ok '1 2 3' ok; do read -r verb in out rest; "
      "case $verb in run) printf 1234 >\"$out\" ;; esac; echo \"$reply\"; done; >'" +
      silent.string() + "'; exec sleep 1000";
  options.keep_going = [&] { return !std::filesystem::exists(silent); };
  const BenchResult result = bench.measure({64, 64, 1, 1}, options);
  EXPECT_FALSE(result.complete);
  ASSERT_TRUE(result.baseline.has_value());
  EXPECT_EQ(result.baseline->engine, "Fake");
  EXPECT_EQ(result.baseline->runs, 3);
  EXPECT_DOUBLE_EQ(result.baseline->median, 2e-3);
  EXPECT_EQ(result.baseline->process_bytes, 0u);
}

TEST(Bench, MoreThanThePeakIsSaid) {
  EXPECT_EQ(disturbed_peak(0.5), "");
  EXPECT_EQ(disturbed_peak(1.0), "");
  EXPECT_NE(disturbed_peak(1.001).find("more than 100 % of peak"), std::string::npos);
}

}  // namespace
}  // namespace vig::test
