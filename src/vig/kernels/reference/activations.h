// The elementary functions of kernels/math-inl.h in double, straight from their definitions.
#pragma once

#include <cmath>
#include <numbers>

#include "vig/base/elementwise.h"

namespace vig::reference {

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
inline double silu(double x) { return x * sigmoid(x); }
// erfc keeps its digits where 1 + erf would cancel.
inline double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
inline double log_sigmoid(double x) {
  return (x < 0.0 ? x : 0.0) - std::log1p(std::exp(-std::fabs(x)));
}
inline double decay(double x) { return std::exp(log_sigmoid(x) / 16.0); }

inline double apply(Elementwise function, double x) {
  switch (function) {
    case Elementwise::kIdentity:
      return x;
    case Elementwise::kRelu:
      return x < 0.0 ? 0.0 : x;
    case Elementwise::kRelu2:
      return x < 0.0 ? 0.0 : x * x;
    case Elementwise::kSilu:
      return silu(x);
    case Elementwise::kGelu:
      return gelu(x);
    case Elementwise::kSigmoid:
      return sigmoid(x);
    case Elementwise::kDecay:
      return decay(x);
  }
  return 0.0;
}

// Its derivative.
inline double slope(Elementwise function, double x) {
  switch (function) {
    case Elementwise::kIdentity:
      return 1.0;
    case Elementwise::kRelu:
      return x > 0.0 ? 1.0 : 0.0;
    case Elementwise::kRelu2:
      return x > 0.0 ? 2.0 * x : 0.0;
    case Elementwise::kSilu:
      return sigmoid(x) + x * sigmoid(x) * sigmoid(-x);
    case Elementwise::kGelu:
      return 0.5 * std::erfc(-x / std::numbers::sqrt2) +
             x * std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
    case Elementwise::kSigmoid:
      return sigmoid(x) * sigmoid(-x);
    case Elementwise::kDecay:
      return decay(x) * sigmoid(-x) / 16.0;
  }
  return 0.0;
}

}  // namespace vig::reference
