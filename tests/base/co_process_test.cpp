#include "vig/base/co_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "vig/base/error.h"

namespace vig {
namespace {

constexpr double kPatience = 60;  // seconds; no test waits for it

std::string message(CoProcess& process, double seconds = kPatience) {
  try {
    process.read_line(seconds, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CoProcess, RepliesLineByLine) {
  CoProcess process("while read -r line; do echo \"<$line>\"; echo \"$NUMBER$HOME\"; done",
                    {"NUMBER=7", "HOME=there"});
  for (const char* line : {"a b", "", "c"}) {
    process.write_line(line);
    EXPECT_EQ(process.read_line(kPatience, {}), "<" + std::string(line) + ">");
    EXPECT_EQ(process.read_line(kPatience, {}), "7there");
  }
}

TEST(CoProcess, VariablesReplaceThoseOfTheirNameAlone) {
  ASSERT_EQ(setenv("VIG_TEST", "kept", 1), 0);
  ASSERT_EQ(setenv("VIG_TEST_LONGER", "kept, too", 1), 0);
  CoProcess process("echo \"$VIG_TEST $VIG_TEST_LONG $VIG_TEST_LONGER\"", {"VIG_TEST_LONG=own"});
  EXPECT_EQ(process.read_line(kPatience, {}), "kept own kept, too");
  CoProcess other("echo \"$VIG_TEST $VIG_TEST_LONGER\"", {"VIG_TEST=own"});
  EXPECT_EQ(other.read_line(kPatience, {}), "own kept, too");
  unsetenv("VIG_TEST");
  unsetenv("VIG_TEST_LONGER");
}

// Signals that this process ignores would be ignored by the command, too: a pipe in it would never
// end.
TEST(CoProcess, IgnoresNoSignalsOfItsParent) {
  const auto pipe = std::signal(SIGPIPE, SIG_IGN), size = std::signal(SIGXFSZ, SIG_IGN);
  CoProcess process("grep SigIgn /proc/self/status | tr -dc '0-9a-f\\n'", {});
  const std::string line = process.read_line(kPatience, {}).value();
  std::signal(SIGPIPE, pipe);
  std::signal(SIGXFSZ, size);
  const uint64_t mask = std::stoull(line, nullptr, 16);
  EXPECT_EQ(mask & (uint64_t{1} << (SIGPIPE - 1)), 0u) << line;
  EXPECT_EQ(mask & (uint64_t{1} << (SIGXFSZ - 1)), 0u) << line;
}

TEST(CoProcess, LeavesNeitherDescriptorsNorProcesses) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_files();
  { CoProcess process("echo; sleep 1000", {}); }
  EXPECT_EQ(open_files(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // there is no child
}

TEST(CoProcess, ReportsHowItEnded) {
  CoProcess status("echo last; echo several >&2; echo words >&2; exit 3", {});
  EXPECT_EQ(status.read_line(kPatience, {}), "last");
  status.write_line("without a reader");
  EXPECT_EQ(message(status), "has ended with status 3: several words");
  CoProcess spaced("printf ' \\n several  \\n\\n words \\033' >&2; exit 4", {});
  EXPECT_EQ(message(spaced), "has ended with status 4: several words \\x1b");
  CoProcess long_winded("head -c 5000 /dev/zero | tr '\\0' x >&2; exit 5", {});
  EXPECT_EQ(message(long_winded), "has ended with status 5: " + std::string(300, 'x') + "...");
  CoProcess killed("kill -9 $$", {});
  EXPECT_TRUE(message(killed).starts_with("was ended by signal 9"));
  CoProcess closed("exec >&-; sleep 1000", {});
  EXPECT_EQ(message(closed), "has closed its output");
}

TEST(CoProcess, WaitsNoLongerThanAsked) {
  CoProcess silent("sleep 1000", {});
  EXPECT_EQ(message(silent, 0.1), "did not reply within 0.1 s");
  int asked = 0;
  EXPECT_EQ(silent.read_line(kPatience, [&] { return ++asked < 3; }), std::nullopt);
  EXPECT_EQ(asked, 3);
}

TEST(CoProcess, LinesHaveALimit) {
  const std::string most = std::to_string(CoProcess::kLongestLine);
  CoProcess long_line("head -c " + most + " /dev/zero | tr '\\0' x; echo", {});
  EXPECT_EQ(long_line.read_line(kPatience, {}).value().size(), CoProcess::kLongestLine);
  // It ends, so that without the limit the test fails instead of hanging.
  CoProcess endless("head -c 20000000 /dev/zero | tr '\\0' x", {});
  EXPECT_EQ(message(endless), "sent a line of more than " + most + " bytes (a fixed limit)");
}

TEST(CoProcess, WhatItHasStartedEndsWithIt) {
  auto process =
      std::make_unique<CoProcess>("sleep 1000 & echo $!; wait", std::vector<std::string>{});
  const pid_t sleeper = std::stoi(process->read_line(kPatience, {}).value());
  pollfd ended = {static_cast<int>(syscall(SYS_pidfd_open, sleeper, 0)), POLLIN, 0};
  ASSERT_GE(ended.fd, 0);
  EXPECT_EQ(poll(&ended, 1, 0), 0);
  process.reset();
  EXPECT_EQ(poll(&ended, 1, static_cast<int>(1000 * kPatience)), 1);
  close(ended.fd);
}

TEST(MemoryFile, OtherProcessesOpenIt) {
  MemoryFile in("in"), out("out");
  in.append("some ", 5);
  in.append("text", 4);
  EXPECT_EQ(in.size(), 9u);
  CoProcess process("cat \"$IN\" >\"$OUT\"; echo done", {"IN=" + in.path(), "OUT=" + out.path()});
  EXPECT_EQ(process.read_line(kPatience, {}), "done");
  EXPECT_EQ(out.contents(100), "some text");
  EXPECT_EQ(out.contents(4), "some");
}

}  // namespace
}  // namespace vig
