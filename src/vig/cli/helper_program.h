// Commands that are the work of another program, so that `vig` never loads the libraries they need:
// `vig train`, `vig receptive-field` and `vig bench --train` of vig-train (LibTorch), `vig convert
// IN OUT.onnx` of vig-onnx (protocol buffers), `vig serve` of vig-serve (HTTP). A helper program
// knows the options of its commands.
#pragma once

namespace vig::cli {

struct HelperProgram {
  const char* name;     // of the program: "vig-train"
  const char* command;  // as people know it: "vig train"
  const char* remedy;   // how to get the program
};

// The program whose work the command line is; null if it is this program's.
const HelperProgram* find_helper(int argc, char** argv);

// Becomes the helper: the one beside this program, else the one in PATH. Returns, with an exit
// status, only if there is none.
int start_helper(const HelperProgram& helper, char** argv);

}  // namespace vig::cli
