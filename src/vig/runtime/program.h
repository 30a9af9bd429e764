// A graph lowered to calls, before anything is placed. The graph's nodes keep their ids as values;
// values that are no nodes follow.
#pragma once

#include <memory>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/runtime/kernel_call.h"
#include "vig/runtime/precision.h"

namespace vig {

struct Program {
  std::vector<std::unique_ptr<KernelCall>> calls;
  std::vector<ProgramValue> values;
  std::vector<bool> wanted;  // values that must be readable after the run
  std::vector<int> inputs;   // values that are there before the first call, and stay
};

// `keep`: nodes whose values must be readable besides the outputs.
Program lower(const Graph& graph, const std::vector<int>& keep, const Precision& precision = {});

}  // namespace vig
