// Commands that are the work of another program, so that `vig` never loads the libraries they need:
// `vig train`, `vig receptive-field` and `vig bench --train` of vig-train (LibTorch), `vig convert
// IN OUT.onnx` of vig-onnx (protocol buffers), `vig serve` of vig-serve (HTTP), `vig study` of
// vig-study. A helper program knows the options of its commands.
#pragma once

#include <array>
#include <string>

namespace vig::cli {

struct HelperProgram {
  const char* name;     // of the program: "vig-train"
  const char* command;  // as people know it: "vig train"
  const char* remedy;   // how to get the program
};

// One for each command that is the work of another program.
std::array<const HelperProgram*, 6> helper_programs();

// The file beside this program, or where there is none the name, to be found in PATH.
std::string helper_path(const HelperProgram& helper);

// The program whose work the command line is; null if it is this program's.
const HelperProgram* find_helper(int argc, char** argv);

// Becomes the helper. Returns, with an exit status, only if there is none.
int start_helper(const HelperProgram& helper, char** argv);

// "vig train needs vig-train, which is not there: ..."
std::string missing_helper(const HelperProgram& helper);

}  // namespace vig::cli
