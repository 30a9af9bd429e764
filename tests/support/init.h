// How tests that build networks of their own initialise weights.
#pragma once

#include "vig/graph/graph.h"

namespace vig::test {

inline constexpr Init kInit = normal_init(0.02f);

}  // namespace vig::test
