#include "vig/kernels/s4_taps.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>

#include "vig/base/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/s4_taps.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#ifndef VIG_KERNELS_S4_TAPS_ONCE_
#define VIG_KERNELS_S4_TAPS_ONCE_
namespace vig {
namespace {

// What one channel works on. Arrays over nodes and taps have room for whole vectors.
struct S4Channel {
  int64_t pairs = 0;
  int64_t sums = 0;                                // of the kind s(b, c)
  const double *decay = nullptr, *size = nullptr;  // [pairs]: 2 Re(a) and |a|^2 of a = dt lambda
  // [sums, pairs]: 2 Re(b c) and 2 Re(b c conj a), for which the terms of a conjugate pair add up
  // to (alpha (1 - x) - beta (1 + x) / 2) / ((1 - x)^2 - decay (1 - x) (1 + x) / 2
  //                                       + size (1 + x)^2 / 4).
  const double *alpha = nullptr, *beta = nullptr;
  double *real = nullptr, *imag = nullptr;  // [sums, padded nodes]: the results
};

// Doubles of the widest vector, to which arrays are filled up.
constexpr int64_t kMostLanes = 8;
constexpr int64_t padded(int64_t n) { return (n + kMostLanes - 1) / kMostLanes * kMostLanes; }

}  // namespace
}  // namespace vig
#endif

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<double, kMostLanes>;
using Vec = hn::Vec<Tag>;

struct Complex {
  Vec re, im;
};
HWY_INLINE Complex times(Complex a, Complex b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
          hn::MulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}

}  // namespace

// All sums of a channel at every node.
void sum_states(const S4Channel& args, const double* x_real, const double* x_imag, int64_t nodes,
                double* scratch) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t q = 0; q < nodes; q += lanes) {
    const Vec one = hn::Set(d, 1.0), half = hn::Set(d, 0.5);
    const Complex x = {hn::LoadU(d, x_real + q), hn::LoadU(d, x_imag + q)};
    const Complex p = {hn::Sub(one, x.re), hn::Neg(x.im)};
    const Complex s = {hn::Mul(half, hn::Add(one, x.re)), hn::Mul(half, x.im)};
    const Complex pp = times(p, p), ps = times(p, s), ss = times(s, s);
    // p and s over the denominator of each pair of states.
    for (int64_t n = 0; n < args.pairs; ++n) {
      const Vec decay = hn::Set(d, args.decay[n]), size = hn::Set(d, args.size[n]);
      const Vec re = hn::MulAdd(size, ss.re, hn::NegMulAdd(decay, ps.re, pp.re));
      const Vec im = hn::MulAdd(size, ss.im, hn::NegMulAdd(decay, ps.im, pp.im));
      const Vec over = hn::Div(one, hn::MulAdd(re, re, hn::Mul(im, im)));
      const Complex inverse = {hn::Mul(re, over), hn::Neg(hn::Mul(im, over))};
      const Complex first = times(p, inverse), second = times(s, inverse);
      double* const to = scratch + n * 4 * lanes;
      hn::StoreU(first.re, d, to);
      hn::StoreU(first.im, d, to + lanes);
      hn::StoreU(second.re, d, to + 2 * lanes);
      hn::StoreU(second.im, d, to + 3 * lanes);
    }
    for (int64_t k = 0; k < args.sums; ++k) {
      Complex sum = {hn::Zero(d), hn::Zero(d)};
      for (int64_t n = 0; n < args.pairs; ++n) {
        const double* const from = scratch + n * 4 * lanes;
        const Vec alpha = hn::Set(d, args.alpha[k * args.pairs + n]);
        const Vec beta = hn::Set(d, args.beta[k * args.pairs + n]);
        sum.re = hn::MulAdd(alpha, hn::LoadU(d, from), sum.re);
        sum.im = hn::MulAdd(alpha, hn::LoadU(d, from + lanes), sum.im);
        sum.re = hn::NegMulAdd(beta, hn::LoadU(d, from + 2 * lanes), sum.re);
        sum.im = hn::NegMulAdd(beta, hn::LoadU(d, from + 3 * lanes), sum.im);
      }
      hn::StoreU(sum.re, d, args.real + k * padded(nodes) + q);
      hn::StoreU(sum.im, d, args.imag + k * padded(nodes) + q);
    }
  }
}

// out[j] = sum over q of real[q, j] f_real[q] + imag[q, j] f_imag[q], j < width, a whole number of
// vectors.
void synthesise(const double* real, const double* imag, int64_t width, const double* f_real,
                const double* f_imag, int64_t nodes, double* out) {
  const Tag d;
  for (int64_t j = 0; j < width; j += static_cast<int64_t>(hn::Lanes(d))) {
    Vec sum = hn::Zero(d);
    for (int64_t q = 0; q < nodes; ++q) {
      sum = hn::MulAdd(hn::Set(d, f_real[q]), hn::LoadU(d, real + q * width + j), sum);
      sum = hn::MulAdd(hn::Set(d, f_imag[q]), hn::LoadU(d, imag + q * width + j), sum);
    }
    hn::StoreU(sum, d, out + j);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {
namespace {

using Number = std::complex<double>;

HWY_EXPORT(sum_states);
HWY_EXPORT(synthesise);

// `count` rows of `width` values, each filled up with zeros.
std::vector<double> with_padding(const std::vector<double>& rows, int64_t count, int64_t width) {
  std::vector<double> wide(static_cast<size_t>(count * padded(width)), 0.0);
  for (int64_t row = 0; row < count; ++row) {
    std::copy_n(rows.begin() + row * width, width, wide.begin() + row * padded(width));
  }
  return wide;
}

Number number(const float* pair) { return {pair[0], pair[1]}; }

// Sums of a channel: s(B, C_r) of each row, s(P, C_r) of each row, s(B, conj P), s(P, conj P).
class Sums {
 public:
  explicit Sums(const S4TapsArgs& args)
      : args_(args),
        alpha_(static_cast<size_t>(count() * args.pairs)),
        beta_(alpha_.size()),
        decay_(static_cast<size_t>(args.pairs)),
        size_(decay_.size()) {}

  int64_t count() const { return 2 * args_.rows + 2; }

  void set(int64_t h, double dt) {
    const int64_t system = h % args_.systems;
    for (int64_t n = 0; n < args_.pairs; ++n) {
      const int64_t at = system * args_.pairs + n;
      const Number a = dt * Number(-std::exp(double{args_.a_real[at]}), -args_.a_imag[at]);
      const Number b = number(args_.b + 2 * at), p = number(args_.p + 2 * at);
      decay_[static_cast<size_t>(n)] = 2.0 * a.real();
      size_[static_cast<size_t>(n)] = std::norm(a);
      for (int64_t r = 0; r < args_.rows; ++r) {
        const Number c = number(args_.c + 2 * ((r * args_.channels + h) * args_.pairs + n));
        put(r, n, b * c, a);
        put(args_.rows + r, n, p * c, a);
      }
      put(2 * args_.rows, n, b * std::conj(p), a);
      put(2 * args_.rows + 1, n, p * std::conj(p), a);
    }
  }
  S4Channel channel() const {
    S4Channel made;
    made.pairs = args_.pairs;
    made.sums = count();
    made.decay = decay_.data();
    made.size = size_.data();
    made.alpha = alpha_.data();
    made.beta = beta_.data();
    return made;
  }

 private:
  void put(int64_t sum, int64_t n, Number product, Number a) {
    const auto at = static_cast<size_t>(sum * args_.pairs + n);
    alpha_[at] = 2.0 * product.real();
    beta_[at] = 2.0 * (product * std::conj(a)).real();
  }

  const S4TapsArgs& args_;
  std::vector<double> alpha_, beta_, decay_, size_;
};

}  // namespace

int64_t s4_kernel_length(float l_kernel) {
  const float whole = std::round(l_kernel);
  if (!(whole >= 0.0f && whole <= static_cast<float>(kMostS4Taps))) {
    fail("[s4_conv] l_kernel is {}, expected 0 to {}", l_kernel, kMostS4Taps);
  }
  return static_cast<int64_t>(whole);
}

S4Nodes s4_nodes(int64_t l_kernel, int64_t length) {
  constexpr double kLeft = 1e-10;  // of what comes after the taps, where they have no end
  const int64_t circle = l_kernel > 0 ? l_kernel : 2 * length;
  const double log_radius = l_kernel > 0 ? 0.0 : std::log(kLeft) / static_cast<double>(circle);
  const auto angle = [&](int64_t multiple) {
    return 2.0 * std::numbers::pi * static_cast<double>(multiple % circle) /
           static_cast<double>(circle);
  };
  S4Nodes nodes;
  for (int64_t q = 0; 2 * q <= circle; ++q) {
    nodes.x_real.push_back(std::exp(log_radius) * std::cos(angle(q)));
    nodes.x_imag.push_back(-std::exp(log_radius) * std::sin(angle(q)));
    // Nodes off the real axis stand for their conjugates, too.
    const double weight = (q == 0 || 2 * q == circle ? 1.0 : 2.0) / static_cast<double>(circle);
    for (int64_t j = 0; j < length; ++j) {
      const double growth =
          j < circle ? weight * std::exp(-log_radius * static_cast<double>(j)) : 0.0;
      nodes.real.push_back(growth * std::cos(angle(q * j)));
      nodes.imag.push_back(-growth * std::sin(angle(q * j)));
    }
  }
  return nodes;
}

void s4_taps(const S4TapsArgs& args) {
  const S4Nodes nodes = s4_nodes(args.l_kernel, args.length);
  const int64_t count = nodes.count(), room = padded(count), width = padded(args.length);
  const std::vector<double> x_real = with_padding(nodes.x_real, 1, count);
  const std::vector<double> x_imag = with_padding(nodes.x_imag, 1, count);
  const std::vector<double> real = with_padding(nodes.real, count, args.length);
  const std::vector<double> imag = with_padding(nodes.imag, count, args.length);
  Sums sums(args);
  std::vector<double> sum_real(static_cast<size_t>(sums.count() * room)), sum_imag(sum_real);
  std::vector<double> f_real(static_cast<size_t>(room)), f_imag(f_real);
  std::vector<double> scratch(static_cast<size_t>(4 * kMostLanes * args.pairs));
  std::vector<double> taps(static_cast<size_t>(width));
  for (int64_t h = 0; h < args.channels; ++h) {
    const double dt = std::exp(double{args.inv_dt[h]});
    sums.set(h, dt);
    S4Channel channel = sums.channel();
    channel.real = sum_real.data();
    channel.imag = sum_imag.data();
    HWY_DYNAMIC_DISPATCH(sum_states)
    (channel, x_real.data(), x_imag.data(), count, scratch.data());
    const auto sum = [&](int64_t k, int64_t q) {
      const auto at = static_cast<size_t>(k * room + q);
      return Number(sum_real[at], sum_imag[at]);
    };
    for (int64_t r = 0; r < args.rows; ++r) {
      for (int64_t q = 0; q < count; ++q) {
        const auto at = static_cast<size_t>(q);
        const Number k = 0.5 * dt * Number(1.0 + nodes.x_real[at], nodes.x_imag[at]);
        const Number low_rank = k * sum(args.rows + r, q) * sum(2 * args.rows, q) /
                                (1.0 + k * sum(2 * args.rows + 1, q));
        const Number f = dt * (sum(r, q) - low_rank);
        f_real[at] = f.real();
        f_imag[at] = f.imag();
      }
      HWY_DYNAMIC_DISPATCH(synthesise)
      (real.data(), imag.data(), width, f_real.data(), f_imag.data(), count, taps.data());
      for (int64_t j = 0; j < args.length; ++j) {
        args.taps[(r * args.length + j) * args.channels + h] =
            static_cast<float>(taps[static_cast<size_t>(j)]);
      }
    }
  }
}

}  // namespace vig
#endif  // HWY_ONCE
