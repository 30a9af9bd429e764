// Signals, limits and closed streams: what they leave behind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/vig.h"
#include "support/started_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// One image, then a pipe: when the pipe has a reader, the first image will be processed, whatever
// happens, and the program waits for the second.
class Signals : public testing::Test {
 protected:
  void SetUp() override { model_ = make_model(work_); }

  std::vector<std::string> command(const std::string& verb,
                                   const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {
        kVig,         verb,      "-m", model_, data("image/photos/cat_chelsea.png"),
        pipe_.path(), "--batch", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // Writes a page at its end.
  std::vector<std::string> search() const {
    const std::string index = (work_ / "x.index").string();
    expect_complaint(
        vig({"embed", "-m", model_, data("image/photos/flower.webp"), "--index", index}), 0,
        "1 images in");
    return {kVig,   "search", index,         pipe_.path(), "-m",
            model_, "--html", out("x.html"), "--images",   data("image/photos")};
  }
  std::string out(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  void send_image() {
    pipe_.write(read_file(data("image/photos/flower.webp")));
    pipe_.close();
  }

  TempDir work_;    // model, pipe, streams
  TempDir folder_;  // outputs alone
  NamedPipe pipe_{work_ / "pipe"};
  std::string model_;
};

TEST_F(Signals, APipeIsReadToItsEnd) {
  StartedProgram program(command("embed", {}), work_.path());
  pipe_.wait_for_reader();
  send_image();
  EXPECT_EQ(program.wait(), 0) << program.err();
  const json list = json::parse(program.out());
  ASSERT_EQ(list.size(), 2u);
  const RunResult file =
      vig({"embed", "-m", model_, data("image/photos/flower.webp"), "--batch", "1"});
  EXPECT_EQ(list[1]["values"], json::parse(file.out)[0]["values"]);
}

// The partial result has another name, the target stays as it was, nothing else is left.
TEST_F(Signals, WhatWasFinishedIsKeptUnderAnotherName) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(number);
    write_file(out("x.npy"), "old");
    write_file(out("x.jsonl"), "old names");
    for (const char* name : {"x.npy.partial", "x.jsonl.partial"}) fs::remove(out(name));
    StartedProgram program(command("embed", {"--out", out("x.npy")}), work_.path());
    pipe_.wait_for_reader();
    program.signal(number);
    EXPECT_EQ(program.wait(), 128 + number) << program.err();
    pipe_.close();
    EXPECT_EQ(files(),
              (std::vector<std::string>{"x.jsonl", "x.jsonl.partial", "x.npy", "x.npy.partial"}));
    EXPECT_EQ(read_file(out("x.npy")), "old");
    EXPECT_EQ(read_file(out("x.jsonl")), "old names");
    EXPECT_NE(read_file(out("x.npy.partial")).find("'shape': (1, 64,)"), std::string::npos);
    EXPECT_EQ(json::parse(read_file(out("x.jsonl.partial")))["file"],
              data("image/photos/cat_chelsea.png"));
    EXPECT_NE(program.err().find("stopped after"), std::string::npos) << program.err();
    EXPECT_NE(program.err().find("x.npy.partial"), std::string::npos) << program.err();
  }
}

// This signal asks for the end, not for the finished part.
TEST_F(Signals, QuitLeavesNoTemporaryFile) {
  StartedProgram program(search(), work_.path());
  pipe_.wait_for_reader();
  program.signal(SIGQUIT);
  EXPECT_EQ(program.wait(), 128 + SIGQUIT) << program.err();
  EXPECT_EQ(files(), std::vector<std::string>{});
}

TEST_F(Signals, JsonOnStandardOutputStaysJson) {
  for (const char* verb : {"classify", "embed"}) {
    SCOPED_TRACE(verb);
    StartedProgram program(command(verb, {"--json"}), work_.path());
    pipe_.wait_for_reader();
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait(), 128 + SIGTERM);
    pipe_.close();
    const json list = json::parse(program.out());
    EXPECT_TRUE(list[0].contains("values") || list[0].contains("classes"));
  }
}

// Before there is anything to finish, and where nothing would be kept.
TEST_F(Signals, OtherCommandsEndAtOnce) {
  NamedPipe reader(work_ / "full");
  const int end = open(reader.path().c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(end, 0);
  ASSERT_EQ(fcntl(end, F_SETPIPE_SZ, 4096), 4096);  // less than what is printed
  StartedProgram program(
      {"/bin/sh", "-c",
       std::string("exec '") + kVig + "' info vig_b --json > '" + reader.path() + "'"},
      work_.path());
  fcntl(end, F_SETFL, 0);
  char byte = 0;
  // Zero bytes mean that there is no writer yet.
  while (read(end, &byte, 1) == 0) usleep(1000);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 128 + SIGTERM);
  close(end);
}

// A second signal does not wait for running work: here, a reader that does not read.
TEST_F(Signals, TheSecondSignalEndsItAtOnce) {
  NamedPipe reader(work_ / "full");
  const int end = open(reader.path().c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(end, 0);
  ASSERT_EQ(fcntl(end, F_SETPIPE_SZ, 4096), 4096);  // less than what is printed
  StartedProgram program({"/bin/sh", "-c",
                          "exec '" + std::string(kVig) + "' embed -m '" + model_ + "' --map '" +
                              data("image/photos/flower.webp") + "' > '" + reader.path() + "'"},
                         work_.path());
  fcntl(end, F_SETFL, 0);
  char byte = 0;
  while (read(end, &byte, 1) == 0) usleep(1000);  // until there is a writer
  program.signal(SIGINT);
  program.signal(SIGTERM);
  close(end);  // a program that continues now writes without a reader, and ends with success
  const int status = program.wait();
  EXPECT_TRUE(status == 128 + SIGINT || status == 128 + SIGTERM) << status << program.err();
}

TEST_F(Signals, NohupKeepsItRunning) {
  StartedProgram program({"/bin/sh", "-c",
                          std::string("trap '' HUP; exec '") + kVig + "' classify -m '" + model_ +
                              "' '" + pipe_.path() + "'"},
                         work_.path());
  pipe_.wait_for_reader();
  program.signal(SIGHUP);
  send_image();
  EXPECT_EQ(program.wait(), 0) << program.err();
}

// What is written at the end is a temporary file until then.
TEST_F(Signals, TheNextRunRemovesWhatKillLeft) {
  const std::vector<std::string> run = search();
  {
    StartedProgram program(run, work_.path());
    pipe_.wait_for_reader();
    program.signal(SIGKILL);
    EXPECT_EQ(program.wait(), 256 + SIGKILL);
    pipe_.close();
  }
  ASSERT_EQ(files().size(), 1u);
  EXPECT_NE(files()[0].find("x.html.tmp-"), std::string::npos);
  // A running one is none: its file stays while another run writes the same target.
  StartedProgram program(run, work_.path());
  pipe_.wait_for_reader();
  ASSERT_EQ(files().size(), 1u);
  expect_success(
      vig({"search", (work_ / "x.index").string(), "-m", model_, data("image/photos/flower.webp"),
           "--html", out("x.html"), "--images", data("image/photos")}));
  EXPECT_EQ(files().size(), 2u);
  send_image();
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_EQ(files(), std::vector<std::string>{"x.html"});
}

// Two jobs of one output are a mistake; a running one's is not taken from it.
TEST_F(Signals, AResultFileBelongsToOneProcess) {
  StartedProgram program(command("classify", {"--out", out("x.csv")}), work_.path());
  pipe_.wait_for_reader();
  expect_complaint(vig({"classify", "-m", model_, data("image/photos/flower.webp"), "--resume",
                        "--out", out("x.csv")}),
                   1, "x.csv.partial: another process writes it");
  send_image();
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_EQ(files(), std::vector<std::string>{"x.csv"});
}

std::string in_quotes(const std::string& text) { return "'" + text + "'"; }

TEST_F(Signals, AFileSizeLimitIsAnErrorLikeAnyOther) {
  const std::string embed = in_quotes(kVig) + " embed -m " + in_quotes(model_) + " " +
                            in_quotes(data("image/photos/flower.webp")) + " --map --out " +
                            in_quotes(out("x.jsonl"));
  const RunResult result = run_program({"bash", "-c", "ulimit -f 1; exec " + embed});
  expect_complaint(result, 1, "x.jsonl: cannot be written: File too large");
  EXPECT_EQ(files(), std::vector<std::string>{});
}

// A closed stream's number must not go to the next file that is opened.
TEST_F(Signals, ClosedStreamsDoNotEndUpInFiles) {
  const std::string image = in_quotes(data("image/photos/flower.webp"));
  RunOptions options;
  options.environment = {"VIG_DEFAULT_MODEL=" + model_};  // so that there is a note to print
  const std::string embed = "exec " + in_quotes(kVig) + " embed " + image + " --out ";
  ASSERT_EQ(run_program({"bash", "-c", embed + in_quotes(out("whole.npy"))}, options).exit_code, 0);
  for (const char* closed : {"2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-", "0<&-", "1>&-"}) {
    SCOPED_TRACE(closed);
    const RunResult result =
        run_program({"bash", "-c", embed + in_quotes(out("x.npy")) + " " + closed}, options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(read_file(out("x.npy")), read_file(out("whole.npy")));
  }
  const RunResult result = run_program(
      {"bash", "-c", in_quotes(kVig) + " classify -m " + in_quotes(model_) + " - 0<&-"});
  expect_complaint(result, 1, "standard input: cannot be read");
}

}  // namespace
}  // namespace vig::test
