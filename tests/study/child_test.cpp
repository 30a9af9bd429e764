// Programs that a study starts.
#include "vig/study/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/errors.h"
#include "support/files.h"

namespace vig::study {
namespace {

using test::expect_error;
using test::read_file;
using test::TempDir;

TEST(Child, OutputGoesToTheLog) {
  const TempDir folder;
  StudyContext context;
  run_child({"sh", "-c", "echo out; echo err >&2; cat"}, folder / "log", context);
  EXPECT_EQ(read_file(folder / "log"), "out\nerr\n");
  run_child({"sh", "-c", "echo more"}, folder / "log", context);
  EXPECT_EQ(read_file(folder / "log"), "out\nerr\nmore\n");
}

TEST(Child, FailureShowsTheLastLine) {
  const TempDir folder;
  const StudyContext context;
  expect_error(ErrorCode::kInput, {"status 3", ": no luck (", "log"}, [&] {
    run_child({"sh", "-c", "echo fine; echo 'vig: no luck'; echo; exit 3"}, folder / "log",
              context);
  });
  expect_error(ErrorCode::kInput, {"signal 9"}, [&] {
    run_child({"sh", "-c", "kill -9 $$"}, folder / "log", context);
  });
  expect_error(ErrorCode::kInput, {"no-such-program", "status 127"},
               [&] { run_child({"no-such-program"}, folder / "log", context); });
  expect_error(ErrorCode::kInput, {"no/log", "cannot be written"},
               [&] { run_child({"true"}, folder / "no/log", context); });
}

// The child says when it is ready, so nothing depends on how fast it is.
TEST(Child, AStopIsPassedOnOnce) {
  // A shell cannot trap what is ignored, as it is below nohup.
  const auto before = ::signal(SIGINT, SIG_DFL);
  const TempDir folder;
  StudyContext context;
  context.keep_going = [&] { return !std::filesystem::exists(folder / "ready"); };
  const std::string script =
      "trap 'echo signalled >>log' INT; touch ready; "
      "while [ ! -s log ]; do sleep 0.05; done; sleep 0.3; exit 130";
  EXPECT_THROW(run_child({"sh", "-c", "cd '" + folder.path().string() + "'; " + script},
                         folder / "out", context),
               Stopped);
  EXPECT_EQ(read_file(folder / "log"), "signalled\n");
  ::signal(SIGINT, before);
}

// The program holds the writing end of a pipe with a name, which is closed when it ends.
TEST(Child, EndsWithAStudyThatIsKilled) {
  const TempDir folder;
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reading = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reading, 0);
  const pid_t study = ::fork();
  if (study == 0) {
    try {
      run_child({"sh", "-c", "exec 3>\"$0\"; echo $$ >&3; exec sleep 1000", pipe}, folder / "log",
                {});
    } catch (...) {
    }
    ::_exit(1);
  }
  constexpr int kPatience = 20000;  // milliseconds, of a machine that is busy
  // Text, until the end of a line or of the pipe.
  const auto next = [&] {
    std::string text;
    for (char letter = 0; letter != '\n';) {
      ::pollfd waiting{reading, POLLIN, 0};
      if (::poll(&waiting, 1, kPatience) != 1) return text + "nothing happens";
      if (::read(reading, &letter, 1) != 1) break;
      text += letter;
    }
    return text;
  };
  const std::string number = next();
  ::kill(study, SIGKILL);
  ::waitpid(study, nullptr, 0);
  const std::string end = next();
  EXPECT_EQ(end, "");
  if (!end.empty()) ::kill(std::stoi(number), SIGKILL);
  ::close(reading);
}

TEST(Child, LastLine) {
  EXPECT_EQ(last_line(""), "");
  EXPECT_EQ(last_line("\n\n"), "");
  EXPECT_EQ(last_line("one"), "one");
  EXPECT_EQ(last_line("one\ntwo\n\n"), "two");
  EXPECT_EQ(last_line("bar 1\rbar 2\r"), "bar 2");
}

}  // namespace
}  // namespace vig::study
