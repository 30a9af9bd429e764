// Commands that are handed to vig-train, vig-onnx, vig-serve or vig-study, which are scripts here.
#include <gtest/gtest.h>

#include "cli/vig.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

class HelperProgram : public ::testing::Test {
 protected:
  HelperProgram() {
    fs::create_directories(folder_ / "bin");
    fs::copy_file(kVig, folder_ / "bin/vig");
  }

  // Prints its name and its arguments.
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

TEST_F(HelperProgram, IsTheWorkOfTheProgramBeside) {
  write_program("bin/vig-train");
  write_program("path/vig-train");
  const RunResult result = run({"train", "a b", "--help", "", "--out=x", "--", "-1"});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.out, "bin/vig-train\n<train>\n<a b>\n<--help>\n<>\n<--out=x>\n<-->\n<-1>\n");
  EXPECT_EQ(result.err, "");
}

TEST_F(HelperProgram, TheProgramMayBeInThePath) {
  write_program("path/vig-train");
  const RunResult result = run({"train"});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.out, "path/vig-train\n<train>\n");
}

TEST_F(HelperProgram, BenchIsItsWorkIfItSaysSo) {
  write_program("bin/vig-train");
  EXPECT_EQ(run({"bench", "vig_t", "--batch", "16", "--train", "--x"}).out,
            "bin/vig-train\n<bench>\n<vig_t>\n<--batch>\n<16>\n<--x>\n");
  const RunResult own = run({"bench", "--help"});
  expect_success(own);
  EXPECT_NE(own.out.find("--train"), std::string::npos);
}

TEST_F(HelperProgram, ReceptiveFieldsAreItsWork) {
  write_program("bin/vig-train");
  EXPECT_EQ(run({"receptive-field", "vig_t", "a.png"}).out,
            "bin/vig-train\n<receptive-field>\n<vig_t>\n<a.png>\n");
}

TEST_F(HelperProgram, Serves) {
  write_program("bin/vig-serve");
  EXPECT_EQ(run({"serve", "-m", "a b"}).out, "bin/vig-serve\n<serve>\n<-m>\n<a b>\n");
}

TEST_F(HelperProgram, MakesStudies) {
  write_program("bin/vig-study");
  EXPECT_EQ(run({"study", "efficiency", "--rows", "a b"}).out,
            "bin/vig-study\n<study>\n<efficiency>\n<--rows>\n<a b>\n");
}

TEST_F(HelperProgram, WritesOnnxFiles) {
  write_program("bin/vig-onnx");
  EXPECT_EQ(run({"convert", "a b.pth", "x.onnx", "--ort"}).out,
            "bin/vig-onnx\n<convert>\n<a b.pth>\n<x.onnx>\n<--ort>\n");
  // The help is the same in both programs.
  const RunResult own = run({"convert", "--help"});
  expect_success(own);
  EXPECT_NE(own.out.find("--ort"), std::string::npos);
}

TEST_F(HelperProgram, WithoutTheProgramItSaysHowToGetIt) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"train", "photos", "--out", "x"},
        {"train", "--help"},
        {"receptive-field", "vig_t", "a.png"},
        {"bench", "--train", "vig_t"}}) {
    expect_complaint(run(arguments), 1, "-DVIG_TORCH=ON");
  }
  expect_complaint(run({"convert", "a.pth", "a.onnx"}), 1, "-DVIG_ONNX=ON");
  expect_complaint(run({"serve"}), 1, "-DVIG_SERVER=ON");
  expect_complaint(run({"study", "efficiency"}), 1, "build the target vig-study");
}

TEST_F(HelperProgram, AProgramThatCannotBeStartedIsSaid) {
  write_file(folder_ / "bin/vig-train", "no program");
  expect_complaint(run({"train"}), 1, "Permission denied");
}

}  // namespace
}  // namespace vig::test
