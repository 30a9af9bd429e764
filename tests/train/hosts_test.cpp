// One run on three hosts: network namespaces on a bridge of their own, each with a name. Takes
// iproute2 and the rights to make namespaces; skipped without.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "support/run_program.h"
#include "support/started_program.h"
#include "support/tree.h"
#include "train/fixtures.h"
#include "train/together.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using Program = std::unique_ptr<StartedProgram>;
using train::TrainOptions;

constexpr int kHosts = 3;
constexpr const char* kEnv = "/usr/bin/env";
constexpr const char* kFirstAddress = "10.77.0.1";

class Hosts : public ::testing::Test {
 protected:
  void SetUp() override {
    // The bridge has a namespace, too: nothing of this machine's own network changes.
    if (!ip("netns add " + space(kHosts), false)) {
      GTEST_SKIP() << "network namespaces take ip and rights";
    }
    in(kHosts, "ip link add hub type bridge && ip link set hub up");
    for (int host = 0; host < kHosts; ++host) {
      const std::string port = "port" + std::to_string(host);
      ip("netns add " + space(host));
      in(kHosts, "ip link add " + port + " type veth peer name eth0 netns " + space(host) +
                     " && ip link set " + port + " master hub up");
      in(host, "ip link set lo up && ip link set eth0 up && ip address add 10.77.0." +
                   std::to_string(host + 1) + "/24 dev eth0");
    }
    write_files(folder_ / "data", striped_images(4, 40));
  }
  void TearDown() override {
    for (int host = 0; host <= kHosts; ++host) ip("netns del " + space(host), false);
  }

  static std::string space(int host) {
    return "vig-" + std::to_string(getpid()) + "-" + std::to_string(host);
  }
  static bool ip(const std::string& words, bool must = true) {
    const RunResult result = run_program({"sh", "-c", "PATH=$PATH:/usr/sbin:/sbin; ip " + words});
    EXPECT_TRUE(!must || result.exit_code == 0) << result.err;
    return result.exit_code == 0;
  }
  static void in(int host, const std::string& script) {
    ip("netns exec " + space(host) + " sh -c 'PATH=$PATH:/usr/sbin:/sbin; " + script + "'");
  }
  static void set_link(int host, const char* state) {
    in(kHosts, "ip link set port" + std::to_string(host) + " " + state);
  }

  // 30 steps, on which everything random depends, with a checkpoint after each.
  static TrainOptions options() {
    TrainOptions options = tiny_options("imagenet");
    options.fields["drop_path"] = "0.3";
    options.batch = 48;
    options.epochs = 10;  // 144 images
    options.lr = 2e-3;
    options.lr_batch = 0;
    options.warmup_epochs = 0;
    options.ema = 0.9;
    options.threads = 1;
    options.checkpoint_minutes = 0;
    return options;
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // The process of this rank, on the host of the same number, of a run into `run`.
  Program start(int rank, int size, const std::string& run, const std::string& variables = "",
                double group_timeout = 300) {
    TrainOptions all = options();
    all.group_timeout = group_timeout;
    std::string script = "hostname host" + std::to_string(rank) +
                         " && exec env RANK=" + std::to_string(rank) +
                         " WORLD_SIZE=" + std::to_string(size) + " MASTER_ADDR=" + kFirstAddress +
                         " MASTER_PORT=29500 " + variables + " " + kVigTrain + " train " +
                         path("data") + " --out " + path(run);
    for (const auto& [name, text] : option_texts(all)) {
      if (!text.empty()) script += " --" + name + "=" + text;
    }
    for (const auto& [field, value] : all.fields) script += " --set " + field + "=" + value;
    const fs::path output = folder_ / ("output" + std::to_string(++started_));
    fs::create_directories(output);
    return std::make_unique<StartedProgram>(
        std::vector<std::string>{kEnv, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "ip", "netns", "exec",
                                 space(rank), "unshare", "--uts", "sh", "-c", script},
        output);
  }
  std::vector<Program> start_all(int size, const std::string& run, const std::string& first = "",
                                 double group_timeout = 300) {
    std::vector<Program> programs;
    for (int rank = 0; rank < size; ++rank) {
      programs.push_back(start(rank, size, run, rank == 0 ? first : "", group_timeout));
    }
    return programs;
  }
  // The environment in which the first process stands still when it has written so many
  // checkpoints.
  static std::string stopped_at(int checkpoint) {
    std::string text;
    for (const std::string& variable :
         signal_at("renamed:checkpoint.safetensors:" + std::to_string(checkpoint) + ":STOP")) {
      text += variable + " ";
    }
    return text;
  }
  static void expect_finished(const std::vector<Program>& programs) {
    for (const Program& program : programs) {
      EXPECT_EQ(program->wait(), 0) << program->err();
    }
    EXPECT_NE(programs[0]->out().find("best:"), std::string::npos) << programs[0]->out();
  }
  void expect_result_of_one(const std::string& run) {
    train_together(1, options(), path("data"), path("one"));
    // Float sums in another order.
    EXPECT_LT(difference(path(run), path("one")), 1e-4) << run;
  }

  TempDir folder_;
  int started_ = 0;
};

// A foreign connection, from before the other processes come until they have finished, disturbs
// nobody.
TEST_F(Hosts, GiveTheResultOfOneBesideAStranger) {
  std::vector<Program> programs;
  programs.push_back(start(0, kHosts, "run"));
  fs::create_directories(folder_ / "stranger");
  const StartedProgram stranger(
      {kEnv, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "ip", "netns", "exec", space(1), "bash", "-c",
       std::string("until exec 3<>/dev/tcp/") + kFirstAddress +
           "/29500; do sleep 0.05; done; printf 'hello 1 3' >&3; echo there; exec sleep 600"},
      folder_ / "stranger");
  for (int i = 0; i < 1200 && stranger.out().empty(); ++i) usleep(50'000);
  EXPECT_EQ(stranger.out(), "there\n");
  for (int rank = 1; rank < kHosts; ++rank) programs.push_back(start(rank, kHosts, "run"));
  expect_finished(programs);
  expect_result_of_one("run");
}

// Of one run each process is killed in turn; then two hosts resume it, and one finishes it.
TEST_F(Hosts, AnyMayDieAndFewerResume) {
  for (int victim = 0; victim < kHosts; ++victim) {
    const std::vector<Program> programs = start_all(kHosts, "run", stopped_at(3));
    programs[0]->wait_until_stopped();
    const auto start = std::chrono::steady_clock::now();
    programs[static_cast<size_t>(victim)]->signal(SIGKILL);
    programs[0]->signal(SIGCONT);
    for (int rank = 0; rank < kHosts; ++rank) {
      const Program& program = programs[static_cast<size_t>(rank)];
      const int status = program->wait();
      if (rank == victim) {
        EXPECT_EQ(status, 256 + SIGKILL);
        continue;
      }
      EXPECT_EQ(status, 1) << program->err();
      const std::string who = "process " + std::to_string(rank) + " of 3 (host" +
                              std::to_string(rank) + ") lost the other processes: ";
      EXPECT_NE(program->err().find(who), std::string::npos) << program->err();
      EXPECT_NE(program->err().find("the same command resumes from there"), std::string::npos);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), 30) << "far below --group-timeout";
  }
  std::vector<Program> two = start_all(2, "run", stopped_at(4));
  two[0]->wait_until_stopped();
  two[1]->signal(SIGTERM);
  two[0]->signal(SIGCONT);
  EXPECT_EQ(two[1]->wait(), 143) << two[1]->err();
  EXPECT_EQ(two[0]->wait(), 130) << "it stops with the other" << two[0]->err();
  EXPECT_NE(two[0]->out().find("the same command resumes"), std::string::npos) << two[0]->out();
  two.clear();
  expect_finished(start_all(1, "run"));
  expect_result_of_one("run");
  const auto record = nlohmann::json::parse(read_file(folder_ / "run/run.json"));
  ASSERT_EQ(record["process_changes"].size(), 2u) << record["process_changes"];
  EXPECT_EQ(record["process_changes"][0]["from"], 3);
  EXPECT_EQ(record["process_changes"][1]["from"], 2);
  EXPECT_EQ(record["process_changes"][1]["to"], 1);
}

// A short interruption of a link is waited for, a long one ends all within --group-timeout.
TEST_F(Hosts, LinksMayGoDown) {
  const std::vector<Program> patient = start_all(kHosts, "run", stopped_at(2));
  patient[0]->wait_until_stopped();
  set_link(1, "down");
  patient[0]->signal(SIGCONT);
  usleep(1'500'000);
  set_link(1, "up");
  expect_finished(patient);

  const std::vector<Program> lost = start_all(kHosts, "lost", stopped_at(2), 4);
  lost[0]->wait_until_stopped();
  set_link(2, "down");
  lost[0]->signal(SIGCONT);
  const auto start = std::chrono::steady_clock::now();
  for (const Program& program : lost) {
    EXPECT_EQ(program->wait(), 1) << program->out();
    EXPECT_NE(program->err().find("lost the other processes"), std::string::npos) << program->err();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 45);
  set_link(2, "up");
  expect_finished(start_all(kHosts, "lost"));
  expect_result_of_one("run");
  EXPECT_LT(difference(path("lost"), path("run")), 1e-4);
}

// What hosts must share, and what is said where they do not.
TEST_F(Hosts, MustHaveTheSameImagesAndShouldShareTheFolder) {
  write_files(folder_ / "other", striped_images(4, 40));
  const fs::path changed = folder_ / "other/class2/7.png";
  write_file(changed, read_file(changed) + " ");
  const std::string mount =
      "sh -c 'mount --bind " + path("other") + " " + path("data") + " && exec \"$@\"' sh ";
  const auto train_apart = [&](const std::string& prefix, const std::string& run) {
    std::vector<Program> programs;
    programs.push_back(start(0, 2, run));
    programs.push_back(start(1, 2, run, "unshare --mount " + prefix));
    return programs;
  };
  for (const Program& program : train_apart(mount, "run")) {
    EXPECT_EQ(program->wait(), 1) << program->out();
    EXPECT_NE(program->err().find("process 1 (host1) does not agree with process 0 (host0) on the "
                                  "files to "),
              std::string::npos)
        << program->err();
  }

  fs::create_directories(folder_ / "apart");
  const std::string hide = "sh -c 'mount -t tmpfs none " + path("apart") + " && exec \"$@\"' sh ";
  const std::vector<Program> apart = train_apart(hide, "apart");
  expect_finished(apart);
  const std::string sentence =
      "process 1 (host1) does not see the run's folder " + path("apart") + " of process 0 (host0)";
  EXPECT_NE(apart[0]->err().find(sentence), std::string::npos) << apart[0]->err();
}

}  // namespace
}  // namespace vig::test
