// A program on a terminal, as someone in front of it sees it.
#pragma once

#include <string>
#include <vector>

namespace vig::test {

struct TerminalResult {
  int exit_code = -1;              // 128 + the signal that ended it
  std::string bytes;               // as they came
  std::vector<std::string> lines;  // as displayed: what was overwritten or erased is gone
};

// `environment` is "NAME=value". Standard output and error are the terminal.
TerminalResult run_on_terminal(const std::vector<std::string>& arguments,
                               const std::vector<std::string>& environment);

}  // namespace vig::test
