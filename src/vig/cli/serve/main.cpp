// `vig-serve`: the program behind `vig serve`, apart from `vig` so that nothing of a server is
// loaded by those who classify an image.
#include "vig/cli/memory_lack.h"
#include "vig/cli/program.h"
#include "vig/cli/serve/serve.h"

int main(int argc, char** argv) {
  vig::cli::handle_memory_lack();
  // `vig serve` is how people know it, and what the help of the command says.
  const bool command = argc > 1 && argv[1][0] != '-';
  return vig::cli::run_program(command ? "vig" : "vig-serve", "Serves predictions over HTTP.",
                               vig::cli::add_serve, argc, argv);
}
