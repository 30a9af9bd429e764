// Training and evaluation on a list of paths and labels.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/errors.h"
#include "support/run_program.h"
#include "support/tree.h"
#include "train/fixtures.h"

namespace vig::test {
namespace {

using train::TrainOptions;

class CsvRun : public ::testing::Test {
 protected:
  CsvRun() {
    const Files files = striped_images(3, 12);
    write_files(folder_ / "data", files);
    // Backwards, since the order of rows does not matter.
    for (auto file = files.rbegin(); file != files.rend(); ++file) {
      rows_ += fmt::format("{},{}\n", file->first, file->first.substr(0, 6));
    }
  }
  std::string list(const std::string& text) {
    write_file(folder_ / "data/list.csv", text);
    return (folder_ / "data/list.csv").string();
  }
  std::string out(const std::string& name) const { return (folder_ / name).string(); }

  TempDir folder_;
  std::string rows_;
};

TEST_F(CsvRun, IsThatOfTheFolders) {
  TrainOptions options = tiny_options("small");
  options.epochs = 2;
  const RunRecord folders = run_training(options, out("data"), out("folders"));
  const RunRecord listed = run_training(options, list("path,label\n" + rows_), out("listed"));
  EXPECT_EQ(listed.summary.train_images, 32u);
  EXPECT_EQ(listed.summary.val_images, 4u);
  EXPECT_EQ(listed.losses, folders.losses);
  EXPECT_TRUE(listed.summary.task.warnings.empty());
  expect_same_runs(out("listed"), out("folders"));
  EXPECT_EQ(read_file(out("listed") + "/validation.txt"),
            read_file(out("folders") + "/validation.txt"));
}

TEST_F(CsvRun, RowsThatAreNoGoodAreReportedOnce) {
  TrainOptions options = tiny_options("small");
  options.epochs = 1;
  std::string text = rows_;
  for (int i = 0; i < 12; ++i) text += fmt::format("missing{}.png,class0\n", i);
  const RunRecord record = run_training(options, list(text + "class0/1.png\n"), out("run"));
  EXPECT_EQ(record.summary.train_images + record.summary.val_images, 36u);
  const std::vector<std::string>& warnings = record.summary.task.warnings;
  ASSERT_EQ(warnings.size(), 12u);
  EXPECT_TRUE(warnings[0].ends_with("list.csv: line 49: expected 2 columns, found 1"))
      << warnings[0];
  EXPECT_TRUE(warnings[1].ends_with("line 37: names \"missing0.png\", which is not there"))
      << warnings[1];
  EXPECT_EQ(warnings[10], "and 3 more problems of the data");
  EXPECT_EQ(warnings[11], "13 samples are left out, 36 remain");
}

TEST_F(CsvRun, SplitsAreUsed) {
  std::string text = "path,label,split\n";
  std::istringstream lines(rows_);
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    text += line + (number % 4 == 0 ? ",val\n" : number % 4 == 1 ? ",test\n" : ",train\n");
  }
  TrainOptions options = tiny_options("small");
  options.epochs = 1;
  const RunRecord record = run_training(options, list(text), out("run"));
  EXPECT_EQ(record.summary.train_images, 18u);
  EXPECT_EQ(record.summary.val_images, 9u);
  EXPECT_FALSE(std::filesystem::exists(out("run") + "/validation.txt"));
}

TEST_F(CsvRun, BadListsAreRefusedBeforeTheFirstStep) {
  const auto refused = [&](const std::string& text, std::initializer_list<std::string> words) {
    expect_error(ErrorCode::kInput, words,
                 [&] { run_training(tiny_options("small"), list(text), out("run")); });
    EXPECT_FALSE(std::filesystem::exists(out("run")));
  };
  refused("", {"list.csv", "found none"});
  refused("class0/1.png,a\nclass0/2.png,a\n", {"at least 2 classes, found 1 (a)"});
  refused("x.png,a\ny.png,b\n", {"none of its images is there", "x.png"});
  refused("class0/1.png,a,test\nclass1/1.png,b,test\n", {"there is no training split"});
}

TEST_F(CsvRun, OfTheProgram) {
  const std::string path = list(rows_);
  const RunResult trained =
      run_program({kVig, "train", path, "--preset", "small", "-m", "test_vig", "--size", "32",
                   "--epochs", "1", "--batch", "16", "--threads", "1", "--out", out("run")});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  const RunResult of_run = run_program({kVig, "eval", out("run")});
  EXPECT_EQ(of_run.exit_code, 0) << of_run.err;
  EXPECT_NE(of_run.out.find("images  4"), std::string::npos) << of_run.out;
  const std::string model = out("run") + "/best.safetensors";
  const RunResult whole = run_program({kVig, "eval", "-m", model, path});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_NE(whole.out.find("images  36"), std::string::npos) << whole.out;
  EXPECT_EQ(whole.err, "");

  const RunResult part =
      run_program({kVig, "eval", "-m", model, list("gone.png,class0\n" + rows_)});
  EXPECT_EQ(part.exit_code, 3) << part.out;
  EXPECT_NE(part.err.find("list.csv: line 1: names \"gone.png\", which is not there"),
            std::string::npos)
      << part.err;
  EXPECT_NE(part.out.find("images  36"), std::string::npos) << part.out;
  const RunResult none = run_program({kVig, "eval", "-m", model, list("gone.png,class0\n")});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(std::ranges::count(none.err, '\n'), 1) << none.err;
}

}  // namespace
}  // namespace vig::test
