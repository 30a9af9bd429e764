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

void fill(vig::cli::CommandLine& line) {
  using namespace vig::cli;
  add_models(line);
  add_info(line);
  add_classify(line);
  add_embed(line);
  add_search(line);
  add_explain(line);
  add_segment(line);
  add_detect(line);
  add_eval(line);
  add_convert(line, nullptr);
  add_verify(line);
  add_bench(line);
  // For the list of commands: main hands them on.
  line.add_command("study",
                   "Reproduce a table or figure of the paper, with a verdict on each claim");
  line.add_command("train", "Train or fine-tune a classifier, segmentation network or detector");
  line.add_command("serve", "Serve models over HTTP, with a web page to try them");
  line.add_command("receptive-field", "Measure the effective receptive field of a network");
  add_completion(line);
  add_manual(line);
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
