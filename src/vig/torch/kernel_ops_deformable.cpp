// The sampling of multi-scale deformable attention. Kept are the inputs; weights and positions are
// computed again.
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "vig/kernels/backward/deformable.h"
#include "vig/torch/kernel_ops.h"

namespace vig::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// The op as integers that autograd can keep: heads, points, how many levels, then the sizes of all
// grids.
std::vector<int64_t> integers_of(const DeformableOp& op) {
  std::vector<int64_t> integers = {op.heads, op.points, static_cast<int64_t>(op.levels.size())};
  for (const auto* grids : {&op.levels, &op.queries}) {
    for (const GridSize& grid : *grids) {
      integers.push_back(grid.height);
      integers.push_back(grid.width);
    }
  }
  return integers;
}

// The call of the kernel for one image after the other.
class Call {
 public:
  Call(const at::Tensor& values, const at::Tensor& offsets, const at::Tensor& logits,
       const std::vector<int64_t>& integers)
      : values_(values), offsets_(offsets), logits_(logits) {
    for (size_t i = 3; i < integers.size(); i += 2)
      grids_.push_back({integers[i], integers[i + 1]});
    args_.levels = grids_.data();
    args_.level_count = integers[2];
    args_.queries = grids_.data() + args_.level_count;
    args_.query_grids = static_cast<int64_t>(grids_.size()) - args_.level_count;
    args_.heads = integers[0];
    args_.points = integers[1];
    args_.values_stride = args_.out_stride = values.size(3);
    args_.head_dim = values.size(3) / args_.heads;
    args_.offsets_stride = offsets.size(3);
    args_.logits_stride = logits.size(3);
    args_.last_query = offsets.size(1) * offsets.size(2);
  }
  Call(const Call&) = delete;

  template <class T>
  static T* of_image(const at::Tensor& tensor, int64_t image) {
    return tensor.data_ptr<float>() + image * tensor.stride(0);
  }

  const DeformableArgs& of_image(int64_t image) {
    args_.values = of_image<const float>(values_, image);
    args_.offsets = of_image<const float>(offsets_, image);
    args_.logits = of_image<const float>(logits_, image);
    return args_;
  }

 private:
  const at::Tensor &values_, &offsets_, &logits_;
  std::vector<DeformableGrid> grids_;
  DeformableArgs args_;
};

struct Deformable : Function<Deformable> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& values,
                            const at::Tensor& offsets, const at::Tensor& logits,
                            const std::vector<int64_t>& integers) {
    at::Tensor out = at::empty({offsets.size(0), offsets.size(1), offsets.size(2), values.size(3)},
                               values.options());
    Call call(values, offsets, logits, integers);
    for (int64_t i = 0; i < values.size(0); ++i) {
      DeformableArgs args = call.of_image(i);
      args.out = Call::of_image<float>(out, i);
      vig::deformable(args);
    }
    ctx->save_for_backward({values, offsets, logits});
    ctx->saved_data["integers"] = integers;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &values = saved[0], &offsets = saved[1], &logits = saved[2];
    const at::Tensor grad_out = grads[0].contiguous();
    at::Tensor dvalues = at::zeros_like(values);
    at::Tensor doffsets = at::empty_like(offsets), dlogits = at::empty_like(logits);
    Call call(values, offsets, logits, ctx->saved_data["integers"].toIntVector());
    for (int64_t i = 0; i < values.size(0); ++i) {
      DeformableBackwardArgs args;
      args.forward = call.of_image(i);
      args.grad_out = Call::of_image<const float>(grad_out, i);
      args.grad_out_stride = args.dvalues_stride = values.size(3);
      args.dvalues = Call::of_image<float>(dvalues, i);
      args.doffsets = Call::of_image<float>(doffsets, i);
      args.doffsets_stride = offsets.size(3);
      args.dlogits = Call::of_image<float>(dlogits, i);
      args.dlogits_stride = logits.size(3);
      deformable_backward(args);
    }
    return {dvalues, doffsets, dlogits, {}};
  }
};

}  // namespace

at::Tensor KernelOps::deformable(const at::Tensor& values, const at::Tensor& offsets,
                                 const at::Tensor& logits, const DeformableOp& op) {
  return Deformable::apply(values.contiguous(), offsets.contiguous(), logits.contiguous(),
                           integers_of(op));
}

}  // namespace vig::train
