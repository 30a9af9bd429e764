// Checkpoints and threads of training while calls of the system fail.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <set>
#include <string>

#include "faults/inject.h"
#include "support/errors.h"
#include "support/files.h"
#include "vig/train/optimizer.h"
#include "vig/train/state.h"
#include "vig/train/workers.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using train::RunState;

int64_t g_number = 0;
Call g_call = Call::kFile;
bool g_kill = false;

bool decide(Call call, int64_t number) {
  if (call != g_call || number < g_number) return false;
  if (g_kill) kill(getpid(), SIGKILL);
  return call == Call::kThread || number == g_number;
}

bool count_only(Call, int64_t) { return false; }

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

class TrainingFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_inject()) GTEST_SKIP() << "not in builds with sanitisers";
  }
};

TEST_F(TrainingFaults, ACheckpointIsTheOldOneOrTheNew) {
  const TempDir folder;
  const std::string file = (folder / "checkpoint.safetensors").string();
  train::TrainOptions options;
  options.ema = 0.9;
  train::Workers workers(1);  // a forked process has no other threads
  const std::vector<ParamSpec> specs = {{"a", {3, 5}, normal_init(1.0f)},
                                        {"b", {7}, normal_init(1.0f)}};
  train::Parameters parameters(specs, *random_weights(specs, 1), at::kCPU);
  train::AdamW optimizer(options, parameters, workers);
  const auto write_step = [&](int64_t step) {
    RunState state;
    state.step = step;
    write_checkpoint(file, state, parameters, optimizer, {{"batch", "8"}});
  };
  write_step(2);
  const std::string after = read_file(file);
  write_step(1);
  const std::string before = read_file(file);
  ASSERT_NE(before, after);
  inject(count_only);
  write_step(1);
  const int64_t calls = calls_of(Call::kFile);
  inject(nullptr);
  ASSERT_GE(calls, 5);

  g_call = Call::kFile;
  for (const bool killed : {false, true}) {
    for (int64_t n = 1; n <= calls; ++n) {
      SCOPED_TRACE(std::to_string(n) + (killed ? " is the last call" : " fails"));
      write_step(1);
      g_number = n;
      g_kill = killed;
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);
        inject(decide);
        int ending = 0;
        try {
          write_step(2);
        } catch (const Error& error) {
          ending = std::strstr(error.what(), "No space left on device") != nullptr ? 1 : 2;
        }
        _exit(ending);
      }
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      const std::string bytes = read_file(file);
      EXPECT_TRUE(bytes == before || bytes == after);
      if (killed) {
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
        write_step(2);  // the next one removes what the killed process left
        EXPECT_EQ(read_file(file), after);
      } else {
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << status;
        EXPECT_EQ(WEXITSTATUS(status) == 0, bytes == after);
      }
      EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"checkpoint.safetensors"});
    }
  }
}

// Fewer threads cut batches into other shards, which gives other weights.
TEST_F(TrainingFaults, FewerThreadsThanAskedForAreRefused) {
  g_call = Call::kThread;
  g_kill = false;
  g_number = 3;
  inject(decide);
  try {
    train::Workers workers(5);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "3 of 5 threads can be started: the system's limit of threads or of memory is "
                 "reached");
  }
  inject(nullptr);
}

}  // namespace
}  // namespace vig::test
