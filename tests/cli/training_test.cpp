// `vig train` and `vig bench --train`: handed to vig-train, which is a script here.
#include <gtest/gtest.h>

#include "cli/vig.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

class Training : public ::testing::Test {
 protected:
  Training() {
    fs::create_directories(folder_ / "bin");
    fs::copy_file(VIG_BINARY, folder_ / "bin/vig");
  }

  // Tells which one it is and its arguments.
  void write_program(const std::string& name) {
    write_file(folder_ / name,
               "#!/bin/sh\necho " + name + "\nfor word; do echo \"<$word>\"; done\nexit 7\n");
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }

  RunResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), (folder_ / "bin/vig").string());
    return run_program(arguments,
                       {.environment = {"PATH=" + (folder_ / "path").string() + ":/bin"}});
  }

  TempDir folder_;
};

TEST_F(Training, IsTheWorkOfTheProgramBeside) {
  write_program("bin/vig-train");
  write_program("path/vig-train");
  const RunResult result = run({"train", "a b", "--help", "", "--out=x", "--", "-1"});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.out, "bin/vig-train\n<train>\n<a b>\n<--help>\n<>\n<--out=x>\n<-->\n<-1>\n");
  EXPECT_EQ(result.err, "");
}

TEST_F(Training, TheProgramMayBeInThePath) {
  write_program("path/vig-train");
  const RunResult result = run({"train"});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.out, "path/vig-train\n<train>\n");
}

TEST_F(Training, BenchIsItsWorkIfItSaysSo) {
  write_program("bin/vig-train");
  EXPECT_EQ(run({"bench", "vig_t", "--batch", "16", "--train", "--x"}).out,
            "bin/vig-train\n<bench>\n<vig_t>\n<--batch>\n<16>\n<--x>\n");
  const RunResult own = run({"bench", "--help"});
  expect_success(own);
  EXPECT_NE(own.out.find("--train"), std::string::npos);
}

TEST_F(Training, WithoutTheProgramItSaysHowToGetIt) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"train", "photos", "--out", "x"},
        {"train", "--help"},
        {"bench", "--train", "vig_t"}}) {
    expect_complaint(run(arguments), 1, "-DVIG_TORCH=ON");
  }
}

TEST_F(Training, AProgramThatCannotBeStartedIsSaid) {
  write_file(folder_ / "bin/vig-train", "no program");
  expect_complaint(run({"train"}), 1, "Permission denied");
}

}  // namespace
}  // namespace vig::test
