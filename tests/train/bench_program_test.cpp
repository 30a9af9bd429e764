// `vig bench --train` as its users see it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

RunResult bench(Arguments more) {
  more.insert(more.begin(), {kVig, "bench", "--train", "test_vig", "--size", "32", "--batch", "2",
                             "--threads", "1", "--seconds", "0.01"});
  return run_program(more);
}

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> parts;
  std::istringstream stream(line);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

TEST(TrainingBenchProgram, JsonAndCsvHaveTheSameFigures) {
  const TempDir folder;
  const std::string csv = (folder / "bench.csv").string();
  const RunResult result = bench({"--json", "--csv", csv});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto row = nlohmann::ordered_json::parse(result.out);
  EXPECT_EQ(row["model"], "test_vig");
  EXPECT_EQ(row["size"], 32);
  EXPECT_EQ(row["batch"], 2);
  EXPECT_EQ(row["threads"], 1);
  EXPECT_GT(row["steps"], 0);
  EXPECT_LE(row["best_quarter_ms"], row["median_ms"]);
  EXPECT_LE(row["median_ms"], row["p95_ms"]);
  const double median = row["median_ms"];
  EXPECT_NEAR(row["images_per_second"].get<double>() * median, 2000, 1e-3);
  EXPECT_NEAR(row["peak_share"].get<double>(),
              row["gflops"].get<double>() / row["peak_gflops"].get<double>(), 1e-9);
  EXPECT_NEAR(row["times_faster"].get<double>() * row["best_quarter_ms"].get<double>(),
              row["expansion_ms"].get<double>(), 1e-6);
  EXPECT_GT(row["process_mb"], 10);  // a process with LibTorch
  EXPECT_LT(row["process_mb"], 10'000);

  std::istringstream lines(read_file(csv));
  std::string names, values, more;
  ASSERT_TRUE(std::getline(lines, names) && std::getline(lines, values));
  EXPECT_FALSE(std::getline(lines, more)) << more;
  std::vector<std::string> expected_names, expected;
  for (const auto& [name, value] : row.items()) {
    expected_names.push_back(name);
    expected.push_back(value.is_number_float() ? fmt::format("{:.4f}", value.get<double>())
                                               : value.dump());
  }
  EXPECT_EQ(cells(names), expected_names);
  EXPECT_EQ(cells(values), expected);
}

TEST(TrainingBenchProgram, AloneNothingIsCompared) {
  const RunResult result = bench({"--alone"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("test_vig at 32 x 32, batch 2, 1 threads, ")) << result.out;
  for (const char* word : {" ms fastest quarter of ", "images/s", "peak memory"}) {
    EXPECT_NE(result.out.find(word), std::string::npos) << result.out;
  }
  EXPECT_EQ(result.out.find("expansion"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace vig::test
