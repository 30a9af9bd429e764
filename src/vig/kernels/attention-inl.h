// What attention and its gradient share: products of small tiles in registers, rows and their
// transposes rearranged for them. Per-target header.
#if defined(VIG_KERNELS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIG_KERNELS_ATTENTION_INL_H_
#undef VIG_KERNELS_ATTENTION_INL_H_
#else
#define VIG_KERNELS_ATTENTION_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "vig/kernels/attention.h"
#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

constexpr size_t kLanes = kRowLanes;
constexpr size_t kPanel = 2 * kLanes;  // columns of a panel

// Accumulators of a strip: rows x 2 vectors, beside two of B and one broadcast. 32 registers hold
// 14 rows, 16 hold 6.
#if HWY_MAX_BYTES == 64 || HWY_ARCH_ARM_A64
constexpr size_t kStrip = 14;
#else
constexpr size_t kStrip = 6;
#endif

// C = A B or C = diag(factor) C + A B. A [rows, depth] is read element by element, B [depth,
// columns] and C [rows, columns] in vectors: their columns are filled up to whole vectors.
struct Product {
  size_t rows = 0, columns = 0, depth = 0;
  const float* a = nullptr;
  size_t a_row = 0;  // row r begins at a + r a_row; of A transposed, a_row is between its columns
  const float* b = nullptr;
  size_t b_row = 0;               // between rows of a panel
  size_t b_panel = 0;             // between panels of kPanel columns
  const float* factor = nullptr;  // [rows]; null: C is overwritten
  float* c = nullptr;
  size_t c_row = 0;
};

template <size_t kRows, size_t kVectors, bool kTransposed>
HWY_NOINLINE void strip(const float* HWY_RESTRICT a, size_t a_row, const float* HWY_RESTRICT b,
                        size_t b_row, size_t depth, const float* factor, float* HWY_RESTRICT c,
                        size_t c_row) {
  const RowTag d;
  RowVec acc[kRows][kVectors];
#pragma GCC unroll 16
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) {
      acc[r][v] = factor == nullptr
                      ? hn::Zero(d)
                      : hn::Mul(hn::Set(d, factor[r]), hn::LoadU(d, c + r * c_row + v * kLanes));
    }
  }
#pragma GCC unroll 4
  for (size_t i = 0; i < depth; ++i) {
    RowVec weight[kVectors];
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) weight[v] = hn::LoadU(d, b + v * kLanes);
    b += b_row;
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      const RowVec x = hn::Set(d, kTransposed ? a[r] : a[r * a_row + i]);
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) acc[r][v] = hn::MulAdd(x, weight[v], acc[r][v]);
    }
    if (kTransposed) a += a_row;
  }
#pragma GCC unroll 16
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(acc[r][v], d, c + r * c_row + v * kLanes);
    }
  }
}

using StripFn = void (*)(const float*, size_t, const float*, size_t, size_t, const float*, float*,
                         size_t);

// By rows - 1.
template <size_t kVectors, bool kTransposed, size_t... kRows>
constexpr auto strip_table(std::index_sequence<kRows...>) {
  return std::array<StripFn, sizeof...(kRows)>{strip<kRows + 1, kVectors, kTransposed>...};
}

// All strips pass over a panel before the next one begins.
template <bool kTransposed = false>
HWY_INLINE void multiply(const Product& p) {
  constexpr auto kWide = strip_table<2, kTransposed>(std::make_index_sequence<kStrip>());
  constexpr auto kNarrow = strip_table<1, kTransposed>(std::make_index_sequence<kStrip>());
  const size_t strips = (p.rows + kStrip - 1) / kStrip;
  for (size_t column = 0; column < p.columns; column += kPanel) {
    const float* b = p.b + column / kPanel * p.b_panel;
    const auto& table = p.columns - column <= kLanes ? kNarrow : kWide;
    for (size_t s = 0, row = 0; s < strips; ++s) {
      const size_t count = (p.rows - row) / (strips - s);  // as even as they get
      table[count - 1](p.a + row * (kTransposed ? 1 : p.a_row), p.a_row, b, p.b_row, p.depth,
                       p.factor == nullptr ? nullptr : p.factor + row, p.c + row * p.c_row + column,
                       p.c_row);
      row += count;
    }
  }
}

// v[i] lane j becomes v[j] lane i.
template <size_t kRound = 1>
HWY_INLINE void transpose(RowVec* v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kRound < kLanes) {
    const RowTag d;
    RowVec next[kLanes];
#pragma GCC unroll 16
    for (size_t i = 0; i < kLanes / 2; ++i) {
      next[i] = hn::ConcatEven(d, v[2 * i + 1], v[2 * i]);
      next[i + kLanes / 2] = hn::ConcatOdd(d, v[2 * i + 1], v[2 * i]);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < kLanes; ++i) v[i] = next[i];
    transpose<kRound * 2>(v);
  }
#else
  (void)v;
#endif
}

// Row t of a matrix [tokens, D] whose rows lie in a map.
struct Tokens {
  const float* map = nullptr;
  int64_t stride = 0;
  const int32_t* rows = nullptr;
  const float* pad = nullptr;

  const float* row(size_t t) const {
    if (rows == nullptr) return map + static_cast<int64_t>(t) * stride;
    return rows[t] < 0 ? pad : map + rows[t] * stride;
  }
};

// The transpose [D, T] in panels of kPanel tokens, each [D, kPanel]. A vector that the last token
// does not fill holds it again.
inline void pack_transposed(const Tokens& tokens, size_t count, size_t width, float* panels) {
  const RowTag d;
  for (size_t first = 0; first < count; first += kLanes) {
    float* panel = panels + first / kPanel * width * kPanel + first % kPanel;
    const float* rows[kLanes];
    for (size_t j = 0; j < kLanes; ++j) rows[j] = tokens.row(std::min(first + j, count - 1));
    for_each_vector(width, [&](size_t i, const auto& load, const auto&) HWY_ATTR {
      RowVec v[kLanes];
#pragma GCC unroll 16
      for (size_t j = 0; j < kLanes; ++j) v[j] = load(rows[j] + i);
      transpose(v);
      const size_t channels = std::min(kLanes, width - i);
#pragma GCC unroll 16
      for (size_t j = 0; j < kLanes; ++j) {
        if (j < channels) hn::Store(v[j], d, panel + (i + j) * kPanel);
      }
    });
  }
}

// Rows in panels of kPanel channels, each [T, kPanel]; channels beyond the last are 0 as far as the
// last vector goes.
inline void pack_rows(const Tokens& tokens, size_t count, size_t width, float* panels) {
  const RowTag d;
  for (size_t t = 0; t < count; ++t) {
    const float* from = tokens.row(t);
    for_each_vector(width, [&](size_t i, const auto& load, const auto&) HWY_ATTR {
      hn::Store(load(from + i), d, panels + (i / kPanel * count + t) * kPanel + i % kPanel);
    });
  }
}

// to[i] = value of i for a row of n floats, in vectors. value(i, load) computes the vector from i
// on, of which load(pointer) takes the lanes that exist. Where the last vector is not whole, one
// that ends with the row is computed first and stored last: parts of vectors are slow to load.
template <class F>
HWY_INLINE void map_row(size_t n, float* to, const F& value) {
  const RowTag d;
  const auto whole = [](const float* from) HWY_ATTR { return hn::LoadU(RowTag(), from); };
  if (n < kLanes) {
    const auto part = [n](const float* from) HWY_ATTR { return load_part(from, n); };
    return store_part(value(0, part), to, n);
  }
  const RowVec last = value(n - kLanes, whole);
  for (size_t i = 0; i + kLanes <= n; i += kLanes) hn::StoreU(value(i, whole), d, to + i);
  hn::StoreU(last, d, to + n - kLanes);
}

// x, but at least -87, where exponentials end; NaN stays NaN.
HWY_INLINE RowVec not_below_exp(RowVec x) {
  const RowVec least = hn::Set(RowTag(), -87.0f);
#if HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::Lt(x, least), least, x);
#else
  return hn::Max(least, x);  // x86 returns the second of two where one is NaN
#endif
}

// Labels as floats, up to a whole vector.
inline void pack_labels(const int32_t* labels, size_t count, float* to) {
  for (size_t t = 0; t < count; ++t) to[t] = static_cast<float>(labels[t]);
  std::fill(to + count, to + round_up(count, kLanes), 0.0f);
}

// What is added to the logits of one query and a block of keys. Either pointer may be null.
struct Shift {
  Shift(const AttentionArgs& args, const float* packed_labels, int64_t query, size_t first_key) {
    if (args.bias != nullptr) {
      bias = args.bias + query * args.bias_stride + static_cast<int64_t>(first_key);
    }
    if (args.labels != nullptr) {
      labels = packed_labels + first_key;
      label = packed_labels[query];
    }
  }
  // The vector of `row` at i, shifted, where bias and labels exist as kBias and kLabels say;
  // `load` takes the lanes of the bias that exist.
  template <bool kBias, bool kLabels, class Load>
  HWY_INLINE RowVec apply(const float* row, size_t i, const Load& load) const {
    const RowTag d;
    RowVec s = hn::LoadU(d, row + i);
    if constexpr (kBias) s = hn::Add(s, load(bias + i));
    if constexpr (kLabels) {
      const auto same = hn::Eq(hn::LoadU(d, labels + i), hn::Set(d, label));
      s = hn::IfThenElse(same, s, hn::Add(s, hn::Set(d, kLabelPenalty)));
    }
    return s;
  }

  const float* bias = nullptr;
  const float* labels = nullptr;
  float label = 0.0f;
};

// Calls f(std::bool_constant, std::bool_constant): whether there is a bias, whether there are
// labels.
template <class F>
HWY_INLINE void with_shift(const AttentionArgs& args, const F& f) {
  if (args.bias != nullptr) {
    args.labels != nullptr ? f(std::true_type(), std::true_type())
                           : f(std::true_type(), std::false_type());
  } else {
    args.labels != nullptr ? f(std::false_type(), std::true_type())
                           : f(std::false_type(), std::false_type());
  }
}

inline bool is_padded(const AttentionArgs& args, int64_t t) {
  return args.rows != nullptr && args.rows[t] < 0;
}

// The row of token t in the map.
inline int64_t row_of(const AttentionArgs& args, int64_t t) {
  return args.rows == nullptr ? t : args.rows[t];
}

// Blocks of about `about` tokens, as even as whole panels allow; a quarter of a block more is no
// new one.
inline size_t even_blocks(size_t tokens, size_t about) {
  const size_t blocks = std::max<size_t>(1, (tokens + about * 3 / 4 - 1) / about);
  return round_up((tokens + blocks - 1) / blocks, kPanel);
}

// Parts of a piece of memory, each aligned like the whole; of none, just how much it takes.
class Parts {
 public:
  explicit Parts(float* memory) : memory_(memory) {}
  float* take(size_t floats) {
    float* const part = memory_ == nullptr ? nullptr : memory_ + total_;
    total_ += round_up(floats, 16);
    return part;
  }
  size_t total() const { return total_; }

 private:
  float* memory_;
  size_t total_ = 0;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#endif  // VIG_KERNELS_ATTENTION_INL_H_
