// Derivatives by finite differences, to check the reference implementations of backward kernels.
#pragma once

namespace vig::test {

// d value() / d x by five points. Forward references round to float, hence a large step h: the
// error is the fifth derivative times h^4 / 30 = 3e-8, plus a few roundings of 6e-8 divided by h,
// 2e-6 each.
template <class F>
double slope(float& x, const F& value) {
  constexpr float kStep = 0x1p-5f;
  const float at = x;
  const auto rise = [&](float step) {
    x = at + step;
    const double above = value();
    x = at - step;
    const double below = value();
    x = at;
    return above - below;
  };
  return (8.0 * rise(kStep) - rise(2.0f * kStep)) / (12.0 * static_cast<double>(kStep));
}

}  // namespace vig::test
