// A matrix product: linear layers, and the 1 x 1 convolutions that are the same.
#pragma once

#include "vig/kernels/gemm.h"
#include "vig/runtime/calls/batch_norm.h"

namespace vig {

class ProductCall final : public KernelCall {
 public:
  struct Spec {
    int in = -1, out = -1;
    int weight = -1, bias = -1;  // parameter indices; the bias may be -1
    BatchNormParams norm;        // folded into the weights, if there is one
    int groups = 1;              // of columns, each with its own weights and results
    int first = 0;               // column of `in` that the first group reads
    int stride = 0;              // from the columns of a group to those of the next
    int residual = -1;           // value that is added, or -1
    Elementwise function = Elementwise::kIdentity;
    bool paired = false;  // function(first half) * second half
  };
  explicit ProductCall(const Spec& spec) : KernelCall(spec.out), spec_(spec) {}
  // What a linear layer reads.
  static Spec of_linear(const Node& node);

  const Spec& spec() const { return spec_; }
  std::vector<int> operands() const override;
  const char* kind() const override;
  std::optional<Packing> packing(const std::vector<ParamSpec>& params) const override;
  void pack(const std::vector<ParamSpec>& params, const Weights& weights, void* to) const override;
  void bind(const Operands& operands) override;
  void run(const Bindings& bindings, const Tile& tile) const override;
  bool has_columns() const override { return true; }
  int64_t column_blocks() const override;

 private:
  void run_group(const Bindings& bindings, const Tile& tile, int64_t group) const;

  Spec spec_;
  PackedMatrix matrix_;       // of the first group
  int64_t group_floats_ = 0;  // from the panels of one group to the next
};

// The product of the node that is being lowered, with all that is fused behind it.
ProductCall::Spec product_spec(const Lowering& to);
void add_product(Lowering& to);

}  // namespace vig
