#include "vig/kernels/backward/pointwise.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/pointwise.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/math-inl.h"
#include "vig/kernels/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// da = dy * slope(a).
template <class F>
HWY_INLINE void map_slope(const PointwiseBackwardArgs& args, const F& slope) {
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* a = args.a.data + r * args.a.stride;
    const float* dy = args.dy.data + r * args.dy.stride;
    float* da = args.da + r * args.da_stride;
    for_each_vector(static_cast<size_t>(args.channels),
                    [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
                      const RowVec d_out = load(dy + i);
                      store(hn::Mul(d_out, slope(load(a + i))), da + i);
                    });
  }
}

struct Pair {
  RowVec a, b;
};

// da, db = f(a, b, dy).
template <class F>
HWY_INLINE void map_pair(const PointwiseBackwardArgs& args, const F& f) {
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* a = args.a.data + r * args.a.stride;
    const float* b = args.b.data + r * args.b.stride;
    const float* dy = args.dy.data + r * args.dy.stride;
    float* da = args.da + r * args.da_stride;
    float* db = args.db + r * args.db_stride;
    for_each_vector(static_cast<size_t>(args.channels),
                    [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
                      const Pair d = f(load(a + i), load(b + i), load(dy + i));
                      store(d.a, da + i);
                      store(d.b, db + i);
                    });
  }
}

void map_backward(const PointwiseBackwardArgs& args) {
  with_function(args.kind.function, [&](auto function) HWY_ATTR {
    using F = decltype(function);
    switch (args.kind.combine) {
      case Combine::kNone:
        return map_slope(args, [](RowVec a) HWY_ATTR { return F::slope(a); });
      case Combine::kAdd:
        return map_pair(args, [](RowVec a, RowVec, RowVec dy) HWY_ATTR {
          return Pair{hn::Mul(dy, F::slope(a)), dy};
        });
      case Combine::kMul:
        return map_pair(args, [](RowVec a, RowVec b, RowVec dy) HWY_ATTR {
          return Pair{hn::Mul(hn::Mul(dy, b), F::slope(a)), hn::Mul(dy, F::value(a))};
        });
    }
  });
}

// Where the gradient of a weight is summed, it is read and written once for so many rows.
constexpr int kTogether = 4;

template <int kRows>
void scale_block(const ScaleBackwardArgs& args, int64_t first) {
  const RowTag d;
  for_each_vector(static_cast<size_t>(args.channels),
                  [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
                    const int64_t at = static_cast<int64_t>(i);
                    const RowVec weight = load(args.weight + i);
                    RowVec dweight = hn::Zero(d);
#pragma GCC unroll 16
                    for (int k = 0; k < kRows; ++k) {
                      const int64_t r = first + k;
                      const RowVec dy = load(args.dy.data + r * args.dy.stride + at);
                      dweight = hn::MulAdd(dy, load(args.x.data + r * args.x.stride + at), dweight);
                      store(hn::Mul(dy, weight), args.dx + r * args.dx_stride + at);
                    }
                    store(hn::Add(load(args.dweight + i), dweight), args.dweight + i);
                  });
}

void scale_rows(const ScaleBackwardArgs& args) {
  int64_t r = 0;
  for (; r + kTogether <= args.rows; r += kTogether) scale_block<kTogether>(args, r);
  for (; r < args.rows; ++r) scale_block<1>(args, r);
}

void column_sums(const float* rows, int64_t stride, int64_t count, int64_t channels, float* sums) {
  constexpr int64_t kBlock = 128;
  constexpr size_t kAbreast = 4;  // vectors, so that a row's cache lines are used when they come
  const RowTag d;
  const size_t n = static_cast<size_t>(channels), lanes = hn::Lanes(d);
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t last = std::min(count, first + kBlock);
    size_t c = 0;
    for (; c + kAbreast * lanes <= n; c += kAbreast * lanes) {
      RowVec sum[kAbreast];
#pragma GCC unroll 16
      for (size_t k = 0; k < kAbreast; ++k) sum[k] = hn::Zero(d);
      for (int64_t r = first; r < last; ++r) {
        const float* row = rows + r * stride + c;
#pragma GCC unroll 16
        for (size_t k = 0; k < kAbreast; ++k) {
          sum[k] = hn::Add(sum[k], hn::LoadU(d, row + k * lanes));
        }
      }
#pragma GCC unroll 16
      for (size_t k = 0; k < kAbreast; ++k) {
        float* to = sums + c + k * lanes;
        hn::StoreU(hn::Add(hn::LoadU(d, to), sum[k]), d, to);
      }
    }
    for_each_vector(n - c, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
      RowVec sum = hn::Zero(d);
      for (int64_t r = first; r < last; ++r) sum = hn::Add(sum, load(rows + r * stride + c + i));
      store(hn::Add(load(sums + c + i), sum), sums + c + i);
    });
  }
}

// One operand of the gated mix in one head of a row. Where it is normalised, d_x holds the gradient
// of x / root(x) until the whole head is known.
struct Side {
  const float* x;
  float* d_x;
  RowVec scale;  // 1 / root(x); 1 without a norm
  RowVec dot;    // of x * scale and the gradient of that

  HWY_INLINE Side() {}  // an implicit one would not be compiled for the target
};

HWY_INLINE Side side(const Rows& x, float* d_x, int64_t d_x_stride, int64_t row, int64_t at,
                     size_t n, const float* weight, float eps) {
  const RowTag d;
  Side s;
  s.x = x.data + row * x.stride + at;
  s.d_x = d_x + row * d_x_stride + at;
  s.scale = hn::Set(d, 1.0f);
  s.dot = hn::Zero(d);
  if (weight != nullptr) s.scale = hn::Set(d, inverse_root(sum_lanes(squares(s.x, n)), n, eps));
  return s;
}

HWY_INLINE void finish(const Side& s, size_t n) {
  const RowTag d;
  const RowVec mean = hn::Set(d, sum_lanes(s.dot) / static_cast<float>(n));
  for_each_vector(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
    const RowVec xh = hn::Mul(load(s.x + i), s.scale);
    store(hn::Mul(hn::NegMulAdd(xh, mean, load(s.d_x + i)), s.scale), s.d_x + i);
  });
}

template <int kRows>
void mix_head(const GatedMixBackwardArgs& args, int64_t first, int64_t at, size_t n) {
  const RowTag d;
  const bool o_norm = args.o_weight != nullptr, local_norm = args.local_weight != nullptr;
  Side o[kRows], local[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    o[r] = side(args.o, args.d_o, args.d_o_stride, first + r, at, n, args.o_weight, args.eps);
    local[r] = side(args.local, args.dlocal, args.dlocal_stride, first + r, at, n,
                    args.local_weight, args.eps);
  }
  const float* gate = args.gate.data + first * args.gate.stride + at;
  const float* dy = args.dy.data + first * args.dy.stride + at;
  float* dgate = args.dgate + first * args.dgate_stride + at;
  for_each_vector(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
    const RowVec one = hn::Set(d, 1.0f);
    const RowVec o_weight = o_norm ? load(args.o_weight + i) : one;
    const RowVec local_weight = local_norm ? load(args.local_weight + i) : one;
    RowVec do_weight = hn::Zero(d), dlocal_weight = hn::Zero(d);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Sigmoids<RowVec> g = sigmoids(load(gate + r * args.gate.stride + i));
      const RowVec oh = hn::Mul(load(o[r].x + i), o[r].scale);
      const RowVec lh = hn::Mul(load(local[r].x + i), local[r].scale);
      const RowVec a = hn::Mul(oh, o_weight), b = hn::Mul(lh, local_weight);
      RowVec d_y = load(dy + r * args.dy.stride + i);
      if (args.silu) {
        d_y = hn::Mul(d_y, silu_slope(hn::MulAdd(g.plus, a, hn::Mul(g.minus, b))));
      }
      const RowVec d_a = hn::Mul(d_y, g.plus), d_b = hn::Mul(d_y, g.minus);
      store(hn::Mul(hn::Mul(d_a, g.minus), hn::Sub(a, b)), dgate + r * args.dgate_stride + i);
      const RowVec d_oh = hn::Mul(d_a, o_weight), d_lh = hn::Mul(d_b, local_weight);
      store(d_oh, o[r].d_x + i);
      store(d_lh, local[r].d_x + i);
      o[r].dot = hn::MulAdd(d_oh, oh, o[r].dot);
      local[r].dot = hn::MulAdd(d_lh, lh, local[r].dot);
      do_weight = hn::MulAdd(d_a, oh, do_weight);
      dlocal_weight = hn::MulAdd(d_b, lh, dlocal_weight);
    }
    if (o_norm) store(hn::Add(load(args.do_weight + i), do_weight), args.do_weight + i);
    if (local_norm) {
      store(hn::Add(load(args.dlocal_weight + i), dlocal_weight), args.dlocal_weight + i);
    }
  });
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    if (o_norm) finish(o[r], n);
    if (local_norm) finish(local[r], n);
  }
}

void mix_rows(const GatedMixBackwardArgs& args) {
  const int64_t width = args.channels / args.heads;
  const size_t n = static_cast<size_t>(width);
  int64_t r = 0;
  for (; r + kTogether <= args.rows; r += kTogether) {
    for (int64_t at = 0; at < args.channels; at += width) mix_head<kTogether>(args, r, at, n);
  }
  for (; r < args.rows; ++r) {
    for (int64_t at = 0; at < args.channels; at += width) mix_head<1>(args, r, at, n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(map_backward);
HWY_EXPORT(scale_rows);
HWY_EXPORT(column_sums);
HWY_EXPORT(mix_rows);

void pointwise_backward(const PointwiseBackwardArgs& args) {
  HWY_DYNAMIC_DISPATCH(map_backward)(args);
}

void scale_backward(const ScaleBackwardArgs& args) { HWY_DYNAMIC_DISPATCH(scale_rows)(args); }

void add_column_sums(const float* rows, int64_t stride, int64_t count, int64_t channels,
                     float* sums) {
  HWY_DYNAMIC_DISPATCH(column_sums)(rows, stride, count, channels, sums);
}

void gated_mix_backward(const GatedMixBackwardArgs& args) { HWY_DYNAMIC_DISPATCH(mix_rows)(args); }

}  // namespace vig
#endif  // HWY_ONCE
