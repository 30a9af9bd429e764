#include "vig/kernels/rotary.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/rotary.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

void turn_rows(const RotaryArgs& args) {
  for (int64_t r = 0; r < args.rows; ++r) {
    const float *x = args.in + r * args.in_stride, *c = args.cos + r * args.channels,
                *s = args.sin + r * args.channels;
    float* const y = args.out + r * args.out_stride;
#if HWY_TARGET == HWY_SCALAR
    for (int64_t i = 0; i < args.channels; i += 2) {
      const float even = x[i], odd = x[i + 1];
      y[i] = even * c[i] + odd * s[i];
      y[i + 1] = odd * c[i + 1] + even * s[i + 1];
    }
#else
    for_each_vector(static_cast<size_t>(args.channels),
                    [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
                      const RowVec v = load(x + i);
                      const RowVec other = hn::Reverse2(RowTag(), v);
                      store(hn::MulAdd(other, load(s + i), hn::Mul(v, load(c + i))), y + i);
                    });
#endif
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(turn_rows);

void rotary_signs(const float* sin, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = i % 2 == 0 ? -sin[i] : sin[i];
}

void rotary(const RotaryArgs& args) { HWY_DYNAMIC_DISPATCH(turn_rows)(args); }

}  // namespace vig
#endif  // HWY_ONCE
