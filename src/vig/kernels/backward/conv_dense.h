// Gradients of the convolutions in conv_dense.h. Maps are whole, [batch, height, width, channels]
// without gaps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vig/kernels/conv_dense.h"

namespace vig {

// dx. With stride 1 it is a convolution of dy with the kernel turned around; else every output
// hands its gradient to a patch, and patches are summed where they overlap. A window as large as
// the grid makes it one product for the batch. Images are independent, so that threads can share
// a batch.
struct ConvInputBackwardArgs {
  ConvShape shape;                // of the forward convolution
  const float* dy = nullptr;      // the whole batch, before the elementwise function
  const float* panels = nullptr;  // made by conv_input_backward_pack
  int64_t first_image = 0;
  int64_t last_image = 0;
  float* dx = nullptr;       // the whole batch; the images named are overwritten
  float* scratch = nullptr;  // conv_input_backward_scratch, not shared between threads
};

size_t conv_input_backward_floats(const ConvShape& shape);
size_t conv_input_backward_scratch(const ConvShape& shape);
// `weight` as published, [out, in / groups, kernel, kernel]; `panels` aligned to 64 bytes.
void conv_input_backward_pack(const ConvShape& shape, const float* weight, float* panels);
void conv_input_backward(const ConvInputBackwardArgs& args);

// dweight[o, ky, kx, c] += sum over rows of dy[row, o] * the pixel that the row sees at the tap.
// Every element is one chain of fused multiply-adds over the rows in order.
struct ConvWeightBackwardArgs {
  ConvShape shape;
  const float* in = nullptr;  // the whole batch
  const float* dy = nullptr;  // the whole batch
  int64_t first_row = 0;      // rows to sum over
  int64_t last_row = 0;
  // [out, kernel, kernel, in / groups], added to. patch_weight_inverse gives the published order.
  float* dweight = nullptr;
  float* scratch = nullptr;  // conv_weight_backward_scratch, not shared between threads
};

size_t conv_weight_backward_scratch(const ConvShape& shape);
void conv_weight_backward(const ConvWeightBackwardArgs& args);

}  // namespace vig
