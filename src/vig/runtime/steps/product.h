// A matrix product: linear layers, and convolutions on gathered patches.
#pragma once

#include "vig/kernels/gemm.h"
#include "vig/runtime/step.h"

namespace vig {

class ProductStep final : public Step {
 public:
  struct Spec {
    int in = -1, out = -1;
    int weight = -1, bias = -1;  // parameter indices; the bias may be -1
    int residual = -1;           // value that is added, or -1
    Elementwise function = Elementwise::kIdentity;
    bool paired = false;  // function(first half) * second half
  };
  explicit ProductStep(const Spec& spec) : Step(spec.out), spec_(spec) {}

  const Spec& spec() const { return spec_; }
  std::vector<int> operands() const override;
  const char* kind() const override;
  std::optional<Packing> packing(const std::vector<ParamSpec>& params) const override;
  void pack(const std::vector<ParamSpec>& params, const Weights& weights, float* to) const override;
  void bind(const Bindings& bindings) override;
  void run(const Bindings& bindings, const Tile& tile) const override;
  bool has_columns() const override { return true; }
  int64_t column_blocks() const override;

 private:
  Spec spec_;
  PackedMatrix matrix_;
};

}  // namespace vig
