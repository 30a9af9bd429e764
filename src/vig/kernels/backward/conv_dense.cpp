#include "vig/kernels/backward/conv_dense.h"

#include <algorithm>
#include <vector>

#include "vig/kernels/backward/conv.h"
#include "vig/kernels/backward/gemm.h"
#include "vig/kernels/gemm.h"
#include "vig/kernels/grid_row.h"

namespace vig {
namespace {

constexpr int64_t kBlockRows = 256;  // whose pixels are gathered together

// One window that is the grid: the convolution is a product whose rows are images, and so is dx.
// Turned around it would meet one tap of dy among kernel * kernel outside of it.
bool covers_grid(const ConvShape& shape) {
  const Windows& w = shape.windows;
  return shape.groups == 1 && w.positions() == 1 && w.top == 0 && w.left == 0 &&
         w.kernel == shape.in.height && w.kernel == shape.in.width;
}

// With stride 1 dx is a convolution of dy.
bool turns_around(const ConvShape& shape) {
  return shape.windows.stride == 1 && !covers_grid(shape);
}

ConvShape turned_around(const ConvShape& shape) {
  return {{shape.windows.height, shape.windows.width, shape.out_channels},
          flipped_windows(shape.windows, shape.in),
          shape.in.channels,
          shape.groups};
}

// Panels of one group's patches: dpatch [taps] = dy [outputs] W.
size_t patch_panel_floats(const ConvShape& shape) {
  return gemm_packed_floats(shape.taps(), shape.group_outputs(), false);
}

void scatter_image(const ConvInputBackwardArgs& args, int64_t image) {
  const ConvShape& s = args.shape;
  for (int64_t group = 0; group < s.groups; ++group) {
    GemmArgs product;
    product.a = args.dy + image * s.positions() * s.out_channels + group * s.group_outputs();
    product.lda = s.out_channels;
    product.rows = s.positions();
    product.weight = {args.panels + static_cast<size_t>(group) * patch_panel_floats(s), s.taps(),
                      s.group_outputs(), false};
    product.c = args.scratch;
    product.ldc = s.taps();
    gemm(product);
    ScatterArgs scatter;
    scatter.patches = args.scratch;
    scatter.patch_stride = s.taps();
    scatter.grid = {s.in.height, s.in.width, s.group_inputs()};
    scatter.windows = s.windows;
    scatter.last_row = s.in.height * s.in.width;
    scatter.out =
        args.dx + image * s.in.height * s.in.width * s.in.channels + group * s.group_inputs();
    scatter.out_stride = s.in.channels;
    scatter_patches(scatter);
  }
}

void multiply_images(const ConvInputBackwardArgs& args) {
  const ConvShape& s = args.shape;
  // Some rows at a time, so that they stay in the second-level cache for all panels.
  const int64_t tile = 8 * gemm_strip_rows();
  for (int64_t image = args.first_image; image < args.last_image; image += tile) {
    GemmArgs product;
    product.a = args.dy + image * s.out_channels;
    product.lda = s.out_channels;
    product.rows = std::min(tile, args.last_image - image);
    product.weight = {args.panels, s.taps(), s.out_channels, false};
    product.c = args.dx + image * s.taps();
    product.ldc = s.taps();
    gemm(product);
  }
}

// Whether whole patches of a block of rows are gathered: of few channels one tap at a time would
// leave vectors half empty.
bool takes_patches(const ConvShape& shape) {
  constexpr int64_t kFewChannels = 32;
  return shape.groups == 1 && shape.in.channels < kFewChannels;
}

// The pixels that rows [first, first + rows) see at one tap, rows `stride` apart.
void gather_tap(const ConvWeightBackwardArgs& args, int64_t tap, int64_t first, int64_t rows,
                float* to, int64_t stride) {
  const ConvGrid& g = args.shape.in;
  const Windows& w = args.shape.windows;
  GridRow at(first, w.height, w.width);
  for (int64_t r = 0; r < rows; ++r, to += stride, at.next(1, w.height, w.width)) {
    const int64_t y = at.y * w.stride - w.top + tap / w.kernel;
    const int64_t x = at.x * w.stride - w.left + tap % w.kernel;
    if (y < 0 || y >= g.height || x < 0 || x >= g.width) {
      std::fill_n(to, g.channels, 0.0f);
    } else {
      std::copy_n(args.in + ((at.image * g.height + y) * g.width + x) * g.channels, g.channels, to);
    }
  }
}

// dweight += dy^T times what is gathered, `columns` of it for each group, from column `first_tap`
// of a group's dweight on.
void add_products(const ConvWeightBackwardArgs& args, int64_t first, int64_t rows, int64_t stride,
                  int64_t columns, int64_t first_tap) {
  const ConvShape& s = args.shape;
  for (int64_t group = 0; group < s.groups; ++group) {
    GemmBackwardArgs product;
    product.dy = args.dy + first * s.out_channels + group * s.group_outputs();
    product.ldy = s.out_channels;
    product.x = args.scratch + group * columns;
    product.ldx = stride;
    product.rows = rows;
    product.n = s.group_outputs();
    product.k = columns;
    product.dw = args.dweight + group * s.group_outputs() * s.taps() + first_tap;
    product.ldw = s.taps();
    product.add = true;
    gemm_backward(product);
  }
}

}  // namespace

size_t conv_input_backward_floats(const ConvShape& shape) {
  return turns_around(shape) ? conv_packed_floats(turned_around(shape))
                             : static_cast<size_t>(shape.groups) * patch_panel_floats(shape);
}

size_t conv_input_backward_scratch(const ConvShape& shape) {
  if (turns_around(shape) || covers_grid(shape)) return 0;
  return static_cast<size_t>(shape.positions() * shape.taps());
}

void conv_input_backward_pack(const ConvShape& shape, const float* weight, float* panels) {
  const int64_t inputs = shape.group_inputs(), outputs = shape.group_outputs();
  const int64_t area = shape.area();
  std::vector<float> ordered(static_cast<size_t>(shape.out_channels * inputs * area));
  if (turns_around(shape)) {
    for (int64_t o = 0; o < shape.out_channels; ++o) {
      const int64_t group = o / outputs;
      for (int64_t c = 0; c < inputs; ++c) {
        for (int64_t tap = 0; tap < area; ++tap) {
          const int64_t to = ((group * inputs + c) * outputs + o % outputs) * area + area - 1 - tap;
          ordered[static_cast<size_t>(to)] = weight[(o * inputs + c) * area + tap];
        }
      }
    }
    conv_pack(turned_around(shape), ordered.data(), nullptr, panels);
    return;
  }
  patch_weight(weight, shape.out_channels, inputs, shape.windows.kernel, ordered.data());
  for (int64_t group = 0; group < shape.groups; ++group) {
    gemm_pack_transposed(ordered.data() + group * outputs * shape.taps(), shape.taps(), outputs,
                         panels + static_cast<size_t>(group) * patch_panel_floats(shape));
  }
}

void conv_input_backward(const ConvInputBackwardArgs& args) {
  if (covers_grid(args.shape)) return multiply_images(args);
  if (!turns_around(args.shape)) {
    for (int64_t i = args.first_image; i < args.last_image; ++i) scatter_image(args, i);
    return;
  }
  DenseConvArgs conv;
  conv.shape = turned_around(args.shape);
  conv.in = args.dy;
  conv.panels = args.panels;
  conv.first_row = args.first_image * conv.shape.positions();
  conv.last_row = args.last_image * conv.shape.positions();
  conv.out = args.dx + conv.first_row * args.shape.in.channels;
  conv.out_stride = args.shape.in.channels;
  dense_conv(conv);
}

size_t conv_weight_backward_scratch(const ConvShape& shape) {
  return static_cast<size_t>(kBlockRows *
                             (takes_patches(shape) ? shape.taps() : shape.in.channels));
}

void conv_weight_backward(const ConvWeightBackwardArgs& args) {
  const ConvShape& s = args.shape;
  for (int64_t first = args.first_row; first < args.last_row; first += kBlockRows) {
    const int64_t rows = std::min(kBlockRows, args.last_row - first);
    if (takes_patches(s)) {
      for (int64_t tap = 0; tap < s.area(); ++tap) {
        gather_tap(args, tap, first, rows, args.scratch + tap * s.in.channels, s.taps());
      }
      add_products(args, first, rows, s.taps(), s.taps(), 0);
      continue;
    }
    for (int64_t tap = 0; tap < s.area(); ++tap) {
      gather_tap(args, tap, first, rows, args.scratch, s.in.channels);
      add_products(args, first, rows, s.in.channels, s.group_inputs(), tap * s.group_inputs());
    }
  }
}

}  // namespace vig
