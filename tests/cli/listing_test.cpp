// How often a command asks the system about files: on a network each question is a message.
#include <gtest/gtest.h>

#include "cli/vig.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

constexpr int kFolders = 10, kFilesOfEach = 200;

class Listing : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path log = folder_ / "log";
    if (run_program({"strace", "-f", "-c", "-e", "trace=%%stat", "-o", log.string(), "true"})
            .exit_code != 0) {
      GTEST_SKIP() << "strace is not there, or not allowed";
    }
    model_ = make_model(folder_);
    const fs::path image = folder_ / "image.png";
    fs::copy_file(data("image/photos/pixel_1x1.png"), image);
    const std::vector<std::string> classes = {"ant", "bee", "cat", "dog",  "eel",
                                              "fox", "gnu", "hen", "ibis", "jay"};
    for (const std::string& label : classes) {
      fs::create_directories(folder_ / "data" / label);
      for (int i = 0; i < kFilesOfEach; ++i) {
        fs::create_hard_link(image, folder_ / "data" / label / (std::to_string(i) + ".png"));
      }
    }
  }
  // Calls that ask about a file, by strace's table: % time, seconds, usecs/call, calls, ...
  int64_t calls(std::vector<std::string> command) const {
    const std::string log = (folder_ / "log").string();
    command.insert(command.begin(), {"strace", "-f", "-c", "-e", "trace=%%stat", "-o", log, kVig});
    const RunResult result = run_program(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::istringstream lines(read_file(log));
    int64_t total = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.ends_with("total")) continue;
      std::istringstream words(line);
      std::string share, seconds, each;
      words >> share >> seconds >> each >> total;
    }
    return total;
  }

  TempDir folder_;
  std::string model_;
};

// One a file, when it is read, and a few hundred of the program itself.
TEST_F(Listing, AFileIsAskedForItsSizeOnce) {
  constexpr int64_t kFiles = int64_t{kFolders} * kFilesOfEach, kOther = 400;
  const std::string data = (folder_ / "data").string(), out = (folder_ / "out.csv").string();
  const int64_t classify = calls({"classify", "-m", model_, data, "--out", out});
  EXPECT_GE(classify, kFiles);
  EXPECT_LE(classify, kFiles + kOther);
  const int64_t resumed = calls({"classify", "-m", model_, data, "--out", out, "--resume"});
  EXPECT_LE(resumed, kOther) << "nothing is left to read";
  EXPECT_LE(calls({"eval", "-m", model_, data}), kFiles + kOther);
}

}  // namespace
}  // namespace vig::test
