#include "vig/runtime/int8_weights.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/kernels/quantize.h"

namespace vig {

Int8Weights int8_weights(const Weights& weights, size_t param) {
  const Shape& shape = weights.spec(param).shape;
  const int64_t n = output_channels(shape), k = shape.elements() / n;
  const float* scales = weights.scales(param);
  if (scales == nullptr) {
    Int8Weights made{std::vector<int8_t>(static_cast<size_t>(n * k)),
                     std::vector<float>(static_cast<size_t>(n))};
    quantize_weights(weights.floats(param).data(), n, k, made.codes.data(), made.scales.data());
    return made;
  }
  const auto* codes = static_cast<const int8_t*>(weights.stored(param).data);
  const auto [least, most] = std::minmax_element(codes, codes + n * k);
  if (*least < -kMostWeight || *most > kMostWeight) {
    fail("tensor \"{}\" has codes from {} to {}, expected {} to {}", weights.spec(param).name,
         *least, *most, -kMostWeight, kMostWeight);
  }
  return {{codes, codes + n * k}, {scales, scales + n}};
}

std::vector<bool> int8_params(const Precision& precision, std::span<const Graph> graphs) {
  std::vector<bool> chosen(graphs.empty() ? 0 : graphs[0].params.size(), false);
  for (const Graph& graph : graphs) {
    for (const Node& node : graph.nodes) {
      if (uses_int8(precision, graph, node)) chosen[node.params[0]] = true;
    }
  }
  return chosen;
}

}  // namespace vig
