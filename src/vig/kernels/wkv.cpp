#include "vig/kernels/wkv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/wkv.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/wkv-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// One vector of channels; load and store act on those that exist.
template <bool kReleased, class Load, class Store>
HWY_INLINE void run_channels(const WkvArgs& args, size_t i, size_t width, const Load& load,
                             const Store& store) {
  using Sum = WideSum<2, false>;
  const Weights weights(args.decay + i, args.first + i, width, args.tokens, kReleased);
  const auto term = [&](int64_t t, Sum& sum) HWY_ATTR {
    const Exponential key(load(args.k + t * args.k_stride + i));
    sum.part[0] = hn::Mul(key.mantissa, load(args.v + t * args.v_stride + i));
    sum.part[1] = key.mantissa;
    sum.exponent = key.exponent;
  };
  const auto use = [&](int64_t t, const Sum& sum) HWY_ATTR {
    RowVec y = hn::Div(sum.part[0], sum.part[1]);
    if (args.gate != nullptr) y = hn::Mul(y, sigmoid(load(args.gate + t * args.gate_stride + i)));
    store(y, args.y + t * args.y_stride + i);
  };
  weighted_sums<kReleased, false, 2, false>(weights, args.scratch, term, use);
}

}  // namespace

size_t wkv_floats(int64_t tokens) { return static_cast<size_t>(tokens) * 3 * kRowLanes; }

void run_wkv(const WkvArgs& args) {
  const size_t channels = static_cast<size_t>(args.channels);
  for_each_vector(channels, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
    args.released ? run_channels<true>(args, i, channels - i, load, store)
                  : run_channels<false>(args, i, channels - i, load, store);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(wkv_floats);
HWY_EXPORT(run_wkv);

size_t wkv_scratch_floats(int64_t tokens) { return HWY_DYNAMIC_DISPATCH(wkv_floats)(tokens); }

void wkv(const WkvArgs& args) { HWY_DYNAMIC_DISPATCH(run_wkv)(args); }

}  // namespace vig
#endif  // HWY_ONCE
