// Programs that a study starts.
#include "vig/study/child.h"

#include <gtest/gtest.h>

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
  const TempDir folder;
  StudyContext context;
  context.keep_going = [&] { return !std::filesystem::exists(folder / "ready"); };
  const std::string script =
      "trap 'echo told >>log' INT; touch ready; "
      "while [ ! -s log ]; do sleep 0.05; done; sleep 0.3; exit 130";
  EXPECT_THROW(run_child({"sh", "-c", "cd '" + folder.path().string() + "'; " + script},
                         folder / "out", context),
               Stopped);
  EXPECT_EQ(read_file(folder / "log"), "told\n");
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
