// `vig`: options, printing and exit codes. Everything else is below.
#include <algorithm>
#include <new>
#include <string_view>

#include "vig/cli/commands.h"
#include "vig/cli/convert.h"
#include "vig/cli/helper_program.h"
#include "vig/cli/memory_lack.h"
#include "vig/cli/program.h"

namespace {

void fill(CLI::App& app, vig::cli::Command& chosen) {
  using namespace vig::cli;
  add_models(app, chosen);
  add_info(app, chosen);
  add_classify(app, chosen);
  add_embed(app, chosen);
  add_search(app, chosen);
  add_explain(app, chosen);
  add_segment(app, chosen);
  add_detect(app, chosen);
  add_eval(app, chosen);
  add_convert(app, chosen, nullptr);
  add_verify(app, chosen);
  add_bench(app, chosen);
  // For the list of commands: main hands them on.
  app.add_subcommand("study",
                     "Make a table or figure of the paper again, with a verdict on each claim");
  app.add_subcommand("train", "Train or fine-tune a classifier, segmentation network or detector");
  app.add_subcommand("serve", "Answer pictures over HTTP, with a page to try it");
  app.add_subcommand("receptive-field",
                     "Measure which pixels the centre of a network's last feature map sees");
  add_completion(app, chosen);
  add_manual(app, chosen);
}

}  // namespace

int main(int argc, char** argv) try {
  vig::cli::handle_memory_lack();
  // `vig help COMMAND` is `vig COMMAND --help`.
  static char flag[] = "--help";
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    std::rotate(argv + 1, argv + 2, argv + argc);
    argv[argc - 1] = flag;
  }
  if (const auto* helper = vig::cli::find_helper(argc, argv)) {
    return vig::cli::start_helper(*helper, argv);
  }
  return vig::cli::run_program(
      "vig", "ViG, a vision backbone that is linear in the number of pixels, on the CPU.", fill,
      argc, argv);
} catch (const std::bad_alloc&) {  // also where there is no memory to report another error
  return vig::cli::report_memory_lack();
}
