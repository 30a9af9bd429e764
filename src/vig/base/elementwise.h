// The functions of one number that networks apply to every element: one list for graph, kernels and
// training.
#pragma once

namespace vig {

enum class Elementwise {
  kIdentity,
  kRelu,     // max(x, 0)
  kRelu2,    // max(x, 0)^2
  kSilu,     // x sigmoid(x)
  kGelu,     // x / 2 (1 + erf(x / sqrt 2)), the exact one
  kSigmoid,  // 1 / (1 + e^-x)
  kDecay,    // exp(logsigmoid(x) / 16): the gate of the scan
};

inline constexpr Elementwise kElementwise[] = {
    Elementwise::kIdentity, Elementwise::kRelu,    Elementwise::kRelu2, Elementwise::kSilu,
    Elementwise::kGelu,     Elementwise::kSigmoid, Elementwise::kDecay};

inline const char* elementwise_name(Elementwise function) {
  switch (function) {
    case Elementwise::kIdentity:
      return "identity";
    case Elementwise::kRelu:
      return "relu";
    case Elementwise::kRelu2:
      return "relu2";
    case Elementwise::kSilu:
      return "silu";
    case Elementwise::kGelu:
      return "gelu";
    case Elementwise::kSigmoid:
      return "sigmoid";
    case Elementwise::kDecay:
      return "decay";
  }
  return "";
}

}  // namespace vig
