#include "vig/base/co_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

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

TEST(CoProcess, AnswersLineByLine) {
  CoProcess process("while read -r line; do echo \"<$line>\"; echo \"$NUMBER$HOME\"; done",
                    {"NUMBER=7", "HOME=there"});
  for (const char* line : {"a b", "", "c"}) {
    process.write_line(line);
    EXPECT_EQ(process.read_line(kPatience, {}), "<" + std::string(line) + ">");
    EXPECT_EQ(process.read_line(kPatience, {}), "7there");
  }
}

TEST(CoProcess, ReportsHowItEnded) {
  CoProcess status("echo last; echo several >&2; echo words >&2; exit 3", {});
  EXPECT_EQ(status.read_line(kPatience, {}), "last");
  status.write_line("to nobody");
  EXPECT_EQ(message(status), "has ended with status 3: several words");
  CoProcess killed("kill -9 $$", {});
  EXPECT_TRUE(message(killed).starts_with("was ended by signal 9"));
  CoProcess closed("exec >&-; sleep 1000", {});
  EXPECT_EQ(message(closed), "has closed its output");
}

TEST(CoProcess, WaitsNoLongerThanAsked) {
  CoProcess silent("sleep 1000", {});
  EXPECT_EQ(message(silent, 0.1), "does not answer within 0.1 s");
  int asked = 0;
  EXPECT_EQ(silent.read_line(kPatience, [&] { return ++asked < 3; }), std::nullopt);
  EXPECT_EQ(asked, 3);
}

TEST(CoProcess, LinesHaveALimit) {
  const std::string most = std::to_string(CoProcess::kLongestLine);
  CoProcess long_line("head -c " + most + " /dev/zero | tr '\\0' x; echo", {});
  EXPECT_EQ(long_line.read_line(kPatience, {}).value().size(), CoProcess::kLongestLine);
  // It ends, so that without the limit it is only the wrong message that comes.
  CoProcess endless("head -c 20000000 /dev/zero | tr '\\0' x", {});
  EXPECT_EQ(message(endless), "answers with a line of more than " + most + " bytes");
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
