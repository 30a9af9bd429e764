// How calls are grouped: the first half of making a plan.
#pragma once

#include <vector>

#include "vig/runtime/plan.h"

namespace vig {

std::vector<Region> make_regions(const Program& program, int batch, int threads);

// The operands of a call that must be complete before any row of its result can be made.
std::vector<int> gathered_by(const KernelCall& call);

}  // namespace vig
