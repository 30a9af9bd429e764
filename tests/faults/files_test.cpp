// The program while its memory, its disk or its life ends: one sentence or a signal, and under the
// final name the old file or the new one, never a part.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "faults/fixture.h"
#include "faults/inject.h"
#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"
#include "vig/pipeline/save_model.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    files[entry.path().filename().string()] = read_file(entry.path());
  }
  return files;
}

std::string names(const std::map<std::string, std::string>& files) {
  std::string list;
  for (const auto& [name, bytes] : files) list += name + " ";
  return list;
}

struct Calls {
  int64_t memory = 0, threads = 0, files = 0;
  std::string letters;  // of the file calls
};

class Faults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_inject()) GTEST_SKIP() << "not in builds with sanitisers";
    ModelRequest request;
    request.model = data("golden/vig-mini-silu.pth");
    request.arch = "test_vig";
    model_ = (inputs_ / "model.safetensors").string();
    save_model(find_source(request), model_);
    fs::create_directory(out_.path() / "folder");
  }

  static RunResult run(std::vector<std::string> arguments, std::vector<std::string> variables) {
    arguments.insert(arguments.begin(), kVig);
    variables.push_back(std::string("LD_PRELOAD=") + kFaultsLibrary);
    return run_program(arguments, {.environment = variables});
  }

  Calls count(const std::vector<std::string>& arguments) const {
    const std::string counts = (inputs_ / "counts").string();
    const std::string letters = (inputs_ / "letters").string();
    const RunResult result =
        run(arguments, {"VIG_FAULT_COUNTS=" + counts, "VIG_FAULT_CALLS=" + letters});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    Calls calls;
    std::istringstream(read_file(counts)) >> calls.memory >> calls.threads >> calls.files;
    calls.letters = read_file(letters);
    return calls;
  }

  // One sentence for any failure.
  static void expect_sentence(const RunResult& result) {
    EXPECT_EQ(result.signal, 0) << result.err;
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_TRUE(result.err.starts_with("vig: ")) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }

  // Runs a command that writes into out(), with each of its file calls failing or its last.
  void break_every_file_call(const std::vector<std::string>& arguments, int64_t at_least) {
    const fs::path folder = out_.path() / "folder";
    const Calls calls = count(arguments);
    const auto finished = contents(folder);
    ASSERT_FALSE(finished.empty());
    EXPECT_GE(calls.files, at_least);
    // What was there before.
    std::map<std::string, std::string> before;
    for (const auto& [name, bytes] : finished) before[name] = "the file before";
    const auto reset = [&] {
      for (const auto& entry : fs::directory_iterator(folder)) fs::remove(entry.path());
      for (const auto& [name, bytes] : before) write_file(folder / name, bytes);
    };
    for (const char* how : {"once", "kill"}) {
      for (int64_t n = 1; n <= calls.files; ++n) {
        const std::string fault = "file:" + std::to_string(n) + ":" + how;
        SCOPED_TRACE(fault);
        reset();
        const RunResult result = run(arguments, {"VIG_FAULT=" + fault});
        auto after = contents(folder);
        if (*how == 'k') {
          EXPECT_EQ(result.signal, SIGKILL);
          std::erase_if(after, [](const auto& file) {
            return file.first.find(".tmp-") != std::string::npos;
          });
        } else if (result.exit_code == 0) {  // the flush of a folder is best effort
          EXPECT_EQ(calls.letters[static_cast<size_t>(n - 1)], 's');
          EXPECT_TRUE(after == finished) << names(after);
        } else {
          expect_sentence(result);
          EXPECT_NE(result.err.find("No space left on device"), std::string::npos) << result.err;
        }
        ASSERT_EQ(names(after), names(finished));  // no temporary file
        for (const auto& [name, bytes] : after) {
          EXPECT_TRUE(bytes == before[name] || bytes == finished.at(name)) << name;
        }
        if (*how != 'k') continue;
        // The next run removes what the killed one left.
        EXPECT_EQ(run(arguments, {}).exit_code, 0);
        EXPECT_TRUE(contents(folder) == finished) << names(contents(folder));
      }
    }
  }

  std::string out(const std::string& name) const {
    return (out_.path() / "folder" / name).string();
  }
  // Runs a command of --out with each of its file calls failing or its last: what it finished is
  // kept, and the same command with --resume gives what an undisturbed run gives.
  void resume_after_every_fault(const std::vector<std::string>& arguments, int64_t at_least) {
    const fs::path folder = out_.path() / "folder";
    const auto clear = [&] {
      for (const auto& entry : fs::directory_iterator(folder)) fs::remove(entry.path());
    };
    clear();
    const Calls calls = count(arguments);
    const auto finished = contents(folder);
    EXPECT_GE(calls.files, at_least);
    std::vector<std::string> again = arguments;
    again.push_back("--resume");
    for (const char* how : {"once", "kill"}) {
      for (int64_t n = 1; n <= calls.files; ++n) {
        const std::string fault = "file:" + std::to_string(n) + ":" + how;
        SCOPED_TRACE(fault);
        clear();
        const RunResult result = run(arguments, {"VIG_FAULT=" + fault});
        if (*how == 'k') {
          EXPECT_EQ(result.signal, SIGKILL);
        } else if (result.exit_code != 0) {
          expect_sentence(result);
        }
        for (const auto& [name, bytes] : contents(folder)) {
          const auto whole = finished.find(name.substr(0, name.find(".partial")));
          ASSERT_NE(whole, finished.end()) << name;
          EXPECT_TRUE(name.ends_with(".partial") || bytes == whole->second) << name;
        }
        EXPECT_EQ(run(again, {}).exit_code, 0);
        EXPECT_TRUE(contents(folder) == finished) << names(contents(folder));
      }
    }
  }

  std::vector<std::string> embed(const std::string& file) const {
    return {"embed",
            "--model",
            model_,
            "--out",
            file,
            "--batch",
            "1",
            "--threads",
            "1",
            data("image/photos/pixel_1x1.png"),
            data("image/photos/kitten_gray.jpg")};
  }

  const TempDir inputs_, out_;
  std::string model_;
};

TEST_F(Faults, ConvertLeavesTheOldFileOrTheNew) {
  break_every_file_call({"convert", "--force", "--arch", "test_vig",
                         data("golden/vig-mini-silu.pth"), out("model.safetensors")},
                        5);
}

TEST_F(Faults, EmbedResumesWhateverFailed) {
  resume_after_every_fault(embed(out("vectors.jsonl")), 5);
  resume_after_every_fault(embed(out("vectors.npy")), 12);
}

// A name must not be on the disk before the bytes it stands for: open, write, flush, rename, and
// the flush of the folder last.
TEST_F(Faults, BytesAreFlushedBeforeTheirNameAppears) {
  const std::vector<std::string> command = {
      "convert", "--arch", "test_vig", data("golden/vig-mini-silu.pth"), out("model.safetensors")};
  std::string letters = count(command).letters;
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  EXPECT_EQ(letters, "owsrs");
}

// Every image is whole at its old path or at its new one, and no part of one is left.
TEST_F(Faults, MovingToAnotherFileSystemLosesNothing) {
  const fs::path other = other_file_system();
  if (other.empty()) GTEST_SKIP() << "needs a second file system that can be written to";
  const TempDir sorted(other);
  const fs::path from = out_.path() / "folder", to = sorted.path() / "none of them";
  const std::vector<std::string> names_before = {"kitten_gray.jpg", "pixel_1x1.png"};
  const auto reset = [&] {
    for (const fs::path& folder : {from, to}) {
      fs::remove_all(folder);
      fs::create_directory(folder);
    }
    for (const std::string& name : names_before) {
      fs::copy_file(data("image/photos/" + name), from / name);
    }
    write_file(to / "pixel_1x1.png", "another image");
  };
  const std::vector<std::string> command = {"classify",
                                            "--model",
                                            model_,
                                            "--threshold",
                                            "1",
                                            "--move",
                                            sorted.path().string(),
                                            "--batch",
                                            "1",
                                            "--threads",
                                            "1",
                                            from.string()};
  reset();
  const Calls calls = count(command);
  const auto originals = [&] {
    std::map<std::string, std::string> files;
    for (const std::string& name : names_before) {
      files[name] = read_file(data("image/photos/" + name));
    }
    return files;
  }();
  const std::map<std::string, std::string> moved = {
      {"kitten_gray.jpg", originals.at("kitten_gray.jpg")},
      {"pixel_1x1 (2).png", originals.at("pixel_1x1.png")},
      {"pixel_1x1.png", "another image"}};
  EXPECT_TRUE(contents(to) == moved) << names(contents(to));
  EXPECT_TRUE(contents(from).empty());
  EXPECT_GE(calls.files, 12);
  // Of each image: a rename that cannot be, then open, write, flush, rename, and the folder's
  // flush.
  std::string letters = calls.letters;
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  EXPECT_EQ(letters, "rowsrsrowsrs");
  for (const char* how : {"once", "always", "kill"}) {
    for (int64_t n = 1; n <= calls.files; ++n) {
      const std::string fault = "file:" + std::to_string(n) + ":" + how;
      SCOPED_TRACE(fault);
      reset();
      const RunResult result = run(command, {"VIG_FAULT=" + fault});
      const bool killed = *how == 'k';
      EXPECT_EQ(result.signal, killed ? SIGKILL : 0) << result.err;
      const auto left = contents(from);
      auto after = contents(to);
      if (killed) {
        std::erase_if(
            after, [](const auto& file) { return file.first.find(".tmp-") != std::string::npos; });
      }
      EXPECT_EQ(after["pixel_1x1.png"], "another image");
      for (const auto& [name, bytes] : left) EXPECT_TRUE(bytes == originals.at(name)) << name;
      for (const auto& [name, bytes] : after) {
        ASSERT_TRUE(moved.contains(name)) << name;
        EXPECT_TRUE(bytes == moved.at(name)) << name;
      }
      for (const auto& [old_name, new_name] : {std::pair{"kitten_gray.jpg", "kitten_gray.jpg"},
                                               {"pixel_1x1.png", "pixel_1x1 (2).png"}}) {
        const int copies = (left.contains(old_name) ? 1 : 0) + (after.contains(new_name) ? 1 : 0);
        EXPECT_GE(copies, 1) << old_name << " is lost";
        EXPECT_LE(copies, killed ? 2 : 1) << old_name << " is in both folders";
      }
      EXPECT_TRUE(killed || (result.exit_code == 0) == left.empty()) << result.err;
    }
  }
}

// All allocations would take minutes here; memory_test.cpp fails every one within one process.
TEST_F(Faults, AllocationsOfTheProgram) {
  const std::vector<std::string> classify = {"classify",
                                             "--model",
                                             model_,
                                             "--batch",
                                             "1",
                                             data("image/photos/pixel_1x1.png"),
                                             data("image/photos/kitten_gray.jpg")};
  const RunResult whole = run(classify, {});
  const Calls calls = count(classify);
  EXPECT_GT(calls.memory, 1000);
  EXPECT_GE(calls.threads, 1);
  int refused = 0;
  for (const char* how : {"once", "always"}) {
    for (int64_t n = 1; n <= calls.memory; n += 1 + calls.memory / 60) {
      const std::string fault = "memory:" + std::to_string(n) + ":" + how;
      SCOPED_TRACE(fault);
      const RunResult result = run(classify, {"VIG_FAULT=" + fault});
      ASSERT_EQ(result.signal, 0) << result.err;
      if (result.exit_code == 0) {
        EXPECT_EQ(result.out, whole.out);
        continue;
      }
      ++refused;
      EXPECT_EQ(result.exit_code, 1);
      EXPECT_TRUE(result.err.find("not enough memory") != std::string::npos ||
                  result.err.find("Cannot allocate memory") != std::string::npos)
          << result.err;
    }
  }
  EXPECT_GT(refused, 50);
}

// Memory fails or the process is killed in the middle of writing.
TEST_F(Faults, AllocationsOfAWritingProgramLeaveNoPart) {
  const auto command = embed(out("vectors.npy"));
  const Calls calls = count(command);
  const auto finished = contents(out_.path() / "folder");
  for (const char* how : {"once", "kill"}) {
    // The output is opened late.
    for (int64_t n = calls.memory / 2; n <= calls.memory; n += 1 + calls.memory / 40) {
      const std::string fault = "memory:" + std::to_string(n) + ":" + how;
      SCOPED_TRACE(fault);
      for (const auto& [name, bytes] : finished) {
        write_file(out(name), "the file before");
        fs::remove(out(name + ".partial"));
      }
      const RunResult result = run(command, {"VIG_FAULT=" + fault});
      EXPECT_NE(result.signal, SIGABRT);
      auto after = contents(out_.path() / "folder");
      std::erase_if(after, [](const auto& file) { return file.first.ends_with(".partial"); });
      ASSERT_EQ(names(after), names(finished));
      // An image for which memory was lacking is reported, and the others are there.
      if (result.err.find(data("image/photos")) != std::string::npos) {
        EXPECT_TRUE(result.exit_code == 1 || result.exit_code == 3) << result.exit_code;
        EXPECT_NE(result.err.find("not enough memory"), std::string::npos) << result.err;
        continue;
      }
      for (const auto& [name, bytes] : after) {
        EXPECT_TRUE(bytes == "the file before" || bytes == finished.at(name)) << name;
      }
    }
  }
}

// A drawing is made last: its file is named where memory lacks for it.
TEST_F(Faults, DrawingWithoutMemoryNamesTheFile) {
  const std::string drawing = out("pixel_1x1.evidence.png");
  const std::vector<std::string> explain = {
      "explain", "--model",   model_, "--out",
      out(""),   "--threads", "1",    data("image/photos/pixel_1x1.png")};
  const int64_t memory = count(explain).memory;
  const std::string finished = read_file(drawing);
  int named = 0;
  for (int64_t n = memory; n > memory - 60; --n) {
    SCOPED_TRACE(n);
    write_file(drawing, "the file before");
    const RunResult result = run(explain, {"VIG_FAULT=memory:" + std::to_string(n) + ":once"});
    if (result.exit_code != 0) expect_sentence(result);
    EXPECT_EQ(result.err.find("PNG"), std::string::npos) << result.err;  // blamed on its format
    named += result.err.find(drawing + ": not enough memory to draw it") != std::string::npos;
    EXPECT_EQ(read_file(drawing), result.exit_code == 0 ? finished : "the file before");
    EXPECT_EQ(names(contents(out_.path() / "folder")), "pixel_1x1.evidence.png ");
  }
  EXPECT_GT(named, 5);
}

}  // namespace
}  // namespace vig::test
