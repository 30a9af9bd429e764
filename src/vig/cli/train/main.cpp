// `vig-train`: the program behind `vig train`, apart from `vig` because LibTorch takes long to
// load.
#include <malloc.h>

#include "vig/cli/program.h"
#include "vig/cli/train/commands.h"

namespace {

void fill(CLI::App& app, vig::cli::Command& chosen) { vig::cli::add_train(app, chosen); }

}  // namespace

int main(int argc, char** argv) {
  // A step frees and asks again for the same large tensors: the allocator keeps their pages.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 64 << 20);
  return vig::cli::run_program("vig-train", "Trains ViG and its relatives.", fill, argc, argv);
}
