// `vig-train`: the program behind `vig train`, apart from `vig` because LibTorch takes long to
// load.
#include "vig/cli/memory_lack.h"
#include "vig/cli/program.h"
#include "vig/cli/train/commands.h"
#include "vig/torch/tensor_memory.h"

namespace {

void fill(vig::cli::CommandLine& line) {
  vig::cli::add_train(line);
  vig::cli::add_train_bench(line);
  vig::cli::add_receptive_field(line);
}

}  // namespace

int main(int argc, char** argv) {
  vig::cli::handle_memory_lack();
  vig::train::keep_tensor_memory();
  // `vig train` is how people know it, and what the help of its commands says.
  const bool command = argc > 1 && argv[1][0] != '-';
  return vig::cli::run_program(command ? "vig" : "vig-train", "Trains ViG and its baselines.", fill,
                               argc, argv);
}
