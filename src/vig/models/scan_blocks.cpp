#include "vig/models/scan_blocks.h"

#include <cmath>

namespace vig {
namespace {

void fill_step_bias(const FreshParam& param, float least, float most) {
  for (size_t i = 0; i < param.values.size(); ++i) {
    const double unit = unit_open_above(param.random.bits_at(i));
    const double step = std::exp(std::log(least) + unit * (std::log(most) - std::log(least)));
    // The inverse of softplus.
    param.values[i] = static_cast<float>(step + std::log(-std::expm1(-step)));
  }
}

}  // namespace

Init step_bias_init() { return {fill_step_bias, 0.001f, 0.1f}; }

Init step_weight_init(int rank) { return fan_in_uniform(rank); }

}  // namespace vig
