// Derivatives by finite differences, to check the reference implementations of backward kernels.
#pragma once

namespace vig::test {

// d value() / d x by five points. Forward references round to float, hence a large difference h:
// the error is the fifth derivative times h^4 / 30 = 3e-8, plus a few roundings of 6e-8 divided by
// h, 2e-6 each.
template <class F>
double slope(float& x, const F& value) {
  constexpr float kDifference = 0x1p-5f;
  const float at = x;
  const auto rise = [&](float difference) {
    x = at + difference;
    const double above = value();
    x = at - difference;
    const double below = value();
    x = at;
    return above - below;
  };
  return (8.0 * rise(kDifference) - rise(2.0f * kDifference)) /
         (12.0 * static_cast<double>(kDifference));
}

}  // namespace vig::test
