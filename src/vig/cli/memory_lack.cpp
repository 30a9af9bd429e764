#include "vig/cli/memory_lack.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

[[noreturn]] void end_program() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    remove_temporary_files();
    std::_Exit(report_memory_lack());
  } catch (...) {
  }
  std::abort();
}

}  // namespace

void handle_memory_lack() { std::set_terminate(end_program); }

int report_memory_lack() {
  std::fputs("vig: not enough memory\n", stderr);
  return 1;
}

}  // namespace vig::cli
