// The helpers themselves: a broken one would let other tests pass for nothing.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "support/files.h"
#include "support/run_program.h"

namespace vig::test {
namespace {

TEST(RunProgram, ReportsStatusAndStreams) {
  const RunResult result =
      run_program({"sh", "-c", "cat; echo \"$WORD\"; pwd; echo trouble >&2; exit 3"},
                  {.input = "given\n", .directory = "/", .environment = {"WORD=a b"}});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.signal, 0);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.out, "given\na b\n/\n");
  EXPECT_EQ(result.err, "trouble\n");
  EXPECT_GT(result.peak_bytes, 100'000u);
}

TEST(RunProgram, ReportsTheSignal) {
  const RunResult result = run_program({"sh", "-c", "kill -SEGV $$"});
  EXPECT_EQ(result.exit_code, -1);
  EXPECT_EQ(result.signal, 11);
}

TEST(RunProgram, KillsWhatTakesTooLongWithItsChildren) {
  const RunResult result = run_program({"sh", "-c", "sleep 30 & wait"}, {.time_limit = 0.2});
  EXPECT_TRUE(result.timed_out);
  EXPECT_LT(result.seconds, 10);
}

TEST(RunProgram, GivesTheShellsCodeForAMissingProgram) {
  EXPECT_EQ(run_program({"no-such-program"}).exit_code, 127);
}

TEST(RunProgram, MeasuresTheLargestSize) {
  const RunResult result =
      run_program({"dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(result.peak_bytes, 190'000'000u);
}

TEST(RunProgram, LimitsTheAddressSpace) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitiser needs its address space";
#endif
  const RunResult result = run_program({"dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"},
                                       {.address_space = 100'000'000});
  EXPECT_NE(result.exit_code, 0);
}

TEST(Files, KeepEveryByteAndVanish) {
  std::filesystem::path folder;
  {
    const TempDir temp;
    folder = temp.path();
    const std::string bytes("a\0\n\xff", 4);
    write_file(temp / "deep/inside", bytes);
    EXPECT_EQ(read_file(temp / "deep/inside"), bytes);
    write_file(temp / "empty", "");
    EXPECT_EQ(read_file(temp / "empty"), "");
    EXPECT_THROW(read_file(temp / "absent"), std::runtime_error);
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace vig::test
