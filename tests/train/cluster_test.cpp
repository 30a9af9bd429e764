// The files of examples/cluster start runs as their launchers would: Open MPI where it is
// installed, else, as for the others, a stand-in that sets the same variables.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <nlohmann/json.hpp>
#include <regex>

#include "support/run_program.h"
#include "support/tree.h"
#include "train/fixtures.h"
#include "train/together.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using train::TrainOptions;

class Cluster : public ::testing::Test {
 protected:
  Cluster() {
    write_files(folder_ / "data", striped_images(3, 16));
    options_ = tiny_options("imagenet");
    options_.epochs = 4;
    options_.threads = 1;
    options_.checkpoint_minutes = 0;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::vector<std::string> option_words(const std::string& but = "") const {
    std::vector<std::string> words;
    for (const auto& [name, text] : option_texts(options_)) {
      if (!text.empty() && name != but) words.push_back("--" + name + "=" + text);
    }
    for (const auto& [field, value] : options_.fields) {
      words.insert(words.end(), {"--set", field + "=" + value});
    }
    return words;
  }

  // A launcher that runs what follows its options twice on this machine, with these variables, in
  // which $i is the rank. Its status is the larger of both.
  void stand_in(const std::string& name, const std::string& variables) const {
    const fs::path file = folder_ / "bin" / name;
    write_file(file,
               "#!/bin/bash\n"
               "while [[ $1 == -* ]]; do\n"
               "  if [[ $1 == -np || $1 == --bind-to ]]; then shift; fi\n"
               "  shift\n"
               "done\n"
               "for i in 0 1; do\n  env " +
                   variables +
                   " \"$@\" &\n  pids+=($!)\n"
                   "done\n"
                   "worst=0\n"
                   "for pid in \"${pids[@]}\"; do\n"
                   "  status=0; wait $pid || status=$?\n"
                   "  if ((status > worst)); then worst=$status; fi\n"
                   "done\n"
                   "exit $worst\n");
    fs::permissions(file, fs::perms::owner_all);
  }

  RunResult run_example(const std::string& file, const std::vector<std::string>& words,
                        std::vector<std::string> variables, const std::string& but = "") const {
    std::vector<std::string> command = {"bash",
                                        std::string(kSourceDir) + "/examples/cluster/" + file};
    command.insert(command.end(), words.begin(), words.end());
    const std::vector<std::string> more = option_words(but);
    command.insert(command.end(), more.begin(), more.end());
    variables.push_back("PATH=" + path("bin") + ":" + std::getenv("PATH"));
    variables.push_back("VIG=" + std::string(kVig));
    RunOptions options;
    options.time_limit = kPlenty;
    options.environment = variables;
    return run_program(command, options);
  }

  void expect_run_of(int processes, const std::string& run) const {
    train_together(processes, options_, path("data"), path("expected"));
    expect_same_runs(path(run), path("expected"));
  }

  TempDir folder_;
  TrainOptions options_;
};

constexpr const char* kStep =
    "SLURM_PROCID=$i SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=$i SLURM_NODEID=0 SLURM_STEP_ID=0 "
    "SLURM_STEP_TASKS_PER_NODE=2 SLURM_STEP_NODELIST=localhost";

// Also stopped near the end of its time, after which it is in the queue again.
TEST_F(Cluster, Slurm) {
  stand_in("srun", kStep);
  write_file(folder_ / "bin/scontrol", "#!/bin/sh\necho \"$@\" >>" + path("requeued") + "\n");
  fs::permissions(folder_ / "bin/scontrol", fs::perms::owner_all);
  const std::string job = "SLURM_JOB_ID=" + std::to_string(getpid());
  std::vector<std::string> variables = signal_at("renamed:checkpoint.safetensors:2:TERM");
  variables.push_back(job);
  const RunResult stopped = run_example("slurm.sh", {path("data"), path("run")}, variables);
  EXPECT_EQ(stopped.exit_code, 143) << stopped.err;
  EXPECT_EQ(read_file(folder_ / "requeued"), "requeue " + std::to_string(getpid()) + "\n");
  const RunResult resumed = run_example("slurm.sh", {path("data"), path("run")}, {job});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("resuming from step"), std::string::npos) << resumed.out;
  expect_run_of(2, "run");
}

TEST_F(Cluster, ArrayOfSlurm) {
  // The seed is the script's own.
  const RunResult result = run_example(
      "slurm_array.sh", {path("data"), path("runs")},
      {"SLURM_JOB_ID=1", "SLURM_ARRAY_TASK_ID=3", "SLURM_PROCID=0", "SLURM_NTASKS=16"}, "seed");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  options_.seed = 3;
  expect_run_of(1, "runs/seed-3");
}

TEST_F(Cluster, Mpirun) {
  const bool installed = run_program({"sh", "-c", "command -v mpirun"}).exit_code == 0;
  if (!installed) {
    stand_in("mpirun",
             "OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=$i "
             "OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=" +
                 std::to_string(getpid()));
  }
  const RunResult result =
      run_example("mpirun.sh", {path("data"), path("run")},
                  {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                   "OMPI_MCA_rmaps_base_oversubscribe=1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_run_of(2, "run");
}

TEST_F(Cluster, Torchrun) {
  stand_in("torchrun",
           "RANK=$i WORLD_SIZE=2 LOCAL_RANK=$i LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 "
           "MASTER_PORT=" +
               std::to_string(21'000 + getpid() % 5'000));
  const RunResult result = run_example("torchrun.sh", {"node1", path("data"), path("run")}, {});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_run_of(2, "run");
}

// Its command and variables, with folders and an address of this machine.
TEST_F(Cluster, Kubernetes) {
  const std::string text = read_file(std::string(kSourceDir) + "/examples/cluster/kubernetes.yaml");
  std::smatch match;
  ASSERT_TRUE(std::regex_search(text, match, std::regex(R"rx(command: \["sh", "-c", "(.*)"\])rx")));
  std::string command = match[1];
  const auto put = [&](const std::string& from, const std::string& to) {
    const size_t at = command.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    command.replace(at, from.size(), to);
  };
  put(" /data ", " " + path("data") + " ");
  put(" /runs/run", " " + path("run"));
  for (const std::string& word : option_words()) command += " '" + word + "'";
  std::vector<std::string> variables = {"PATH=" + fs::path(kVig).parent_path().string() + ":" +
                                        std::getenv("PATH")};
  const std::regex variable(R"rx(- name: ([A-Z_]+)\n +value: "?([^"\n]+)"?\n)rx");
  int processes = 0;
  for (std::sregex_iterator i(text.begin(), text.end(), variable); i != std::sregex_iterator();
       ++i) {
    const std::string name = (*i)[1], value = (*i)[2];
    if (name == "WORLD_SIZE") processes = std::stoi(value);
    variables.push_back(name + "=" + (name == "MASTER_ADDR" ? "127.0.0.1" : value));
  }
  variables.push_back("MASTER_PORT=" + std::to_string(26'000 + getpid() % 5'000));
  ASSERT_GT(processes, 0);
  std::vector<std::future<RunResult>> pods;
  for (int index = 0; index < processes; ++index) {
    RunOptions options;
    options.time_limit = kPlenty;
    options.environment = variables;
    options.environment.push_back("JOB_COMPLETION_INDEX=" + std::to_string(index));
    pods.push_back(std::async(std::launch::async, run_program,
                              std::vector<std::string>{"sh", "-c", command}, options));
  }
  for (auto& pod : pods) {
    const RunResult result = pod.get();
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  expect_run_of(processes, "run");
}

}  // namespace
}  // namespace vig::test
