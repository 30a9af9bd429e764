// The elementary functions of kernels/math-inl.h in double, straight from their definitions.
#pragma once

#include <cmath>

namespace vig::reference {

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
inline double silu(double x) { return x * sigmoid(x); }
// erfc keeps its digits where 1 + erf would cancel.
inline double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
inline double log_sigmoid(double x) {
  return (x < 0.0 ? x : 0.0) - std::log1p(std::exp(-std::fabs(x)));
}
inline double decay(double x) { return std::exp(log_sigmoid(x) / 16.0); }

}  // namespace vig::reference
