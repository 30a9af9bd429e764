#include <gtest/gtest.h>
#include <sched.h>

#include "cli/vig.h"

namespace vig::test {
namespace {

using nlohmann::json;

TEST(BenchCommand, EveryCombination) {
  const TempDir folder;
  const std::string csv = (folder / "results.csv").string();
  const RunResult result =
      vig({"bench", "test_vig", "test_vig_h", "--size", "64,32x96", "--batch", "1,2", "--threads",
           "1,2", "--seconds", "0.01", "--json", "--csv", csv});
  expect_success(result);
  const json report = json::parse(result.out);
  ASSERT_EQ(report["results"].size(), 16u);
  for (const json& row : report["results"]) {
    EXPECT_GE(row["runs"], 5);
    EXPECT_GT(row["median_ms"], 0);
    EXPECT_GE(row["p95_ms"], row["median_ms"]);
    EXPECT_GT(row["gflops"], 0);
    EXPECT_GT(row["peak_gflops"], 0);
    EXPECT_GT(row["arena_bytes"], 0);
    EXPECT_GT(row["process_bytes"], row["arena_bytes"]);
  }
  EXPECT_EQ(report["results"][2]["batch"], 2);
  EXPECT_EQ(report["results"][4]["width"], 96);
  const std::string text = read_file(csv);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 17);
  EXPECT_TRUE(text.starts_with("cpu,simd,model,height")) << text;
}

// As by `taskset`, the threads are those of the affinity mask, which the program inherits.
TEST(BenchCommand, HasAThreadForEachProcessorItMayUse) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  const RunResult result = vig({"bench", "test_vig", "--seconds", "0.01", "--json"});
  ASSERT_EQ(::sched_setaffinity(0, sizeof(before), &before), 0);
  expect_success(result);
  EXPECT_EQ(json::parse(result.out)["results"][0]["threads"], 1);
}

TEST(BenchCommand, TableAndProfile) {
  const TempDir folder;
  const RunResult result = vig({"bench", make_model(folder), "--set", "classes=10", "--seconds",
                                "0.01", "--threads", "1", "--profile"});
  expect_success(result);
  for (const char* word : {"median ms", "p95 ms", "images/s", "arena", "model.safetensors",
                           "of peak", "scan", "linear", "waiting"}) {
    EXPECT_NE(result.out.find(word), std::string::npos) << word << "\n" << result.out;
  }
}

TEST(BenchCommand, ADetectorSaysWhatItRan) {
  const std::vector<std::string> command = {
      "bench", "test_vig_maskrcnn", "--set", "proposals=40", "--set", "detections=7", "--size",
      "64x96", "--seconds",         "0.01"};
  const RunResult result = vig(command);
  expect_success(result);
  EXPECT_NE(result.out.find("40 boxes through the box head, 7 objects through the mask head"),
            std::string::npos)
      << result.out;
  std::vector<std::string> as_json = command;
  as_json.emplace_back("--json");
  const json row = json::parse(vig(as_json).out)["results"][0];
  EXPECT_EQ(row["proposals"], 40);
  EXPECT_EQ(row["objects"], 7);
  EXPECT_TRUE(
      json::parse(
          vig({"bench", "test_vig", "--seconds", "0.01", "--json"}).out)["results"][0]["proposals"]
          .is_null());
  const RunResult batch =
      vig({"bench", "test_vig", "test_vig_maskrcnn", "--batch", "2", "--seconds", "1000"});
  expect_complaint(batch, 2, "image by image");
  EXPECT_EQ(batch.out, "");
}

// Every processor has "plain".
TEST(BenchCommand, AnOlderInstructionSet) {
  const TempDir folder;
  const std::string csv = (folder / "results.csv").string();
  const auto run = [&](const char* simd) {
    const RunResult result = vig({"bench", "test_vig", "--simd", simd, "--seconds", "0.01", "--csv",
                                  csv, "--json", "--threads", "1"});
    expect_success(result);
    return json::parse(result.out);
  };
  const json plain = run("plain");
  EXPECT_EQ(plain["simd"], "plain");
  EXPECT_NE(read_file(csv).find(",plain,\"test_vig\","), std::string::npos);
  const json best = json::parse(vig({"bench", "test_vig", "--seconds", "0.01", "--json"}).out);
  EXPECT_EQ(run(best["simd"].get<std::string>().c_str())["simd"], best["simd"]);
  expect_complaint(vig({"bench", "test_vig", "--simd", "mmx"}), 2, "mmx");
}

TEST(BenchCommand, ProblemsShowBeforeTheFirstMeasurement) {
  const RunResult result = vig({"bench", "test_vig", "vig_x", "--seconds", "1000"});
  expect_complaint(result, 2, "vig_x");
  EXPECT_EQ(result.out, "");
  expect_complaint(vig({"bench", "test_vig", "--size", "64,1", "--seconds", "1000"}), 1,
                   "too small");
  expect_complaint(vig({"bench", "test_vig", "--csv", "/no/such/x.csv", "--seconds", "1000"}), 1,
                   "/no/such/x.csv");
  expect_complaint(vig({"bench", "test_vig", "--train=true", "--seconds", "1000"}), 2, "--train");
}

TEST(BenchCommand, InterruptKeepsWhatWasMeasured) {
  const TempDir folder;
  const std::string out = (folder / "out.txt").string(), csv = (folder / "out.csv").string();
  // More than can be measured before the signal comes, however late that is.
  std::string batches = "1";
  for (int batch = 2; batch <= 100; ++batch) batches += "," + std::to_string(batch);
  // Three lines stand above the first result.
  const RunResult result = interrupt_vig(
      {"bench", "test_vig", "--batch", batches, "--seconds", "0.5", "--csv", csv}, out, 4);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_FALSE(std::filesystem::exists(csv));
  const std::string rows = read_file(csv + ".partial");
  EXPECT_GE(std::count(rows.begin(), rows.end(), '\n'), 2) << rows;
  EXPECT_LT(std::count(rows.begin(), rows.end(), '\n'), 101) << rows;
}

}  // namespace
}  // namespace vig::test
