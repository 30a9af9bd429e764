// Operators of ONNX for evaluator.h that do more than move values, by plain loops.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "onnx/onnx_tensor.h"

namespace vig::test {

// The attributes of a node, with the standard's defaults for those that are not there.
class OnnxAttributes {
 public:
  explicit OnnxAttributes(const ::onnx::NodeProto& node) : node_(node) {}

  int64_t number(const char* name, int64_t otherwise) const {
    const auto* found = find(name);
    return found == nullptr ? otherwise : found->i();
  }
  double real(const char* name, float otherwise) const {
    const auto* found = find(name);
    return found == nullptr ? otherwise : found->f();
  }
  std::string text(const char* name, const std::string& otherwise) const {
    const auto* found = find(name);
    return found == nullptr ? otherwise : found->s();
  }
  Dims integers(const char* name, const Dims& otherwise) const {
    const auto* found = find(name);
    return found == nullptr ? otherwise : Dims(found->ints().begin(), found->ints().end());
  }
  const ::onnx::GraphProto& graph(const char* name) const { return find(name)->g(); }

 private:
  const ::onnx::AttributeProto* find(const std::string& name) const {
    for (const auto& one : node_.attribute()) {
      if (one.name() == name) return &one;
    }
    return nullptr;
  }
  const ::onnx::NodeProto& node_;
};

// `bias` may be null.
Tensor conv(const OnnxAttributes& of, const Tensor& x, const Tensor& weight, const Tensor* bias);
Tensor conv_transpose(const OnnxAttributes& of, const Tensor& x, const Tensor& weight,
                      const Tensor& bias);
Tensor max_pool(const OnnxAttributes& of, const Tensor& x);
Tensor resize(const OnnxAttributes& of, const Tensor& x, const Dims& sizes);
Tensor grid_sample(const OnnxAttributes& of, const Tensor& x, const Tensor& positions);
Tensor layer_norm(const OnnxAttributes& of, const Tensor& x, const Tensor& scale,
                  const Tensor& bias);
// A value as bytes, their scale, and the byte that stands for zero; one scale for the whole value.
std::vector<Tensor> dynamic_quantize(const Tensor& x);
// Over the last axis.
Tensor softmax(const Tensor& x);
// com.microsoft.LinearAttention with gates: S = diag(e^g) S + k v^T, o = scale q S for every token.
std::vector<Tensor> linear_attention(const OnnxAttributes& of, const std::vector<Tensor>& in);

}  // namespace vig::test
