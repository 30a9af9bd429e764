// Runs a program as a user would and reports how it ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "support/sanitised.h"

namespace vig::test {

struct RunOptions {
  // Seconds; then the program and its children are killed. With sanitisers a pass of a whole
  // network takes seconds.
  double time_limit = kSanitised ? 300 : 60;
  std::string input = {};                     // its standard input
  std::filesystem::path directory = {};       // empty: the caller's
  std::vector<std::string> environment = {};  // "NAME=value", over the caller's
  // Limit of the address space, 0 for none. Not applied in a build with the address sanitiser,
  // which reserves terabytes it never touches; check peak_bytes there.
  uint64_t address_space = 0;
};

struct RunResult {
  int exit_code = -1;  // -1 when a signal ended it; 127 when it could not be started
  int signal = 0;
  bool timed_out = false;
  double seconds = 0;
  std::string out;
  std::string err;
  // Largest resident size. Never below the caller's own at the call, which the kernel counts in.
  uint64_t peak_bytes = 0;
};

// `arguments` starts with the program, looked up in PATH when it has no slash.
RunResult run_program(const std::vector<std::string>& arguments, const RunOptions& options = {});

}  // namespace vig::test
