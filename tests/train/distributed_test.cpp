// Several processes train one network: with the result of one, through all failures. Where
// nothing is killed, threads of this program, each with a group of its own, stand for processes.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "support/errors.h"
#include "support/run_program.h"
#include "support/tree.h"
#include "train/fixtures.h"
#include "train/together.h"
#include "vig/train/processes/process_group.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using train::Group;
using train::GroupMember;
using train::JoinOptions;
using train::TrainOptions;

double seconds_of(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool all_contain(const std::vector<std::string>& sentences, const std::string& words) {
  return std::ranges::all_of(sentences, [&](const std::string& sentence) {
    return sentence.find(words) != std::string::npos;
  });
}

// Everything on that could depend on who works on which image; 10 steps.
TrainOptions equal_options() {
  TrainOptions options = tiny_options("imagenet");
  options.fields["drop_path"] = "0.3";
  options.batch = 48;
  options.epochs = 10.0 / 3;  // 144 images
  options.lr = 2e-3;
  options.lr_batch = 0;
  options.warmup_epochs = 0;
  options.ema = 0.9;
  options.threads = 1;
  return options;
}

class Distributed : public ::testing::Test {
 protected:
  Distributed() { write_files(folder_ / "data", striped_images(4, 40)); }
  std::string data() const { return (folder_ / "data").string(); }
  std::string out(const std::string& name) const { return (folder_ / name).string(); }

  std::vector<std::string> command(const TrainOptions& options, const std::string& run,
                                   const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {kVigTrain, "train", data(), "--out", out(run)};
    for (const auto& [name, text] : option_texts(options)) {
      if (!text.empty()) arguments.push_back("--" + name + "=" + text);
    }
    for (const auto& [field, value] : options.fields) {
      arguments.insert(arguments.end(), {"--set", field + "=" + value});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  TempDir folder_;
};

TEST_F(Distributed, ManyProcessesGiveTheResultOfOne) {
  TrainOptions options = equal_options();
  train_together(1, options, data(), out("one"));
  for (const int processes : {2, 3, 4, 5}) {  // 5 do not divide the batch
    options.threads = processes == 2 ? 2 : 1;
    options.accumulate = processes == 3 ? 2 : 1;
    const std::string run = std::to_string(processes);
    train_together(processes, options, data(), out(run));
    // Float sums in another order, ten steps long.
    EXPECT_LT(difference(out(run), out("one")), 1e-5) << processes;
  }
}

TEST_F(Distributed, AlsoWithAFrozenBackbone) {
  TrainOptions options = equal_options();
  options.probe = true;
  train_together(1, options, data(), out("one"));
  train_together(2, options, data(), out("two"));
  EXPECT_LT(difference(out("two"), out("one")), 1e-5);
}

// With partners and without, also where a rest leaves one process without any image.
TEST_F(Distributed, PartialBatchesToo) {
  TrainOptions options = equal_options();
  options.batch = 42;  // 144 images: three of them, and 18
  options.epochs = 2;
  train_together(1, options, data(), out("one"));
  train_together(3, options, data(), out("three"));
  // Float sums in another order; an image too much or too little would be a hundred times that.
  EXPECT_LT(difference(out("three"), out("one")), 1e-4);
  options.batch = 41;  // odd shares, and a rest of 21
  train_together(1, options, data(), out("one odd"));
  train_together(4, options, data(), out("four odd"));
  EXPECT_LT(difference(out("four odd"), out("one odd")), 1e-4);

  options.mix = {};
  options.val_share = 0.01;  // one of each class
  options.batch = 62;        // 156 images: two of them, and 32
  train_together(1, options, data(), out("one plain"));
  train_together(2, options, data(), out("two plain"));
  EXPECT_LT(difference(out("two plain"), out("one plain")), 1e-4);

  write_file(folder_ / "data/class0/more.png", read_file(folder_ / "data/class0/1.png"));
  options.batch = 156;
  train_together(1, options, data(), out("one rest"));
  train_together(2, options, data(), out("two rest"));
  EXPECT_LT(difference(out("two rest"), out("one rest")), 1e-4);
}

// Shares too small for threads and for passes.
TEST_F(Distributed, UnevenSharesAreRepeatable) {
  TrainOptions options = equal_options();
  options.batch = 9;
  options.epochs = 0.5;
  options.threads = 4;
  options.accumulate = 2;
  train_together(3, options, data(), out("first"));
  train_together(3, options, data(), out("second"));
  expect_same_runs(out("second"), out("first"));
}

// A run resumes with other processes, and with other threads, as if it had begun so.
TEST_F(Distributed, ProcessesMayChangeWhileARunIsInterrupted) {
  TrainOptions options = equal_options();
  train_together(1, options, data(), out("one"));
  int64_t stop = 0;
  for (const int processes : {3, 2, 5, 1}) {
    stop += 3;
    train::TrainEvents events;
    std::atomic<int64_t> step = 0;
    events.step = [&](const train::StepReport& report) { step = report.step; };
    // Asked during a step, that is before it is reported.
    events.stop = [&] { return processes > 1 && step + 1 >= stop; };
    options.threads = processes == 2 ? 2 : 1;
    EXPECT_EQ(
        run_group(processes,
                  [&](Group& group) { train::train(options, data(), out("run"), events, group); }),
        std::vector<std::string>(static_cast<size_t>(processes)));
  }
  EXPECT_LT(difference(out("run"), out("one")), 1e-5);
  const auto record = nlohmann::json::parse(read_file(out("run") + "/run.json"));
  EXPECT_EQ(
      record["process_changes"].dump(),
      R"([{"from":3,"step":3,"to":2},{"from":2,"step":6,"to":5},{"from":5,"step":9,"to":1}])");
}

TEST_F(Distributed, TheProgramStartsWorkers) {
  const TrainOptions options = equal_options();
  const RunResult run =
      run_program(command(options, "program", {"--processes", "2"}), {.time_limit = kPlenty});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out.find("best:"), run.out.rfind("best:")) << run.out;
  EXPECT_NE(run.out.find("best:"), std::string::npos) << run.out;
  train_together(2, options, data(), out("threads"));
  expect_same_runs(out("program"), out("threads"));
}

TEST_F(Distributed, ABrokenImageIsReportedOnceByAllTogether) {
  write_file(folder_ / "data/class2/7.png", "no image");
  TrainOptions options = equal_options();
  options.epochs = 8;  // it comes to both of them with all but certainty
  const RunResult run =
      run_program(command(options, "program", {"--processes", "2"}), {.time_limit = kPlenty});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  EXPECT_NE(run.err.find("class2/7.png"), std::string::npos) << run.err;
}

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return ntohs(address.sin_port);
}

TEST_F(Distributed, ProcessesFindEachOtherByTheUsualVariables) {
  const TrainOptions options = equal_options();
  const std::string port = std::to_string(free_port());
  std::vector<std::future<RunResult>> runs;
  for (const char* rank : {"0", "1"}) {
    RunOptions run_options;
    run_options.time_limit = kPlenty;
    run_options.environment = {std::string("RANK=") + rank, "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
                               "MASTER_PORT=" + port};
    runs.push_back(
        std::async(std::launch::async, run_program, command(options, "processes"), run_options));
  }
  const RunResult first = runs[0].get(), second = runs[1].get();
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(first.out.find("best:"), std::string::npos) << first.out;
  EXPECT_EQ(second.out, "");
  train_together(2, options, data(), out("threads"));
  expect_same_runs(out("processes"), out("threads"));
}

TEST_F(Distributed, HalfSetVariablesAreRefused) {
  RunOptions run_options;
  run_options.environment = {"RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1"};
  const RunResult half = run_program(command(equal_options(), "run"), run_options);
  EXPECT_EQ(half.exit_code, 2);
  EXPECT_NE(half.err.find("MASTER_PORT is not set"), std::string::npos) << half.err;
  run_options.environment.push_back("MASTER_PORT=1");
  const RunResult both =
      run_program(command(equal_options(), "run", {"--processes", "2"}), run_options);
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_NE(both.err.find("--processes"), std::string::npos) << both.err;
  EXPECT_FALSE(fs::exists(out("run")));
}

// A checkpoint after every step.
TrainOptions saving_options() {
  TrainOptions options = equal_options();
  options.checkpoint_minutes = 0;
  return options;
}

// The processes that train into a folder.
std::vector<std::string> processes_of(const std::string& run) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    try {
      if (read_file(entry.path() / "cmdline").find(run) != std::string::npos) found.push_back(name);
    } catch (const std::exception&) {  // it has ended meanwhile
    }
  }
  return found;
}

TEST_F(Distributed, ADeadProcessEndsTheOthersAndTheRunResumes) {
  const TrainOptions options = saving_options();
  const auto arguments = command(options, "killed", {"--processes", "3"});
  RunOptions run_options;
  run_options.time_limit = kPlenty;
  run_options.environment = signal_at("renamed:checkpoint.safetensors:3:KILL:2");
  RunResult killed;
  EXPECT_LT(seconds_of([&] { killed = run_program(arguments, run_options); }), kPlenty / 2);
  EXPECT_EQ(killed.exit_code, 1) << killed.out;
  EXPECT_NE(killed.err.find("process 2 of 3 was ended by signal 9"), std::string::npos)
      << killed.err;
  EXPECT_NE(killed.err.find("resumes from there"), std::string::npos) << killed.err;
  EXPECT_EQ(std::ranges::count(killed.err, '\n'), 1) << killed.err;
  EXPECT_EQ(processes_of(out("killed")), std::vector<std::string>{});

  run_options.environment = {};
  const RunResult resumed = run_program(arguments, run_options);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("resuming from step 3 of 10"), std::string::npos) << resumed.out;
  train_together(3, options, data(), out("undisturbed"));
  expect_same_runs(out("killed"), out("undisturbed"));
}

// A signal to one process alone stops all of them.
TEST_F(Distributed, InterruptedTogetherTheyResumeTogether) {
  const TrainOptions options = saving_options();
  RunOptions run_options;
  run_options.time_limit = kPlenty;
  run_options.environment = signal_at("renamed:checkpoint.safetensors:3:INT:1");
  const RunResult stopped = run_program(command(options, "run", {"--processes", "2"}), run_options);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_NE(stopped.out.find("stopped at step 4;"), std::string::npos) << stopped.out;
  EXPECT_EQ(stopped.err, "");
  train_together(2, options, data(), out("run"));
  train_together(2, options, data(), out("undisturbed"));
  expect_same_runs(out("run"), out("undisturbed"));
}

TEST_F(Distributed, WhatFailsIsSaidOnce) {
  TrainOptions options = equal_options();
  options.model = "no_such_model";
  const RunResult run =
      run_program(command(options, "run", {"--processes", "2"}), {.time_limit = kPlenty});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_NE(run.err.find("no_such_model"), std::string::npos) << run.err;
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
}

TEST_F(Distributed, ProcessesMustBeginFromTheSame) {
  const auto train_apart =
      [&](const std::function<void(TrainOptions&, std::string & data, std::string & run)>& change) {
        return run_group(2, [&](Group& group) {
          TrainOptions options = equal_options();
          std::string images = data(), run = out("run");
          if (group.rank() == 1) change(options, images, run);
          train::train(options, images, run, train::TrainEvents(), group);
        });
      };
  EXPECT_TRUE(all_contain(train_apart([](auto& options, auto&, auto&) { options.lr = 0.25; }),
                          "process 1 does not agree with process 0 on lr"));
  EXPECT_EQ(train_apart([](auto& options, auto&, auto&) { options.threads = 2; }),
            std::vector<std::string>(2))
      << "machines may have more or fewer";
  fs::remove_all(out("run"));
  EXPECT_TRUE(all_contain(train_apart([](auto& options, auto&, auto&) {
                            options.model = "test_vig_h";
                            options.fields.clear();
                          }),
                          "model"));
  Files images = striped_images(4, 40);
  images["class0/other.png"] = images.extract("class0/7.png").mapped();
  write_files(folder_ / "other", images);
  EXPECT_TRUE(all_contain(
      train_apart([&](auto&, auto& data, auto&) { data = (folder_ / "other").string(); }),
      "process 1 does not agree with process 0 on train_names"));
  // A checkpoint on a disk that only one of them sees.
  TrainOptions options = equal_options();
  train_together(2, options, data(), out("run"));
  EXPECT_TRUE(all_contain(train_apart([&](auto&, auto&, auto& run) { run = out("elsewhere"); }),
                          "process 1 does not see the run's folder"));
}

TEST(ProcessGroup, AddsUpAndNoticesWhoIsGone) {
  std::atomic<bool> lost = false;
  const std::vector<std::string> sentences = run_group(3, [&](Group& group) {
    double values[2] = {1.5, static_cast<double>(group.rank())};
    for (int i = 0; i < 100; ++i) {
      values[0] = 1.5;
      values[1] = group.rank();
      group.sum(values);
    }
    EXPECT_EQ(values[0], 4.5);
    EXPECT_EQ(values[1], 3);
    if (group.rank() == 1) return;  // and its connections close
    try {
      group.sum(values);
    } catch (const train::GroupLost&) {
      lost = true;
      throw;
    }
  });
  EXPECT_TRUE(lost);
  EXPECT_EQ(sentences[1], "");
  EXPECT_NE(sentences[0].find("lost the other processes"), std::string::npos) << sentences[0];
  EXPECT_NE(sentences[2].find("lost the other processes"), std::string::npos) << sentences[2];
}

TEST(ProcessGroup, DoesNotWaitForEverForWhoStandsStill) {
  const TempDir meeting;
  std::promise<void> over;
  const std::shared_future<void> end = over.get_future().share();
  double seconds = 0;
  const std::vector<std::string> sentences = run_all(2, [&](int rank) {
    const auto group =
        train::join_group(member_in_file(rank, 2, meeting / "file"), {"cpu", 2, "test"});
    if (rank == 1) return end.wait();
    double number = 1;
    const auto finally = std::shared_ptr<void>(nullptr, [&](void*) { over.set_value(); });
    seconds = seconds_of([&] {
      try {
        group->sum({&number, 1});
      } catch (const train::GroupLost&) {
        number = -1;
      }
    });
    EXPECT_EQ(number, -1);
  });
  EXPECT_EQ(sentences, std::vector<std::string>(2));
  EXPECT_GE(seconds, 1.9);
  EXPECT_LT(seconds, kPlenty);
}

// Processes that meet where this test listens, as those of torchrun do.
class Meeting {
 public:
  explicit Meeting() {
    c10d::TCPStoreOptions options;
    options.port = 0;
    options.isServer = true;
    options.waitWorkers = false;
    store_ = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  }
  GroupMember member(int rank, int size) const {
    GroupMember member;
    member.rank = rank;
    member.size = size;
    member.host = "127.0.0.1";
    member.port = store_->getPort();
    member.hosted = true;
    return member;
  }

 private:
  c10::intrusive_ptr<c10d::TCPStore> store_;
};

TEST(ProcessGroup, MeetsWhereTheLauncherListensAgainAndAgain) {
  const Meeting meeting;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::vector<std::string> sentences = run_all(2, [&](int rank) {
      GroupMember member = meeting.member(rank, 2);
      member.attempt = attempt;
      double number = 1;
      train::join_group(member, {"cpu", kPlenty, "test"})->sum({&number, 1});
      EXPECT_EQ(number, 2);
    });
    EXPECT_EQ(sentences, std::vector<std::string>(2));
  }
}

TEST(ProcessGroup, RefusesThoseThatDoNotBelongTogether) {
  {
    const Meeting meeting;
    EXPECT_TRUE(all_contain(run_all(2,
                                    [&](int rank) {
                                      train::join_group(
                                          meeting.member(rank, 2),
                                          {"cpu", kPlenty, rank == 0 ? "vig 1" : "vig 2"});
                                    }),
                            "vig 2"));
  }
  {
    const Meeting meeting;
    EXPECT_TRUE(all_contain(
        run_all(2,
                [&](int rank) {
                  train::join_group(meeting.member(rank, 2 + rank), {"cpu", kPlenty, "vig"});
                }),
        "3 processes"));
  }
  const Meeting meeting;
  const std::vector<std::string> sentences = run_all(2, [&](int) {
    train::join_group(meeting.member(0, 2), {"cpu", 1, "vig"});
  });
  EXPECT_NE((sentences[0] + sentences[1]).find("two processes have the rank 0"), std::string::npos);
  EXPECT_NE((sentences[0] + sentences[1]).find("process 1 of 2 did not connect"),
            std::string::npos);
}

TEST(ProcessGroup, DoesNotWaitForEverToMeet) {
  const auto expect_no_group = [](const GroupMember& member, const std::string& words) {
    double seconds = seconds_of([&] {
      expect_error(ErrorCode::kInput, {words, "within 1 s"}, [&] {
        train::join_group(member, {"cpu", 1, "vig"});
      });
    });
    EXPECT_LT(seconds, kPlenty);
  };
  GroupMember member;
  member.rank = 1;
  member.size = 2;
  member.host = "127.0.0.1";
  member.port = free_port();
  expect_no_group(member, fmt::format("no response from 127.0.0.1 port {}", member.port));
  member.rank = 0;
  expect_no_group(member, "process 1 of 2 did not connect");

  // A listener that never responds.
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(fd, 5), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  member.rank = 1;
  member.port = ntohs(address.sin_port);
  expect_error(ErrorCode::kInput, {"another program listens", "does not greet"}, [&] {
    train::join_group(member, {"cpu", 1, "vig"});
  });
  member.rank = 0;
  expect_error(ErrorCode::kInput, {"cannot listen", "in use"}, [&] {
    train::join_group(member, {"cpu", 1, "vig"});
  });
  close(fd);
}

}  // namespace
}  // namespace vig::test
