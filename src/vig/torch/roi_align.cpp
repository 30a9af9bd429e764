#include "vig/torch/roi_align.h"

#include <torch/csrc/autograd/custom_function.h>

#include "vig/base/error.h"
#include "vig/kernels/backward/roi_align.h"

namespace vig::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// One level: boxes [R, 5] of it alone.
struct LevelAlign : Function<LevelAlign> {
  static RoiAlignArgs args_of(const at::Tensor& map, const at::Tensor& boxes, double scale,
                              int64_t side, int64_t sampling_ratio, int64_t box) {
    const float* values = boxes.data_ptr<float>() + box * 5;
    RoiAlignArgs args;
    args.map.data = map.data_ptr<float>() + static_cast<int64_t>(values[0]) * map.stride(0);
    args.map.stride = args.out_stride = args.channels = map.size(3);
    args.map.height = map.size(1);
    args.map.width = map.size(2);
    args.map.scale = static_cast<float>(scale);
    args.box = values + 1;
    args.side = static_cast<int>(side);
    args.sampling_ratio = static_cast<int>(sampling_ratio);
    return args;
  }

  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& map, const at::Tensor& boxes,
                            double scale, int64_t side, int64_t sampling_ratio) {
    at::Tensor out = at::empty({boxes.size(0), side, side, map.size(3)}, map.options());
    for (int64_t r = 0; r < boxes.size(0); ++r) {
      RoiAlignArgs args = args_of(map, boxes, scale, side, sampling_ratio, r);
      args.out = out.data_ptr<float>() + r * out.stride(0);
      vig::roi_align(args);
    }
    // Of the map the gradient needs the sizes alone.
    ctx->save_for_backward({boxes});
    ctx->saved_data["sizes"] = map.sizes().vec();
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["side"] = side;
    ctx->saved_data["sampling_ratio"] = sampling_ratio;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor boxes = ctx->get_saved_variables()[0], grad_out = grads[0].contiguous();
    at::Tensor dmap = at::zeros(ctx->saved_data["sizes"].toIntVector(), grad_out.options());
    for (int64_t r = 0; r < boxes.size(0); ++r) {
      RoiAlignBackwardArgs args;
      args.forward =
          args_of(dmap, boxes, ctx->saved_data["scale"].toDouble(), ctx->saved_data["side"].toInt(),
                  ctx->saved_data["sampling_ratio"].toInt(), r);
      args.dmap = dmap.data_ptr<float>() + (args.forward.map.data - dmap.data_ptr<float>());
      args.grad_out = grad_out.data_ptr<float>() + r * grad_out.stride(0);
      args.grad_out_stride = args.dmap_stride = dmap.size(3);
      vig::roi_align_backward(args);
    }
    return {dmap, {}, {}, {}, {}};
  }
};

// A cell is weights_y [R, side, H] times the map [H, W, C] times weights_x [R, side, W].
at::Tensor align_plain(const at::Tensor& map, const at::Tensor& boxes, float scale,
                       const RoiAlign& options) {
  const int64_t count = boxes.size(0), height = map.size(1), width = map.size(2);
  const at::Tensor rows = at::empty({count, options.side, height}, at::kFloat);
  const at::Tensor columns = at::empty({count, options.side, width}, at::kFloat);
  std::vector<at::Tensor> out;
  for (int64_t r = 0; r < count; ++r) {
    const float* box = boxes.data_ptr<float>() + r * 5;
    const auto fill = [&](const float* low, int64_t size, const at::Tensor& to) {
      roi_axis_weights(low[0], low[2], scale, options.side, options.sampling_ratio, size,
                       to.data_ptr<float>() + r * to.stride(0));
      return to[r].to(map.options());
    };
    const at::Tensor image = map[static_cast<int64_t>(box[0])];
    const at::Tensor high = at::matmul(fill(box + 2, height, rows), image.flatten(1, 2));
    out.push_back(
        at::matmul(fill(box + 1, width, columns), high.view({options.side, width, image.size(2)})));
  }
  return at::stack(out);
}

}  // namespace

at::Tensor roi_align(const std::vector<at::Tensor>& maps, const at::Tensor& boxes,
                     const RoiAlign& options, bool kernels) {
  if (maps.empty() || maps.size() != options.scales.size() || boxes.dim() != 2 ||
      boxes.size(1) != 5) {
    fail(
        "[roi_align] {} maps, {} scales and boxes of {} values, expected as many scales as maps "
        "and boxes of 5",
        maps.size(), options.scales.size(), boxes.size(-1));
  }
  const at::Tensor all = boxes.detach().to(at::kCPU, at::kFloat).contiguous();
  const auto levels = static_cast<int>(maps.size());
  std::vector<std::vector<int64_t>> of_level(maps.size());
  for (int64_t r = 0; r < all.size(0); ++r) {
    const float* box = all.data_ptr<float>() + r * 5;
    if (!(box[0] >= 0 && box[0] < static_cast<float>(maps[0].size(0)))) {
      fail("[roi_align] image {} of box {}, expected one of {}", box[0], r, maps[0].size(0));
    }
    of_level[static_cast<size_t>(roi_level(box + 1, options.finest_scale, levels))].push_back(r);
  }
  // Level by level, then in the order of the boxes.
  std::vector<at::Tensor> parts;
  std::vector<int64_t> positions(static_cast<size_t>(all.size(0)));
  int64_t done = 0;
  for (size_t l = 0; l < maps.size(); ++l) {
    if (of_level[l].empty()) continue;
    for (const int64_t r : of_level[l]) positions[static_cast<size_t>(r)] = done++;
    const at::Tensor mine = all.index_select(0, at::tensor(of_level[l], at::kLong));
    const bool fast = kernels && maps[l].device().is_cpu() && maps[l].scalar_type() == at::kFloat;
    parts.push_back(fast ? LevelAlign::apply(maps[l].contiguous(), mine,
                                             static_cast<double>(options.scales[l]),
                                             static_cast<int64_t>(options.side),
                                             static_cast<int64_t>(options.sampling_ratio))
                         : align_plain(maps[l], mine, options.scales[l], options));
  }
  if (parts.empty()) {
    return at::empty({0, options.side, options.side, maps[0].size(3)}, maps[0].options());
  }
  const at::Tensor order = at::tensor(positions, at::kLong).to(maps[0].device());
  return at::cat(parts, 0).index_select(0, order);
}

}  // namespace vig::train
