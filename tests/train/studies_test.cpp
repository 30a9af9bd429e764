// `vig study` for the studies that train: whole runs in small, and what is left after a kill.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "support/run_program.h"
#include "support/tree.h"
#include "support/xml.h"
#include "train/dense_fixtures.h"
#include "train/fixtures.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

class TrainedStudies : public ::testing::Test {
 protected:
  TrainedStudies() {
    write_files(folder_ / "data/train", striped_images(2, 24));
    for (const char* split : {"data/val", "data/test"}) {
      write_files(folder_ / split, striped_images(2, 6));
    }
  }

  Arguments command(const std::string& name, const std::string& out, const Arguments& more) const {
    Arguments arguments = {kVig,
                           "study",
                           name,
                           "--data",
                           (folder_ / "data").string(),
                           "--out",
                           (folder_ / out).string(),
                           "--epochs",
                           "2",
                           "--seeds",
                           "1",
                           "--threads",
                           "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  RunResult run(const std::string& name, const std::string& out, const Arguments& more,
                const RunOptions& options = {}) const {
    return run_program(command(name, out, more), options);
  }
  std::string file(const std::string& name) const { return read_file(folder_ / name); }
  // Without the day on which its rows were measured.
  std::string rows(const std::string& csv) const {
    return std::regex_replace(file(csv), std::regex(",20\\d\\d-\\d\\d-\\d\\d,"), ",DATE,");
  }
  static int64_t lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  }

  TempDir folder_;
};

TEST_F(TrainedStudies, ResumeTrainingAndEndTheSame) {
  const RunResult whole = run("resolution", "whole", {"--rows", "vig_t"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(lines(file("whole/resolution.csv")), 6);  // a heading and five sizes
  EXPECT_EQ(xml_problem(file("whole/resolution.svg")), "");

  const RunResult killed = run("resolution", "killed", {"--rows", "vig_t"},
                               {.environment = signal_at("renamed:checkpoint.safetensors:1:KILL")});
  EXPECT_EQ(killed.exit_code, 1) << killed.out;
  EXPECT_NE(killed.err.find("was ended by signal 9"), std::string::npos) << killed.err;
  EXPECT_TRUE(
      fs::exists(folder_ / "killed/runs/vig_t-data-2epochs-32-crops-seed1/checkpoint.safetensors"));
  const RunResult resumed = run("resolution", "killed", {"--rows", "vig_t"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(rows("killed/resolution.csv"), rows("whole/resolution.csv"));
  EXPECT_EQ(
      tensor_bytes(folder_ / "killed/runs/vig_t-data-2epochs-32-crops-seed1/last.safetensors"),
      tensor_bytes(folder_ / "whole/runs/vig_t-data-2epochs-32-crops-seed1/last.safetensors"));
}

TEST_F(TrainedStudies, AKillBetweenRowsLosesNone) {
  std::string line;
  for (const std::string& word : command("resolution", "out", {"--rows", "resnet50"})) {
    line += "'" + word + "' ";
  }
  const std::string csv = (folder_ / "out/resolution.csv").string();
  run_program({"bash", "-c",
               line + "& until [ $(cat '" + csv +
                   "' 2>/dev/null | wc -l) -ge 3 ]; do sleep 0.02; done; kill -KILL $!; wait $!"});
  const std::string before = file("out/resolution.csv");
  EXPECT_GE(lines(before), 3);
  const auto trained = fs::last_write_time(
      folder_ / "out/runs/resnet50-data-2epochs-32-crops-seed1/last.safetensors");
  const RunResult resumed = run("resolution", "out", {"--rows", "resnet50"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("rows are there already"), std::string::npos) << resumed.out;
  EXPECT_TRUE(file("out/resolution.csv").starts_with(before));
  EXPECT_EQ(lines(file("out/resolution.csv")), 6);
  EXPECT_EQ(fs::last_write_time(folder_ /
                                "out/runs/resnet50-data-2epochs-32-crops-seed1/last.safetensors"),
            trained);
}

// Rows that were measured elsewhere are continued here.
TEST_F(TrainedStudies, ContinueStoredRows) {
  ASSERT_EQ(run("curve", "first", {"--rows", "gla_t"}).exit_code, 0);
  std::string stored = file("first/curve.csv");
  const size_t heading = stored.find('\n') + 1;
  stored.replace(heading, stored.find(',', heading) - heading, "Another processor");
  write_file(folder_ / "stored/curve.csv", stored);
  const RunResult result =
      run("curve", "second", {"--rows", "gla_t,vig_t", "--from", (folder_ / "stored").string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string csv = file("second/curve.csv");
  EXPECT_NE(csv.find("Another processor"), std::string::npos) << csv;
  EXPECT_EQ(lines(csv), 3) << csv;
  EXPECT_FALSE(fs::exists(folder_ / "second/runs/gla_t-data-2epochs-32-every1-seed1"));
  EXPECT_TRUE(fs::exists(folder_ / "second/runs/vig_t-data-2epochs-32-every1-seed1"));
}

// Dense networks in small can be built and trained, and what a run stores is read.
TEST_F(TrainedStudies, ScenesTrainTheirMiniatures) {
  write_files(folder_ / "labelled", labelled_images(4, 2));
  const RunResult result = run_program(
      {kVig, "study", "segmentation", "--data", (folder_ / "labelled").string(), "--out",
       (folder_ / "out").string(), "--epochs", "0.5", "--seeds", "1", "--threads", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines(file("out/segmentation.csv")), 4);
  EXPECT_NE(result.out.find("one seed has no interval"), std::string::npos) << result.out;
}

// Weights of the user's, here a small network without training.
TEST_F(TrainedStudies, GivenWeightsAreEvaluated) {
  const std::string weights = (folder_ / "given.safetensors").string();
  ASSERT_EQ(run_program({kVig, "convert", "vig_t", weights, "--random", "--set", "depth=1", "--set",
                         "classes=2"})
                .exit_code,
            0);
  for (const auto& [study, row] :
       {std::pair("validation", "ViG-T"), std::pair("resolution", "vig_t/given/224")}) {
    const RunResult result = run(study, study, {"--rows", row, "--weights", "vig_t=" + weights});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const std::string csv = file(fmt::format("{0}/{0}.csv", study));
    EXPECT_EQ(lines(csv), 2) << csv;
    EXPECT_NE(csv.find(fmt::format(",{},", row)), std::string::npos) << csv;
  }
}

TEST_F(TrainedStudies, RoadmapHasCostsAndAccuracies) {
  const RunResult result =
      run("roadmap", "out", {"--rows", "gla_t,gla_t_stem", "--seconds", "0.01"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string csv = file("out/roadmap.csv");
  for (const char* row : {"gla_t/cost", "gla_t_stem/cost", "gla_t/seed1", "gla_t_stem/seed1"}) {
    EXPECT_NE(csv.find(row), std::string::npos) << row;
  }
  EXPECT_EQ(lines(csv), 5) << csv;
  EXPECT_NE(result.out.find("undecided: The improved patch embedding boosts"), std::string::npos)
      << "verdicts on the terminal: " << result.out;
  EXPECT_NE(file("out/roadmap.md").find("`gla_t_stem`"), std::string::npos);
  EXPECT_EQ(xml_problem(file("out/roadmap.svg")), "");
}

TEST_F(TrainedStudies, FieldsOfMiniaturesBeforeAndAfterTraining) {
  const std::string images = (folder_ / "data/test").string();
  const RunResult result =
      run("erf", "out",
          {"--images", images, "--rows",
           "vig_t/initial,deit_t/miniature-initial/128,deit_t/miniature-trained/192"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines(file("out/erf.csv")), 4);
  EXPECT_EQ(xml_problem(file("out/erf.svg")), "");
  EXPECT_NE(file("out/erf.md").find("DeiT-T, miniature, trained | 192 |"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "out/runs/deit_t-data-2epochs-64-seed1/last.safetensors"));
}

TEST_F(TrainedStudies, SayWhatIsMissing) {
  const auto expect = [](const RunResult& result, int exit_code, const std::string& about) {
    EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
    EXPECT_NE(result.err.find(about), std::string::npos) << result.err;
  };
  const std::string out = (folder_ / "out").string();
  expect(run_program({kVig, "study", "resolution", "--out", out}), 2, "--data");
  expect(run_program({kVig, "study", "erf", "--out", out}), 2, "--images");
  expect(run_program({kVig, "study", "erf", "--out", out, "--weights", "vig_t"}), 2, "--weights");
  expect(run_program({kVig, "study", "erf", "--out", out, "--rows", "vig_t", "--images",
                      (folder_ / "nowhere").string()}),
         1, "nowhere");
  fs::remove_all(folder_ / "data/val");
  expect(run("resolution", "other", {"--rows", "resnet50"}), 1, "no split val");
}

}  // namespace
}  // namespace vig::test
