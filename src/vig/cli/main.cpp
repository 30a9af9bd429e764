// `vig`: options, printing and exit codes. Everything else is below.
#include <new>

#include "vig/cli/commands.h"
#include "vig/cli/memory_lack.h"
#include "vig/cli/program.h"
#include "vig/cli/training.h"

namespace {

void fill(CLI::App& app, vig::cli::Command& chosen) {
  using namespace vig::cli;
  add_models(app, chosen);
  add_info(app, chosen);
  add_classify(app, chosen);
  add_embed(app, chosen);
  add_eval(app, chosen);
  add_convert(app, chosen);
  add_verify(app, chosen);
  add_bench(app, chosen);
  // For the list of commands: main hands it on.
  app.add_subcommand("train", "Train or fine-tune a classifier on your pictures");
}

}  // namespace

int main(int argc, char** argv) try {
  vig::cli::handle_memory_lack();
  if (vig::cli::is_training(argc, argv)) return vig::cli::start_training(argv);
  return vig::cli::run_program(
      "vig", "ViG, a vision backbone that is linear in the number of pixels, on the CPU.", fill,
      argc, argv);
} catch (const std::bad_alloc&) {  // also where there is no memory to report another error
  return vig::cli::report_memory_lack();
}
