#include "fuzz/targets.h"
#include "vig/verify/golden_case.h"

namespace vig::fuzz {

void run_golden(Bytes bytes) {
  parse_golden_config("x", as_text(bytes), {1, 3, 32, 32},
                      [](const std::string&) -> const Shape* { return nullptr; });
}

}  // namespace vig::fuzz
