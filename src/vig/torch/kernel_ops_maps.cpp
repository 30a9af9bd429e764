// Maps on other grids: resizing, means of cells.
#include <torch/csrc/autograd/custom_function.h>

#include "vig/kernels/backward/map_resize.h"
#include "vig/kernels/backward/pool.h"
#include "vig/kernels/map_resize.h"
#include "vig/kernels/pool.h"
#include "vig/torch/kernel_ops.h"

namespace vig::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct Resize : Function<Resize> {
  static MapGrids grids_of(int64_t height, int64_t width, int64_t out_height, int64_t out_width,
                           bool nearest) {
    return (nearest ? MapGrids::nearest : MapGrids::bilinear)(height, width, out_height, out_width);
  }

  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, int64_t height,
                            int64_t width, bool nearest) {
    const MapGrids grids = grids_of(x.size(1), x.size(2), height, width, nearest);
    at::Tensor y = at::empty({x.size(0), height, width, x.size(3)}, x.options());
    MapResizeArgs args;
    args.grids = &grids;
    args.in = x.data_ptr<float>();
    args.in_stride = args.channels = args.out_stride = x.size(3);
    args.last_row = x.size(0) * height * width;
    args.out = y.data_ptr<float>();
    map_resize(args);
    ctx->saved_data["height"] = x.size(1);
    ctx->saved_data["width"] = x.size(2);
    ctx->saved_data["nearest"] = nearest;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor dy = grads[0].contiguous();
    const int64_t height = ctx->saved_data["height"].toInt();
    const int64_t width = ctx->saved_data["width"].toInt();
    const MapGrids grids =
        grids_of(height, width, dy.size(1), dy.size(2), ctx->saved_data["nearest"].toBool());
    at::Tensor dx = at::empty({dy.size(0), height, width, dy.size(3)}, dy.options());
    map_resize_backward(
        {&grids, dy.data_ptr<float>(), dy.size(0), dy.size(3), dx.data_ptr<float>()});
    return {dx, {}, {}, {}};
  }
};

struct AdaptivePool : Function<AdaptivePool> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, int64_t cells) {
    at::Tensor y = at::empty({x.size(0), cells, cells, x.size(3)}, x.options());
    CellPoolArgs args;
    args.grid = {x.size(1), x.size(2), x.size(3)};
    args.in_stride = args.out_stride = x.size(3);
    args.cells = cells;
    for (int64_t i = 0; i < x.size(0); ++i) {
      args.in = x.data_ptr<float>() + i * x.stride(0);
      args.out = y.data_ptr<float>() + i * y.stride(0);
      pool_cells(args);
    }
    ctx->saved_data["height"] = x.size(1);
    ctx->saved_data["width"] = x.size(2);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor dy = grads[0].contiguous();
    const ConvGrid grid = {ctx->saved_data["height"].toInt(), ctx->saved_data["width"].toInt(),
                           dy.size(3)};
    at::Tensor dx = at::empty({dy.size(0), grid.height, grid.width, grid.channels}, dy.options());
    pool_cells_backward({dy.data_ptr<float>(), dy.size(0), grid, dy.size(1), dx.data_ptr<float>()});
    return {dx, {}};
  }
};

}  // namespace

at::Tensor KernelOps::resize(const at::Tensor& x, int64_t height, int64_t width,
                             const ResizeOp& op) {
  return Resize::apply(x.contiguous(), height, width, op.resampling == Resampling::kNearest);
}

at::Tensor KernelOps::adaptive_pool(const at::Tensor& x, const AdaptivePoolOp& op) {
  return AdaptivePool::apply(x.contiguous(), static_cast<int64_t>(op.cells));
}

}  // namespace vig::train
