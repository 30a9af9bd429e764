// Weights as int8 codes, for packing and for files.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/runtime/precision.h"
#include "vig/weights/load.h"

namespace vig {

// A weight [n, k] ~ scale[n] * code[n, k].
struct Int8Weights {
  std::vector<int8_t> codes;
  std::vector<float> scales;
};

// As the file has them, or quantised. Throws where a file has codes that no product takes.
Int8Weights int8_weights(const Weights& weights, size_t param);

// By parameter of the graphs of a model: whether it is the weight of a layer that uses int8.
std::vector<bool> int8_params(const Precision& precision, std::span<const Graph> graphs);

}  // namespace vig
