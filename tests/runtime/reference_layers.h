// Layers of the reference forward pass that take more than one call of a reference kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/kernels/conv.h"

namespace vig::test {

// A linear layer, or a convolution, in integers.
struct Int8Layer {
  const float* in = nullptr;
  ConvGrid from;
  Windows windows;
  int64_t first = 0;     // channel of the input that is read first
  int64_t read = 0;      // channels that are read
  int64_t channels = 0;  // of the result
  const float* weight = nullptr;
  const float* bias = nullptr;
};

void reference_int8(const Int8Layer& layer, float* out);

struct LayerInput {
  const float* data = nullptr;
  const Grid& grid;
};

void reference_average_pool(const AveragePoolOp& op, const LayerInput& in, const Grid& grid,
                            float* out);

// What a head adds to the logits of a window, [n, n]; zeros where there is no table.
std::vector<float> reference_window_bias(const WindowAttentionOp& op, const float* table,
                                         int64_t head);

// Of the parameters of a layer: the shape of a_real, the channels of C, and whether there is D.
struct S4Shapes {
  const Shape& a;
  int64_t channels = 0;
  bool has_d = false;
};
S4Shapes s4_shapes(const Graph& graph, const Node& node);
// `param(i)` is parameter i of the layer.
void reference_s4(const S4ConvOp& op, const S4Shapes& shapes,
                  const std::function<const float*(size_t)>& param, const LayerInput& in,
                  const Grid& grid, float* out);

}  // namespace vig::test
