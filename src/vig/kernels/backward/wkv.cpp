#include "vig/kernels/backward/wkv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/wkv.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/wkv-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// Floats of a token and a vector of channels: four sums with their exponent, and what the first
// pass leaves to the second, g and g y with their exponent.
constexpr size_t kFarFloats = 5 * kRowLanes;
constexpr size_t kKeptFloats = 3 * kRowLanes;

// One vector of channels; load and store act on those that exist.
template <bool kReleased, class Load, class Store>
HWY_INLINE void run_channels_back(const WkvBackwardArgs& args, size_t i, size_t width,
                                  const Load& load, const Store& store) {
  using Tangents = WideSum<4, true>;  // upper and lower sum, and their derivatives by w
  using Sum = WideSum<2, false>;
  const RowTag d;
  const WkvArgs& wkv = args.wkv;
  const Weights weights(wkv.decay + i, wkv.first + i, width, wkv.tokens, kReleased);
  float* kept = args.scratch + static_cast<size_t>(wkv.tokens) * kFarFloats;
  RowVec dw = hn::Zero(d), du = hn::Zero(d);

  const auto key_term = [&](int64_t t, Tangents& sum) HWY_ATTR {
    const Exponential key(load(wkv.k + t * wkv.k_stride + i));
    sum.part[0] = hn::Mul(key.mantissa, load(wkv.v + t * wkv.v_stride + i));
    sum.part[1] = key.mantissa;
    sum.part[2] = sum.part[3] = hn::Zero(d);
    sum.exponent = key.exponent;
  };
  const auto keep = [&](int64_t t, const Tangents& sum) HWY_ATTR {
    const RowVec y = hn::Div(sum.part[0], sum.part[1]);
    const RowVec g = hn::Div(load(args.dy + t * args.dy_stride + i), sum.part[1]);
    dw = hn::MulAdd(g, hn::NegMulAdd(y, sum.part[3], sum.part[2]), dw);
    // e^{u + k_t} relative to the lower sum.
    const Exponential key(load(wkv.k + t * wkv.k_stride + i));
    const RowVec exponent = hn::Add(key.exponent, hn::LoadU(d, weights.own.exponent));
    const RowVec own = hn::Mul(hn::Mul(key.mantissa, hn::LoadU(d, weights.own.mantissa)),
                               power_of_two(hn::Sub(exponent, sum.exponent)));
    const RowVec v = load(wkv.v + t * wkv.v_stride + i);
    du = hn::MulAdd(hn::Mul(g, own), hn::Sub(v, y), du);
    Sum term;
    term.part[0] = g;
    term.part[1] = hn::Mul(g, y);
    term.exponent = hn::Neg(sum.exponent);
    term.normalise();
    term.store(kept + static_cast<size_t>(t) * kKeptFloats);
  };
  weighted_sums<kReleased, false, 4, true>(weights, args.scratch, key_term, keep);

  const auto kept_term = [&](int64_t t, Sum& sum)
                             HWY_ATTR { sum.load(kept + static_cast<size_t>(t) * kKeptFloats); };
  const auto use = [&](int64_t t, const Sum& sum) HWY_ATTR {
    const Exponential key(load(wkv.k + t * wkv.k_stride + i));
    const RowVec v = load(wkv.v + t * wkv.v_stride + i);
    // No weight is above 1, so that this is no large number.
    const RowVec weight = hn::Mul(key.mantissa, power_of_two(hn::Add(key.exponent, sum.exponent)));
    store(hn::Mul(weight, sum.part[0]), args.dv + t * args.dv_stride + i);
    store(hn::Mul(weight, hn::MulSub(v, sum.part[0], sum.part[1])),
          args.dk + t * args.dk_stride + i);
  };
  weighted_sums<kReleased, true, 2, false>(weights, args.scratch, kept_term, use);

  const RowVec share = hn::Set(d, 1.0f / static_cast<float>(wkv.tokens));
  store(hn::MulAdd(dw, share, load(args.ddecay + i)), args.ddecay + i);
  store(hn::MulAdd(du, share, load(args.dfirst + i)), args.dfirst + i);
}

}  // namespace

size_t wkv_back_floats(int64_t tokens) {
  return static_cast<size_t>(tokens) * (kFarFloats + kKeptFloats);
}

void run_wkv_back(const WkvBackwardArgs& args) {
  if (args.wkv.tokens == 0) return;
  const size_t channels = static_cast<size_t>(args.wkv.channels);
  for_each_vector(channels, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
    args.wkv.released ? run_channels_back<true>(args, i, channels - i, load, store)
                      : run_channels_back<false>(args, i, channels - i, load, store);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(wkv_back_floats);
HWY_EXPORT(run_wkv_back);

size_t wkv_backward_floats(int64_t tokens) { return HWY_DYNAMIC_DISPATCH(wkv_back_floats)(tokens); }

void wkv_backward(const WkvBackwardArgs& args) { HWY_DYNAMIC_DISPATCH(run_wkv_back)(args); }

}  // namespace vig
#endif  // HWY_ONCE
