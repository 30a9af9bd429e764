// How the calls of a program are cut into phases: the first half of a plan by segments.
#pragma once

#include <vector>

#include "vig/runtime/segment_plan.h"

namespace vig {

// When values are made and last read, in calls, by value.
struct ValueUses {
  std::vector<int> made;  // -1: there from the beginning
  std::vector<int> last;  // -1: never; the number of calls: after the run

  explicit ValueUses(const Program& program);
};

// Phases with their calls, scans and positions. Those whose results are never read are left out.
std::vector<Phase> cut_phases(const Program& program, const ValueUses& uses);

// The regions of a phase, and those of them that the sweep from the end needs.
void find_regions(const Program& program, Phase& phase);

}  // namespace vig
