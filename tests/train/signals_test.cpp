// Runs that are interrupted or killed at an exact point: they say so at once, leave no temporary
// files, and end with the weights of a run that nobody disturbed.
#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <map>

#include "support/run_program.h"
#include "support/tree.h"
#include "train/fixtures.h"
#include "train/terminal.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

class Signals : public ::testing::Test {
 protected:
  Signals() {
    write_files(folder_ / "data/train", striped_images(4, 22));
    write_files(folder_ / "data/val", striped_images(4, 2));
  }

  // 88 images, six steps an epoch, a checkpoint after each; `more` replaces these numbers.
  Arguments training(const std::string& out,
                     const std::map<std::string, std::string>& more = {}) const {
    std::map<std::string, std::string> options = {
        {"--preset", "imagenet"}, {"--model", "test_vig"},
        {"--size", "24"},         {"--threads", "1"},
        {"--batch", "16"},        {"--epochs", "2"},
        {"--eval-every", "1"},    {"--checkpoint-minutes", "0"}};
    for (const auto& [name, value] : more) options[name] = value;
    Arguments arguments = {kVigTrain,
                           "train",
                           (folder_ / "data").string(),
                           "--out",
                           (folder_ / out).string(),
                           "--set",
                           "embed_dim=32",
                           "--set",
                           "patch_size=8"};
    for (const auto& [name, value] : options) arguments.insert(arguments.end(), {name, value});
    return arguments;
  }

  static RunResult disturb(const Arguments& arguments, const std::string& signal) {
    RunOptions options;
    options.time_limit = 110;
    if (!signal.empty()) options.environment = signal_at(signal);
    return run_program(arguments, options);
  }

  void expect_no_temporaries(const std::string& out) const {
    for (const auto& entry : fs::directory_iterator(folder_ / out)) {
      EXPECT_EQ(entry.path().string().find(".tmp-"), std::string::npos) << entry.path();
    }
  }

  static bool resumed(const RunResult& run, int64_t step) {
    return run.out.find(fmt::format("resuming from step {} of 12\n", step)) != std::string::npos;
  }

  TempDir folder_;
};

TEST_F(Signals, StopAfterTheStepAndResume) {
  for (const auto& [name, status] : {std::pair{"INT", 130}, {"TERM", 143}, {"HUP", 129}}) {
    const RunResult stopped =
        disturb(training(name), std::string("renamed:checkpoint.safetensors:4:") + name);
    EXPECT_EQ(stopped.exit_code, status) << stopped.err;
    EXPECT_TRUE(stopped.err.starts_with("vig: stopping after this step")) << stopped.err;
    EXPECT_EQ(std::count(stopped.err.begin(), stopped.err.end(), '\n'), 1) << stopped.err;
    EXPECT_NE(stopped.out.find("stopped at step 5; the same command resumes"), std::string::npos)
        << stopped.out;
    expect_no_temporaries(name);
  }
  const RunResult rest = disturb(training("TERM"), "");
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_TRUE(resumed(rest, 5)) << rest.out;
  ASSERT_EQ(disturb(training("undisturbed"), "").exit_code, 0);
  expect_same_runs(folder_ / "TERM", folder_ / "undisturbed");
}

// Before a checkpoint has its name, right after it, during validation, and before the network is
// written that was validated.
TEST_F(Signals, KilledAnywhereItEndsWithTheSameWeights) {
  const Arguments arguments = training("killed");
  int64_t saved = 0;
  const std::pair<const char*, int64_t> points[] = {{"rename:checkpoint.safetensors:1:KILL", 0},
                                                    {"renamed:checkpoint.safetensors:4:KILL", 4},
                                                    {"open:/val/:1:KILL", 5},
                                                    {"rename:last.safetensors:2:KILL", 11}};
  for (const auto& [point, step] : points) {
    const RunResult killed = disturb(arguments, point);
    EXPECT_EQ(killed.signal, SIGKILL) << point << ": " << killed.err;
    EXPECT_TRUE(saved == 0 || resumed(killed, saved)) << point << "\n" << killed.out;
    saved = step;
  }
  const RunResult last = disturb(arguments, "");
  EXPECT_EQ(last.exit_code, 0) << last.err;
  EXPECT_TRUE(resumed(last, saved)) << last.out;
  expect_no_temporaries("killed");
  ASSERT_EQ(disturb(training("undisturbed"), "").exit_code, 0);
  expect_same_runs(folder_ / "killed", folder_ / "undisturbed");
}

TEST_F(Signals, TheSecondEndsAtOnce) {
  const RunResult left = disturb(training("run"), "rename:checkpoint.safetensors:5:INT2");
  EXPECT_EQ(left.exit_code, 130) << left.err;
  EXPECT_TRUE(left.err.starts_with("vig: stopping after this step")) << left.err;
  EXPECT_EQ(left.out.find("stopped at"), std::string::npos) << left.out;
  expect_no_temporaries("run");
  const RunResult rest = disturb(training("run"), "renamed:checkpoint.safetensors:1:INT");
  EXPECT_TRUE(resumed(rest, 4)) << "what was saved stays\n" << rest.out;
}

TEST_F(Signals, AValidationDoesNotDelayTheStop) {
  const RunResult stopped = disturb(training("run"), "open:/val/:1:INT");
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_NE(stopped.out.find("stopped at step 6;"), std::string::npos) << stopped.out;
  EXPECT_FALSE(fs::exists(folder_ / "run/best.safetensors"));
  const RunResult rest = disturb(training("run"), "renamed:checkpoint.safetensors:1:INT");
  EXPECT_TRUE(fs::exists(folder_ / "run/best.safetensors")) << rest.err;
}

TEST_F(Signals, WhatIsIgnoredFromTheStartStaysIgnored) {
  Arguments arguments = {"bash", "-c", "trap '' HUP; exec \"$@\"", "bash"};
  const Arguments own = training("run");
  arguments.insert(arguments.end(), own.begin(), own.end());
  const RunResult ended = disturb(arguments, "renamed:checkpoint.safetensors:2:HUP");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
}

TEST_F(Signals, OnATerminalWhatIsSaidBeginsALine) {
  // The first step has a status.
  const TerminalResult stopped =
      run_on_terminal(training("interrupted"), signal_at("renamed:checkpoint.safetensors:3:INT"));
  EXPECT_EQ(stopped.exit_code, 130);
  EXPECT_NE(stopped.bytes.find("\r\x1b[Kstep "), std::string::npos) << stopped.bytes;
  const auto begins = [](const TerminalResult& result, const std::string& words) {
    return std::any_of(result.lines.begin(), result.lines.end(),
                       [&](const std::string& line) { return line.starts_with(words); });
  };
  EXPECT_TRUE(begins(stopped, "vig: stopping after this step")) << stopped.bytes;
  EXPECT_TRUE(begins(stopped, "stopped at step 4;")) << stopped.bytes;

  const TerminalResult killed =
      run_on_terminal(training("killed", {{"--processes", "2"}}),
                      signal_at("renamed:checkpoint.safetensors:3:KILL:1"));
  EXPECT_EQ(killed.exit_code, 1);
  EXPECT_NE(killed.bytes.find("\r\x1b[Kstep "), std::string::npos) << killed.bytes;
  EXPECT_TRUE(begins(killed, "vig: process 1 of 2 was ended by signal 9")) << killed.bytes;
}

}  // namespace
}  // namespace vig::test
