// `vig-onnx`: the program behind `vig convert IN OUT.onnx`, apart from `vig` because protocol
// buffers take long to load and to build with.
#include "vig/cli/convert.h"
#include "vig/cli/memory_lack.h"
#include "vig/cli/onnx/write_onnx.h"
#include "vig/cli/program.h"

namespace {

void fill(vig::cli::CommandLine& line) { vig::cli::add_convert(line, vig::cli::write_onnx); }

}  // namespace

int main(int argc, char** argv) {
  vig::cli::handle_memory_lack();
  // `vig convert` is how people know it, and what the help of the command says.
  const bool command = argc > 1 && argv[1][0] != '-';
  return vig::cli::run_program(command ? "vig" : "vig-onnx",
                               "Writes ONNX files of ViG and its baselines.", fill, argc, argv);
}
