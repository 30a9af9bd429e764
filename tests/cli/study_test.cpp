// `vig study` as its users see it.
#include <gtest/gtest.h>

#include "cli/vig.h"
#include "support/started_program.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> small_study(const std::string& folder, const std::string& rows) {
  return {"study", "efficiency", "--rows", rows,    "--seconds",
          "0.01",  "--threads",  "1",      "--out", folder};
}

size_t lines_of(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(StudyCommand, MeasuresOnceAndContinues) {
  const TempDir folder;
  const std::string out = (folder / "out").string();
  RunResult result = vig(small_study(out, "vig_t/224"));
  expect_success(result);
  EXPECT_NE(result.out.find("1 rows to measure"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("vig_t/224: 1.20 G multiply-adds, "), std::string::npos) << result.out;
  const std::string first = read_file(fs::path(out) / "efficiency.csv");
  EXPECT_EQ(lines_of(first), 2u);
  result = vig(small_study(out, "vig_t/224,vrwkv_t/224"));
  expect_success(result);
  EXPECT_NE(result.out.find("1 rows are there already"), std::string::npos) << result.out;
  const std::string both = read_file(fs::path(out) / "efficiency.csv");
  EXPECT_TRUE(both.starts_with(first)) << "the first row is as it was";
  EXPECT_EQ(lines_of(both), 3u);
  EXPECT_NE(read_file(fs::path(out) / "efficiency.md").find("VRWKV-T"), std::string::npos);
  EXPECT_TRUE(read_file(fs::path(out) / "efficiency.svg").starts_with("<svg "));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(out)) left.push_back(entry.path().filename());
  EXPECT_EQ(left.size(), 3u) << "no files of a row are left";

  std::vector<std::string> other = small_study(out, "vig_t/224");
  other[5] = "0.02";
  expect_complaint(vig(other), 1, "seconds=0.01");
  EXPECT_EQ(read_file(fs::path(out) / "efficiency.csv"), both);
  other.push_back("--force");
  expect_success(vig(other));
  EXPECT_EQ(lines_of(read_file(fs::path(out) / "efficiency.csv")), 2u);
}

// Ctrl-C while a row is measured: the process of that row ends, finished rows stay.
TEST(StudyCommand, InterruptKeepsFinishedRows) {
  const TempDir folder;
  const std::string out = (folder / "out").string(), text = (folder / "text").string();
  expect_success(vig(small_study(out, "vrwkv_t/224")));
  const std::string before = read_file(fs::path(out) / "efficiency.csv");
  // Waits for the end of a process that would run for an hour.
  const std::string long_out = (folder / "long").string();
  const std::vector<std::string> command = {"study",     "efficiency", "--rows",    "vig_t/224",
                                            "--seconds", "3600",       "--threads", "1",
                                            "--out",     long_out};
  const RunResult result = interrupt_vig(command, text, 1);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_NE(result.err.find("the same command"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(fs::path(long_out) / "efficiency.csv"));
  EXPECT_EQ(read_file(fs::path(out) / "efficiency.csv"), before);
}

TEST(StudyCommand, BadUsage) {
  const TempDir folder;
  const std::string out = (folder / "out").string();
  expect_complaint(vig({"study"}), 2, "name");
  expect_complaint(vig({"study", "efficency"}), 2, "did you mean 'efficiency'");
  expect_complaint(vig(small_study(out, "vig_x")), 2, "vig_x");
  EXPECT_FALSE(fs::exists(out)) << "nothing is made for a bad request";
  expect_complaint(vig({"study", "efficiency", "--from", out, "--out", out}), 1,
                   "efficiency.csv: cannot be opened");
  expect_complaint(vig({"study", "report"}), 2, "--from");
  expect_complaint(vig({"study", "report", "--from", out, "--out", (folder / "no.md").string()}), 1,
                   "no.md");
  write_file(folder / "file", "");
  expect_complaint(vig(small_study((folder / "file").string(), "vig_t/224")), 1, "file");
}

TEST(StudyCommand, HelpListsTheStudies) {
  const RunResult result = vig({"study", "--help"});
  expect_success(result);
  for (const char* word : {"efficiency", "throughput", "report", "minutes on 2 cores", "--rows"}) {
    EXPECT_NE(result.out.find(word), std::string::npos) << word;
  }
}

TEST(StudyCommand, ReportFillsADocument) {
  const TempDir folder;
  const std::string page = (folder / "page.md").string();
  fs::create_directories(folder / "results");
  write_file(page, "a\n<!-- study efficiency -->\n<!-- end -->\nb\n");
  const RunResult result =
      vig({"study", "report", "--from", (folder / "results").string(), "--out", page});
  expect_success(result);
  const std::string text = read_file(page);
  EXPECT_NE(text.find("Nothing is measured yet."), std::string::npos) << text;
  EXPECT_TRUE(fs::exists(folder / "efficiency.svg"));
}

}  // namespace
}  // namespace vig::test
