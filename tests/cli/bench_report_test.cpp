// Made measurements as a table, JSON and CSV.
#include "vig/cli/bench_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace vig::test {
namespace {

using nlohmann::json;

BenchResult measured() {
  BenchResult result;
  static_cast<RunTimes&>(result) = {
      .runs = 7, .median = 0.25, .p95 = 0.5, .spread = 0.125, .best = 0.125};
  result.model = "m";
  result.setting = {64, 96, 2, 4};
  result.macs = {.dense = 1'000'000, .scan = 500'000};
  result.images_per_second = 8;
  result.gflops = 6;
  result.peak_gflops = 12;
  result.peak_share = 0.5;
  result.arena_bytes = 1'500'000;
  result.scratch_bytes = 2000;
  result.packed_bytes = 3000;
  result.process_bytes = 123'456'789;
  return result;
}

BenchResult with_baseline() {
  BenchResult result = measured();
  BaselineResult& baseline = result.baseline.emplace();
  static_cast<RunTimes&>(baseline) = {
      .runs = 3, .median = 0.5, .p95 = 1, .spread = 0.25, .best = 0.25};
  baseline.engine = "Fake";
  baseline.model = "m";
  baseline.difference = 0x1p-10;
  baseline.process_bytes = 5'000'000;
  baseline.ratio = 0.5;
  baseline.ratio_median = 0.75;
  return result;
}

// 5 runs on 4 threads in 0.2 s.
BenchResult with_profile() {
  BenchResult result = measured();
  result.profile = {{"linear", 0.4, {.dense = 200'000'000, .scan = 100'000'000}}, {"sum", 0.2, {}}};
  result.profile_runs = 5;
  result.profile_seconds = 0.2;
  return result;
}

// The words of each line, by single spaces.
std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line, word; std::getline(stream, line);) {
    std::string joined;
    for (std::istringstream rest(line); rest >> word;) joined += (joined.empty() ? "" : " ") + word;
    if (!joined.empty()) lines.push_back(joined);
  }
  return lines;
}

using Lines = std::vector<std::string>;

const std::string kOurs = "m 64x96 2 4 250.000 500.000 12.5 % 8.0 6.0 12.0 50.0 1.50 MB 123 MB";

TEST(BenchReport, ARowOfTheTable) {
  const cli::BenchReport report;
  BenchResult result = measured();
  EXPECT_EQ(words(report.row(result)), Lines{kOurs});
  result.setting.height = 96;
  result.complete = false;
  EXPECT_EQ(words(report.row(result))[0].substr(0, 9), "m 96 2 4 ");
  EXPECT_EQ(words(report.row(result)).at(1), "(stopped early, after 7 runs)");
}

TEST(BenchReport, ABaselineStandsBelow) {
  const cli::BenchReport report;
  BenchResult result = with_baseline();
  EXPECT_EQ(words(report.row(result)),
            (Lines{kOurs, "Fake 64x96 2 4 500.000 1000.000 25.0 % 4.0 3.0 25.0 5.00 MB",
                   "0.50x its time by the fastest quarters (125.000 and 250.000 ms), 0.75x by the "
                   "medians; logits differ by 9.8e-04 of the largest"}));
  const json rows = json::parse(report.json({result}))["results"];
  ASSERT_EQ(rows.size(), 2u);
  const json& theirs = rows[1];
  const json expected = {{"model", "m"},
                         {"engine", "Fake"},
                         {"height", 64},
                         {"width", 96},
                         {"batch", 2},
                         {"threads", 4},
                         {"runs", 3},
                         {"median_ms", 500.0},
                         {"p95_ms", 1000.0},
                         {"spread", 0.25},
                         {"best_quarter_ms", 250.0},
                         {"images_per_second", 4.0},
                         {"dense_multiply_adds", 1'000'000},
                         {"gflops", 3.0},
                         {"peak_share", 0.25},
                         {"arena_bytes", nullptr},
                         {"scratch_bytes", nullptr},
                         {"packed_bytes", nullptr},
                         {"process_bytes", 5'000'000},
                         {"ratio", 0.5},
                         {"ratio_median", 0.75},
                         {"difference", 0x1p-10},
                         {"precision", "float32"}};
  for (const auto& [key, value] : expected.items()) {
    EXPECT_EQ(theirs[key], value) << key;
  }
  result.baseline->arithmetic = Arithmetic::kInt8;
  EXPECT_EQ(json::parse(report.json({result}))["results"][1]["precision"], "int8");
  EXPECT_TRUE(words(report.row(result))[1].starts_with("Fake int8 64x96 ")) << report.row(result);
  // Of another network nothing is said that would need its size.
  result.baseline->same_network = false;
  result.baseline->process_bytes = 0;
  const json other = json::parse(report.json({result}))["results"][1];
  for (const char* key :
       {"gflops", "peak_share", "dense_multiply_adds", "scan_multiply_adds", "process_bytes"}) {
    EXPECT_TRUE(other[key].is_null()) << key;
  }
}

TEST(BenchReport, TheProfileIsOfOneRunAndAllThreads) {
  const cli::BenchReport report;
  BenchResult result = with_profile();
  EXPECT_EQ(words(report.row(result)),
            (Lines{kOurs, "work ms share GFLOP/s of peak", "linear 20.000 50.0 % 6.0 50.0 %",
                   "sum 10.000 25.0 %", "waiting 10.000 25.0 %"}));
  const json row = json::parse(report.json({result}))["results"][0];
  ASSERT_EQ(row["profile"].size(), 2u);
  EXPECT_EQ(row["profile"][0]["kind"], "linear");
  EXPECT_NEAR(row["profile"][0]["ms"], 20, 1e-9);
  EXPECT_NEAR(row["profile"][0]["gflops"], 6, 1e-9);
  EXPECT_NEAR(row["profile"][0]["peak_share"], 0.5, 1e-9);
  EXPECT_EQ(row["profile"][1]["gflops"], 0);
  EXPECT_EQ(row["peak_disturbed"], false);
  // One kind of work above the peak says as much as the whole.
  result.profile[0].seconds = 0.1;
  EXPECT_EQ(json::parse(report.json({result}))["results"][0]["peak_disturbed"], true);
  EXPECT_NE(report.row(result).find("more than 100 % of peak"), std::string::npos);
}

TEST(BenchReport, CsvHasTheValuesOfTheJson) {
  const cli::BenchReport report;
  std::istringstream lines(report.csv({with_baseline(), with_profile()}));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "cpu,simd,model,height,width,batch,threads,runs,complete,median_ms,p95_ms,spread,"
            "best_quarter_ms,images_per_second,dense_multiply_adds,scan_multiply_adds,gflops,"
            "peak_gflops,peak_share,peak_disturbed,arena_bytes,scratch_bytes,packed_bytes,"
            "process_bytes,engine,ratio,ratio_median,difference,proposals,objects,precision");
  const std::string ours =
      R"(,"m",64,96,2,4,7,true,250.0,500.0,0.125,125.0,8.0,1000000,500000,6.0,12.0,0.5,false,)"
      R"(1500000,2000,3000,123456789,"vig",,,,,,"float32")";
  const std::string theirs =
      R"(,"m",64,96,2,4,3,true,500.0,1000.0,0.25,250.0,4.0,1000000,500000,3.0,12.0,0.25,false,)"
      R"(,,,5000000,"Fake",0.5,0.75,0.0009765625,,,"float32")";
  for (const std::string& expected : {ours, theirs, ours}) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_TRUE(line.ends_with(expected)) << line << "\n" << expected;
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
  EXPECT_EQ(report.csv({}).find('\n'), report.csv({}).size() - 1);
}

}  // namespace
}  // namespace vig::test
