// How a fresh model fills a parameter: by a rule, which is a plain function. The rules that many
// families need are here; a family writes its own beside its network:
//
//   void log_counts(const FreshParam& p, float, float) {  // log(1 .. n) in each row
//     const int64_t n = p.shape[-1];
//     for (size_t i = 0; i < p.values.size(); ++i) p.values[i] = std::log(1.0f + i % n);
//   }
//
// and gives Init{log_counts} to the function of the Builder that declares the parameter.
#pragma once

#include <cstdint>
#include <span>

#include "vig/base/random.h"
#include "vig/graph/param.h"

namespace vig {

// A parameter that a rule is to fill.
struct FreshParam {
  std::span<float> values;
  const Shape& shape;
  RandomStream random;  // its own: a function of the seed and of the parameter's name
};

}  // namespace vig
