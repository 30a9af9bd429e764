// The program as its users see it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"

namespace vig::test {

inline std::string data(const std::string& name) {
  return (std::filesystem::path(kFixtures) / name).string();
}
inline std::string golden(const std::string& name) { return data("golden/" + name); }

// Without the lines of progress, which long work prints every ten seconds: what takes long depends
// on the machine.
inline std::string without_progress(const std::string& err) {
  std::string kept, line;
  for (std::istringstream lines(err); std::getline(lines, line);) {
    const bool counts =
        line.starts_with("vig: ") && line.size() > 5 && line[5] >= '0' && line[5] <= '9';
    if (!(counts && line.ends_with(" left"))) kept += line + (lines.eof() ? "" : "\n");
  }
  return kept;
}

inline RunResult vig(std::vector<std::string> arguments, const RunOptions& options = {}) {
  arguments.insert(arguments.begin(), kVig);
  RunResult result = run_program(arguments, options);
  result.err = without_progress(result.err);
  EXPECT_EQ(result.signal, 0) << result.err;
  EXPECT_FALSE(result.timed_out);
  return result;
}

// Ended with `exit_code` and exactly one complaint, which names `about`.
inline void expect_complaint(const RunResult& result, int exit_code, const std::string& about) {
  EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
  EXPECT_TRUE(result.err.starts_with("vig: ")) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_NE(result.err.find(about), std::string::npos) << result.err;
  EXPECT_LT(result.peak_bytes, uint64_t{1} << 30);
}

// Starts the program with its output (or, as stream 2, its complaints) in the file `out`, and
// presses Ctrl-C once that has `lines` lines.
inline RunResult interrupt_vig(const std::vector<std::string>& arguments, const std::string& out,
                               int lines, int stream = 1) {
  std::string command = std::string("'") + kVig + "'";
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  write_file(out, "");
  // A shell without job control starts background work with Ctrl-C ignored; -m gives it back.
  return run_program({"bash", "-m", "-c",
                      command + " " + std::to_string(stream) + "> '" + out +
                          "' & while [ $(wc -l < '" + out + "') -lt " + std::to_string(lines) +
                          " ]; do sleep 0.05; done; kill -INT $!; wait $!"});
}

inline void expect_success(const RunResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

// A miniature of 10 classes for 64 x 64 images, made by the program itself.
inline std::string make_model(const TempDir& folder) {
  const std::string file = (folder / "model.safetensors").string();
  write_file(folder / "classes.txt", "ant\nbee\ncat\ndog\neel\nfox\ngnu\nhen\nibis\njay\n");
  const RunResult result = vig({"convert", golden("vig-mini-silu.pth"), file, "--arch", "test_vig",
                                "--classes", (folder / "classes.txt").string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return file;
}

}  // namespace vig::test
