// --out and --resume: work that was killed loses nothing, and ends with the file of undisturbed
// work.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <random>

#include "cli/dense_commands.h"
#include "cli/npy_file.h"
#include "cli/vig.h"
#include "support/started_program.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Resume : public testing::Test {
 protected:
  void SetUp() override { model_ = make_model(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // Images, of which every seventh is none.
  void make_images(int count) {
    fs::create_directories(folder_ / "images");
    for (int i = 0; i < count; ++i) {
      const fs::path file = folder_ / fmt::format("images/{:03}, \"a\".png", i);
      if (i % 7 == 3) {
        write_file(file, "no image");
      } else {
        fs::copy_file(
            data("image/photos/" + std::string(i % 2 == 0 ? "pixel_1x1.png" : "cat_chelsea.png")),
            file);
      }
    }
  }
  std::vector<std::string> command(const std::string& verb, const std::string& out,
                                   const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {verb,      "-m",      model_, path("images"), "--out",
                                          path(out), "--batch", "2",    "--threads",    "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void cut(const std::string& name, size_t bytes) const {
    const std::string text = read_file(path(name));
    ASSERT_GT(text.size(), bytes);
    write_file(path(name), text.substr(0, text.size() - bytes));
  }

  TempDir folder_;
  std::string model_;
};

// Two parts of one list, killed ten times when they have written a random number of bytes.
TEST_F(Resume, KilledJobsGiveTheFileOfAnUndisturbedOne) {
  make_images(40);
  EXPECT_EQ(vig(command("classify", "whole.csv")).exit_code, 3);
  const std::string whole = read_file(path("whole.csv"));
  std::mt19937 random(20);
  const auto part = [&](int shard) {
    return command("classify", fmt::format("part-{}.csv", shard),
                   {"--resume", "--shard", fmt::format("{}/2", shard)});
  };
  for (int kill = 0; kill < 10; ++kill) {
    std::vector<std::string> arguments = part(1 + kill % 2);
    const fs::path out = path(fmt::format("part-{}.csv.partial", 1 + kill % 2));
    arguments.insert(arguments.begin(), kVig);
    std::error_code none;
    const uintmax_t before = fs::exists(out) ? fs::file_size(out) : 0;
    const uintmax_t most = before + random() % (whole.size() / 8);
    StartedProgram program(arguments, folder_.path());
    while (program.running() && (!fs::exists(out) || fs::file_size(out, none) <= most)) {
      usleep(200);
    }
    usleep(random() % 3000);
    program.signal(SIGKILL);
    program.wait();
  }
  std::string joined;
  for (int shard : {1, 2}) {
    EXPECT_EQ(vig(part(shard)).exit_code, 3);
    joined += read_file(path(fmt::format("part-{}.csv", shard)));
    EXPECT_FALSE(fs::exists(path(fmt::format("part-{}.csv.partial", shard))));
  }
  EXPECT_EQ(joined, whole);
}

TEST_F(Resume, AHalfLineIsWrittenAgain) {
  make_images(9);
  for (const char* name : {"x.csv", "x.jsonl"}) {
    SCOPED_TRACE(name);
    ASSERT_EQ(vig(command("classify", name)).exit_code, 3);
    const std::string whole = read_file(path(name));
    for (const size_t bytes : {size_t{1}, size_t{40}, whole.size() / 2, whole.size() - 3}) {
      fs::rename(path(name), path(std::string(name) + ".partial"));
      cut(std::string(name) + ".partial", bytes);
      EXPECT_EQ(vig(command("classify", name, {"--resume"})).exit_code, 3);
      EXPECT_EQ(read_file(path(name)), whole) << bytes;
    }
  }
}

TEST_F(Resume, RowsOfAnArrayStayWithTheirLines) {
  make_images(9);
  ASSERT_EQ(vig(command("embed", "x.npy")).exit_code, 3);
  const std::string rows = read_file(path("x.npy")), lines = read_file(path("x.jsonl"));
  EXPECT_EQ(read_npy(path("x.npy")).values.size(), 8u * 64u);
  for (const size_t bytes : {size_t{1}, lines.size() / 2, lines.size() - 1}) {
    fs::rename(path("x.npy"), path("x.npy.partial"));
    fs::rename(path("x.jsonl"), path("x.jsonl.partial"));
    cut("x.jsonl.partial", bytes);  // a row may come before its line, never after it
    EXPECT_EQ(vig(command("embed", "x.npy", {"--resume"})).exit_code, 3);
    EXPECT_EQ(read_file(path("x.npy")), rows) << bytes;
    EXPECT_EQ(read_file(path("x.jsonl")), lines) << bytes;
  }
  fs::rename(path("x.npy"), path("x.npy.partial"));
  cut("x.npy.partial", 1);
  expect_complaint(vig(command("embed", "x.npy", {"--resume"})), 1, "at least 8 rows");
}

TEST_F(Resume, NewImagesAreAddedToAFinishedFile) {
  make_images(3);
  expect_success(vig(command("classify", "x.jsonl")));
  const std::string three = read_file(path("x.jsonl"));
  make_images(0);
  fs::copy_file(data("image/photos/flower.webp"), folder_ / "images/000.webp");
  expect_success(vig(command("classify", "x.jsonl", {"--resume"})));
  const std::string four = read_file(path("x.jsonl"));
  EXPECT_TRUE(four.starts_with(three));
  EXPECT_EQ(std::ranges::count(four, '\n'), 4);
  expect_success(vig(command("classify", "x.jsonl", {"--resume"})));
  EXPECT_EQ(read_file(path("x.jsonl")), four);
}

// Results of two models, or of other options, in one file would be found too late.
TEST_F(Resume, AFileOfAnotherCommandIsRefused) {
  make_images(3);
  expect_success(vig(command("classify", "x.jsonl", {"--top", "2"})));
  fs::rename(path("x.jsonl"), path("x.jsonl.partial"));
  const std::string before = read_file(path("x.jsonl.partial"));
  expect_complaint(vig(command("classify", "x.jsonl", {"--resume", "--top", "3"})), 1,
                   "made by another model");
  // It is not taken for rubbish either.
  expect_complaint(vig(command("classify", "x.jsonl", {"--top", "2"})), 1, "add --resume");
  EXPECT_EQ(read_file(path("x.jsonl.partial")), before);
  expect_success(vig(command("classify", "x.csv", {"--top", "2"})));
  expect_complaint(vig(command("classify", "x.csv", {"--resume", "--top", "3"})), 1,
                   "does not begin with the columns");
  write_file(path("y.jsonl"), "[1]\n");
  expect_complaint(vig(command("classify", "y.jsonl", {"--resume"})), 1, "line 1 is \"[1]\"");
}

TEST_F(Resume, NothingButBadImagesIsBadInput) {
  make_images(0);
  write_file(folder_ / "images/a.png", "no image");
  expect_complaint(vig(command("classify", "x.jsonl")), 1, "a.png");
  expect_success(vig(command("classify", "y.jsonl", {"--shard", "1/9"})));
  EXPECT_EQ(read_file(path("y.jsonl")), "");
}

// Lines of images, with and without the files of each.
TEST_F(DenseCommands, LinesOfImagesResume) {
  for (const char* verb : {"segment", "detect"}) {
    SCOPED_TRACE(verb);
    const std::string model = std::string(verb) == "segment" ? segment_ : detect_;
    const std::string lines = (folder_ / verb).string() + ".jsonl";
    const std::vector<std::string> line = {verb,    "-m",    model, cat_,    broken_,
                                           flower_, "--out", lines, "--out", out().string()};
    expect_complaint(vig(line), 3, "zero_byte.png");
    const std::string whole = read_file(lines);
    ASSERT_EQ(std::ranges::count(whole, '\n'), 3);
    for (size_t at = 0; at < whole.size(); at = whole.find('\n', at) + 1) {
      const json one = json::parse(whole.substr(at, whole.find('\n', at) - at));
      EXPECT_EQ(one.contains("error"), one["file"] == broken_);
    }
    fs::rename(lines, lines + ".partial");
    write_file(lines + ".partial", whole.substr(0, whole.size() / 2));
    std::vector<std::string> again = line;
    again.push_back("--resume");
    EXPECT_EQ(vig(again).exit_code, 3);
    EXPECT_EQ(read_file(lines), whole);
    const auto files = written();
    const RunResult alone = vig({verb, "-m", model, flower_, "--out", lines + "2.jsonl"});
    expect_success(alone);
    EXPECT_EQ(alone.out, "");
    EXPECT_EQ(written(), files);
  }
}

}  // namespace
}  // namespace vig::test
