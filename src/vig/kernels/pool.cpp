#include "vig/kernels/pool.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/pool.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

void mean_of_rows(const float* rows, int64_t stride, int64_t count, int64_t channels, float* mean) {
  constexpr int64_t kBlock = 128;
  const RowTag d;
  for_each_vector(static_cast<size_t>(channels),
                  [&](size_t c, const auto& load, const auto& store) HWY_ATTR {
                    RowVec total = hn::Zero(d);
                    for (int64_t first = 0; first < count; first += kBlock) {
                      RowVec sum = hn::Zero(d);
                      for (int64_t r = first; r < std::min(count, first + kBlock); ++r) {
                        sum = hn::Add(sum, load(rows + r * stride + static_cast<int64_t>(c)));
                      }
                      total = hn::Add(total, sum);
                    }
                    store(hn::Mul(total, hn::Set(d, 1.0f / static_cast<float>(count))), mean + c);
                  });
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(mean_of_rows);

void mean_rows(const float* rows, int64_t stride, int64_t count, int64_t channels, float* mean) {
  HWY_DYNAMIC_DISPATCH(mean_of_rows)(rows, stride, count, channels, mean);
}

}  // namespace vig
#endif  // HWY_ONCE
