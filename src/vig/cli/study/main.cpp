// `vig-study`: the program behind `vig study`, apart from `vig` so that users do not wait for the
// paper's tables to compile who does not ask for them.
#include "vig/cli/memory_lack.h"
#include "vig/cli/program.h"
#include "vig/cli/study/study.h"

int main(int argc, char** argv) {
  vig::cli::handle_memory_lack();
  // `vig study` is how people know it, and what the help of the command says.
  const bool command = argc > 1 && argv[1][0] != '-';
  return vig::cli::run_program(command ? "vig" : "vig-study",
                               "Reproduces the tables and figures of the paper.",
                               vig::cli::add_study, argc, argv);
}
