#include <stdexcept>

#include "fuzz/targets.h"

namespace vig::fuzz {

void check(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace vig::fuzz
