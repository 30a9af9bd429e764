// `vig train` as its users see it: one command, one sentence when it fails, and weights that do not
// depend on how often it was killed.
#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/run_program.h"
#include "support/xml.h"
#include "train/fixtures.h"
#include "vig/base/random.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Arguments = std::vector<std::string>;

class Program : public ::testing::Test {
 protected:
  static Arguments joined(Arguments first, const Arguments& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
  // On two threads: what the weights may depend on.
  Arguments training(const std::string& out, const Arguments& more = {}) const {
    return joined({VIG_BINARY, "train", (folder_ / "data").string(), "--out",
                   (folder_ / out).string(), "--model", "test_vig", "--set", "embed_dim=32",
                   "--set", "patch_size=8", "--size", "24", "--threads", "2"},
                  more);
  }

  TempDir folder_;
};

TEST_F(Program, TrainsAndTheEngineMeasuresTheSame) {
  write_files(folder_ / "data/train", striped_pictures(3, 40));
  write_files(folder_ / "data/val", striped_pictures(3, 50));
  write_file(folder_ / "data/train/class0/notes.txt", "no picture");
  const Arguments command = training("run", {"--recipe", "small", "--batch", "16", "--epochs", "4",
                                             "--flip", "0", "--ema", "0.9"});
  const RunResult run = run_program(command);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  for (const char* words : {"test_vig: ", "120 pictures to train on, 150 to validate on",
                            "1 files that are no pictures", "best: "}) {
    EXPECT_NE(run.out.find(words), std::string::npos) << run.out;
  }

  const fs::path out = folder_ / "run";
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(out)) files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files,
            (std::vector<std::string>{"best.safetensors", "checkpoint.safetensors", "curves.svg",
                                      "last.safetensors", "metrics.csv", "run.json"}));
  EXPECT_EQ(xml_problem(read_file(out / "curves.svg")), "");
  const json record = json::parse(read_file(out / "run.json"));
  train::TrainOptions all;
  visit_options(all, [&](const std::string& name, const auto&, const char*) {
    EXPECT_TRUE(record.contains(name)) << name;
  });
  EXPECT_EQ(record["data"], (folder_ / "data").string());
  EXPECT_EQ(record["processes"], "1");
  EXPECT_EQ(record["ema"], "0.9");
  EXPECT_EQ(record["threads"], "2");
  EXPECT_EQ(record["model.patch_size"], "8");

  // The best line of the table is what `vig eval` finds for the best network.
  std::string table = read_file(out / "metrics.csv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 5);
  double best = -1, loss = 0;
  for (size_t line = table.find('\n') + 1; line < table.size(); line = table.find('\n', line) + 1) {
    double epoch, step, lr, train_loss, train_top1, val_loss, val_top1;
    ASSERT_EQ(std::sscanf(table.c_str() + line, "%lf,%lf,%lf,%lf,%lf,%lf,%lf", &epoch, &step, &lr,
                          &train_loss, &train_top1, &val_loss, &val_top1),
              7);
    if (val_top1 > best || (val_top1 == best && val_loss < loss)) loss = val_loss;
    best = std::max(best, val_top1);
  }
  EXPECT_GT(best, 0.4) << "better than a guess";
  const RunResult eval = run_program({VIG_BINARY, "eval", "-m", (out / "best.safetensors").string(),
                                      (folder_ / "data").string(), "--split", "val", "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  const json measured = json::parse(eval.out);
  EXPECT_EQ(measured["pictures"], 150);
  EXPECT_NEAR(measured["top1"].get<double>(), best, 1e-6);
  EXPECT_NEAR(measured["loss"].get<double>(), loss, 1e-5);
  EXPECT_EQ(measured["classes"][2]["name"], "class2");

  const RunResult again = run_program(command);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find("going on from step 28 of 28"), std::string::npos) << again.out;
}

// Starts the program and ends it with `signal` once it has written `checkpoints` more checkpoints
// and `delay` seconds have passed.
RunResult disturb(const Arguments& arguments, const fs::path& checkpoint, int checkpoints,
                  double delay, const std::string& signal) {
  const std::string script = R"(
    file=$1 left=$2 delay=$3 signal=$4
    shift 4
    inode() { stat -c %i "$file" 2>/dev/null; }
    last=$(inode)
    "$@" >/dev/null &
    while ((left > 0)) && kill -0 $!; do
      now=$(inode)
      if [[ $now != "$last" ]]; then last=$now left=$((left - 1)); fi
      sleep 0.002
    done
    sleep "$delay"
    kill -"$signal" $!
    wait $!)";
  // A shell without job control starts background work with Ctrl-C ignored; -m gives it back.
  Arguments command = {"bash",
                       "-m",
                       "-c",
                       script,
                       "disturb",
                       checkpoint.string(),
                       std::to_string(checkpoints),
                       std::to_string(delay),
                       signal};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_program(command);
}

TEST_F(Program, KilledAtAnyMomentItEndsWithTheSameWeights) {
  write_files(folder_ / "data", striped_pictures(4, 24));
  // A checkpoint a step, and several times the steps that a fast machine makes until the last kill.
  const Arguments more = {
      "--batch", "16", "--epochs", "60", "--eval-every", "20", "--checkpoint-minutes", "0"};
  const RunResult undisturbed = run_program(training("undisturbed", more), {.time_limit = 110});
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;

  const fs::path out = folder_ / "disturbed";
  const fs::path checkpoint = out / "checkpoint.safetensors";
  const RunResult interrupted = disturb(training("disturbed", more), checkpoint, 1, 0, "INT");
  EXPECT_EQ(interrupted.exit_code, 130) << interrupted.err;

  RandomStream stream(static_cast<uint64_t>(::getpid()));  // other moments each time
  int killed = 0;
  for (int round = 0; round < 5; ++round) {
    const int checkpoints = 1 + static_cast<int>(stream.below(7));
    const double delay = 0.04 * stream.uniform();
    const RunResult result =
        disturb(training("disturbed", more), checkpoint, checkpoints, delay, "KILL");
    killed += result.exit_code == 128 + SIGKILL ? 1 : 0;
  }
  EXPECT_GE(killed, 3);

  const RunResult last = run_program(training("disturbed", more), {.time_limit = 110});
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_NE(last.out.find("going on from step "), std::string::npos) << last.out;
  expect_same_runs(out, folder_ / "undisturbed");
  for (const auto& entry : fs::directory_iterator(out)) {
    EXPECT_EQ(entry.path().string().find(".tmp-"), std::string::npos) << entry.path();
  }
}

TEST_F(Program, GoesOnWhenNobodyReadsItsOutput) {
  write_files(folder_ / "data", striped_pictures(3, 12));
  const Arguments shell = {"bash", "-c", R"("$@" | true; exit "${PIPESTATUS[0]}")", "reader"};
  const Arguments more = {"--batch", "16", "--epochs", "4"};
  const RunResult run = run_program(joined(shell, training("run", more)));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  const std::string table = read_file(folder_ / "run/metrics.csv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 5) << table;
}

TEST_F(Program, FailsInOneSentence) {
  write_files(folder_ / "data", striped_pictures(2, 12));
  write_file(folder_ / "file", "");
  const auto expect = [&](const Arguments& arguments, int exit_code, const std::string& about) {
    const RunResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_TRUE(result.err.starts_with("vig: ")) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find(about), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  };
  expect(training("run", {"--batch", "many"}), 2, "--batch is 'many'");
  expect(training("run", {"--wheels", "4"}), 2, "--wheels");
  expect(training("run", {"--device", "tpu", "--workers", "2"}), 2, "--device is 'tpu'");
  expect(training("run", {"--group-timeout", "nan", "--workers", "2"}), 2, "--group-timeout");
  expect(training("run", {"--batch", "1000"}), 1, "fewer than one batch of 1000");
  expect(training("file", {"--batch", "4"}), 1, (folder_ / "file").string() + ": ");
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(Program, HelpNamesEveryOption) {
  const RunResult help = run_program({VIG_BINARY, "train", "--help"});
  EXPECT_EQ(help.exit_code, 0) << help.err;
  train::TrainOptions all;
  visit_options(all, [&](const std::string& name, const auto&, const char*) {
    const std::string option = name == "model" ? "-m,--model" : "--" + name;
    EXPECT_NE(help.out.find("\n  " + option + " "), std::string::npos) << name;
  });
}

}  // namespace
}  // namespace vig::test
