// Gradients of gated linear attention over one chunk of tokens, a panel of keys at a time.
// Per-target header of kernels/backward/gla.cpp.
#if defined(VIG_KERNELS_GLA_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIG_KERNELS_GLA_BACKWARD_INL_H_
#undef VIG_KERNELS_GLA_BACKWARD_INL_H_
#else
#define VIG_KERNELS_GLA_BACKWARD_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "vig/kernels/backward/gla.h"
#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// States are kept transposed, vectors along the keys, in panels of kColumns keys (the last one
// narrower): [K / kColumns, V, kColumns]. So gates act lane by lane, and no sum but that of `Pairs`
// runs across lanes. Sums over a state's rows for a chunk, 2 * kChunk * kBlock vectors, stay in
// registers.
constexpr size_t kLanes = kRowLanes;
constexpr size_t kChunk = 4;
#if HWY_MAX_BYTES == 64 || HWY_ARCH_ARM_A64
constexpr size_t kBlock = 2;  // 32 registers
#else
constexpr size_t kBlock = 1;  // 16 registers
#endif
constexpr size_t kColumns = kBlock * kLanes;

// A vector for each token of a chunk and each of kVectors vectors of keys.
template <size_t kVectors>
using Rows = RowVec[kChunk][kVectors];

// One direction.
struct Sweep {
  const GlaBackwardArgs& args;
  const float* alpha;
  float* dlog_alpha;
  bool backward;
  bool add;        // to what the other direction left
  bool add_gates;  // likewise in dlog_alpha

  int64_t token(int64_t n) const { return backward ? args.tokens - 1 - n : n; }
};

// `count` tokens from the n-th of the sweep on. c, r and s count them in the order of the sweep.
// Beyond `count` the last one stands in, with gate 1 and key and query 0.
struct Chunk {
  Chunk(const Sweep& sweep, int64_t index) {
    const int64_t n = index * static_cast<int64_t>(kChunk);
    count = static_cast<size_t>(std::min<int64_t>(kChunk, sweep.args.tokens - n));
    for (size_t c = 0; c < kChunk; ++c) {
      token[c] = sweep.token(n + static_cast<int64_t>(std::min(c, count - 1)));
      v[c] = sweep.args.v + token[c] * sweep.args.qkv_stride;
      grad_o[c] = sweep.args.grad_o + token[c] * sweep.args.grad_o_stride;
    }
  }
  size_t count;
  int64_t token[kChunk];
  const float* v[kChunk];
  const float* grad_o[kChunk];
};

// scale * do_r . v_s for s <= r: the factor between the key of s and the query of r.
struct Pairs {
  Pairs(const GlaBackwardArgs& args, const Chunk& chunk) {
    const RowTag d;
    RowVec sums[kCount];
    for (RowVec& sum : sums) sum = hn::Zero(d);
    for_each_vector(static_cast<size_t>(args.value_dim),
                    [&](size_t j, const auto& load, const auto&) HWY_ATTR {
                      RowVec v[kChunk];
#pragma GCC unroll 4
                      for (size_t r = 0; r < kChunk; ++r) {
                        v[r] = load(chunk.v[r] + j);
                        const RowVec grad_o = load(chunk.grad_o[r] + j);
#pragma GCC unroll 4
                        for (size_t s = 0; s <= r; ++s) {
                          RowVec& sum = sums[r * (r + 1) / 2 + s];
                          sum = hn::MulAdd(grad_o, v[s], sum);
                        }
                      }
                    });
    sum_each<kCount>(sums, sums_);
    for (size_t i = 0; i < kCount; ++i) sums_[i] *= args.scale;
  }
  RowVec get(size_t r, size_t s) const { return hn::Set(RowTag(), sums_[r * (r + 1) / 2 + s]); }

  static constexpr size_t kCount = kChunk * (kChunk + 1) / 2;

 private:
  float sums_[kCount + kLanes];  // room for whole vectors
};

// Columns from `first` on of rows of K floats, `width` of them real.
template <size_t kVectors>
struct Columns {
  size_t first, width;

  size_t part(size_t n) const { return std::min(kLanes, width - n * kLanes); }
  HWY_INLINE RowVec load(const float* row, size_t n) const {
    const float* from = row + first + n * kLanes;
    return part(n) == kLanes ? hn::LoadU(RowTag(), from) : load_part(from, part(n));
  }
  HWY_INLINE void store(RowVec value, bool add, float* row, size_t n) const {
    float* to = row + first + n * kLanes;
    if (add) value = hn::Add(value, load(row, n));
    part(n) == kLanes ? hn::StoreU(value, RowTag(), to) : store_part(value, to, part(n));
  }
  // The rows of a chunk's tokens; `missing` for those that do not exist.
  HWY_INLINE void load_chunk(const Chunk& chunk, const float* base, int64_t stride, float missing,
                             Rows<kVectors>& to) const {
#pragma GCC unroll 4
    for (size_t c = 0; c < kChunk; ++c) {
#pragma GCC unroll 2
      for (size_t n = 0; n < kVectors; ++n) {
        to[c][n] =
            c < chunk.count ? load(base + chunk.token[c] * stride, n) : hn::Set(RowTag(), missing);
      }
    }
  }
};

// to = gate * from + sum over c of values_c^T rows_c, [V, kVectors].
template <size_t kVectors>
HWY_INLINE void feed(const Rows<kVectors>& rows, const RowVec (&gate)[kVectors],
                     const float* const (&values)[kChunk], size_t value_dim, const float* from,
                     float* to) {
  const RowTag d;
  for (size_t j = 0; j < value_dim; ++j) {
    RowVec row[kVectors];
#pragma GCC unroll 2
    for (size_t n = 0; n < kVectors; ++n) {
      row[n] = hn::Mul(gate[n], hn::Load(d, from + (j * kVectors + n) * kLanes));
    }
#pragma GCC unroll 4
    for (size_t c = 0; c < kChunk; ++c) {
      const RowVec value = hn::Set(d, values[c][j]);
#pragma GCC unroll 2
      for (size_t n = 0; n < kVectors; ++n) row[n] = hn::MulAdd(value, rows[c][n], row[n]);
    }
#pragma GCC unroll 2
    for (size_t n = 0; n < kVectors; ++n) hn::Store(row[n], d, to + (j * kVectors + n) * kLanes);
  }
}

// The state after the chunk from the one before it, which may lie in the same memory.
template <size_t kVectors>
void advance_block(const Sweep& sweep, const Chunk& chunk, const Columns<kVectors>& columns,
                   const float* from, float* to) {
  const GlaBackwardArgs& args = sweep.args;
  Rows<kVectors> alpha, key;
  columns.load_chunk(chunk, sweep.alpha, args.alpha_stride, 1.0f, alpha);
  columns.load_chunk(chunk, args.k, args.qkv_stride, 0.0f, key);
  RowVec gate[kVectors];  // of the tokens after c, in the end all
#pragma GCC unroll 2
  for (size_t n = 0; n < kVectors; ++n) {
    gate[n] = hn::Set(RowTag(), 1.0f);
#pragma GCC unroll 4
    for (size_t m = 0; m < kChunk; ++m) {
      const size_t c = kChunk - 1 - m;
      key[c][n] = hn::Mul(key[c][n], gate[n]);
      gate[n] = hn::Mul(gate[n], alpha[c][n]);
    }
  }
  feed(key, gate, chunk.v, static_cast<size_t>(args.value_dim), from, to);
}

// Gradients of one vector of keys of a chunk. Inputs are y_r = scale * S_before do_r,
// x_s = scale * E_after v_s and z = scale * (S_before . E_after); outputs are dq, dk and
// dlog_alpha. docs/gla.md has the equations.
struct KeyVector {
  RowVec alpha[kChunk], q[kChunk], k[kChunk];
  RowVec y[kChunk], x[kChunk], z;
  RowVec dq[kChunk], dk[kChunk], dlog_alpha[kChunk];
  RowVec query[kChunk];  // q_r times the gates up to r
  RowVec gate;           // all gates

  HWY_INLINE KeyVector() {}  // an implicit one would not be compiled for the target

  HWY_INLINE void run(const Pairs& pairs) {
    const RowTag d;
    gate = hn::Set(d, 1.0f);
#pragma GCC unroll 4
    for (size_t r = 0; r < kChunk; ++r) {
      gate = hn::Mul(gate, alpha[r]);
      query[r] = hn::Mul(q[r], gate);
      dq[r] = hn::Mul(gate, y[r]);
    }
    // From before the chunk to after it, and to the chunk's r >= t.
    RowVec passing = hn::Mul(gate, z);
    RowVec after = hn::Set(d, 1.0f);
#pragma GCC unroll 4
    for (size_t m = 0; m < kChunk; ++m) {
      const size_t t = kChunk - 1 - m;
      passing = hn::MulAdd(query[t], y[t], passing);
      dlog_alpha[t] = passing;
      dk[t] = hn::Mul(after, x[t]);
      after = hn::Mul(after, alpha[t]);
    }
    // From the chunk's s < t to after it.
    RowVec leaving = hn::Zero(d);
#pragma GCC unroll 4
    for (size_t t = 1; t < kChunk; ++t) {
      leaving = hn::MulAdd(k[t - 1], dk[t - 1], leaving);
      dlog_alpha[t] = hn::Add(dlog_alpha[t], leaving);
    }
    // From s to r inside the chunk.
    RowVec between[kChunk];  // gates after s up to r
#pragma GCC unroll 4
    for (size_t r = 0; r < kChunk; ++r) {
      RowVec passed = hn::Zero(d);
#pragma GCC unroll 4
      for (size_t s = 0; s < r; ++s) {
        between[s] = hn::Mul(between[s], alpha[r]);
        const RowVec weight = hn::Mul(between[s], pairs.get(r, s));
        const RowVec key = hn::Mul(weight, k[s]);
        dq[r] = hn::Add(dq[r], key);
        dk[s] = hn::MulAdd(weight, q[r], dk[s]);
        passed = hn::MulAdd(key, q[r], passed);
        dlog_alpha[s + 1] = hn::Add(dlog_alpha[s + 1], passed);
      }
      dq[r] = hn::MulAdd(pairs.get(r, r), k[r], dq[r]);
      dk[r] = hn::MulAdd(pairs.get(r, r), q[r], dk[r]);
      between[r] = hn::Set(d, 1.0f);
    }
  }
};

// Gradients of a chunk's tokens from the state before it and from `gradient`, that of the state
// after it, which is overwritten with that of the state before it.
template <size_t kVectors>
void back_block(const Sweep& sweep, const Chunk& chunk, const Pairs& pairs,
                const Columns<kVectors>& columns, const float* HWY_RESTRICT before,
                float* HWY_RESTRICT gradient) {
  const RowTag d;
  const GlaBackwardArgs& args = sweep.args;
  const size_t value_dim = static_cast<size_t>(args.value_dim);
  Rows<kVectors> y, x;
  RowVec z[kVectors];
#pragma GCC unroll 2
  for (size_t n = 0; n < kVectors; ++n) {
    z[n] = hn::Zero(d);
#pragma GCC unroll 4
    for (size_t c = 0; c < kChunk; ++c) y[c][n] = x[c][n] = hn::Zero(d);
  }
  for (size_t j = 0; j < value_dim; ++j) {
    RowVec s[kVectors], e[kVectors];
#pragma GCC unroll 2
    for (size_t n = 0; n < kVectors; ++n) {
      s[n] = hn::Load(d, before + (j * kVectors + n) * kLanes);
      e[n] = hn::Load(d, gradient + (j * kVectors + n) * kLanes);
      z[n] = hn::MulAdd(s[n], e[n], z[n]);
    }
#pragma GCC unroll 4
    for (size_t c = 0; c < kChunk; ++c) {
      const RowVec grad_o = hn::Set(d, chunk.grad_o[c][j]);
      const RowVec v = hn::Set(d, chunk.v[c][j]);
#pragma GCC unroll 2
      for (size_t n = 0; n < kVectors; ++n) {
        y[c][n] = hn::MulAdd(grad_o, s[n], y[c][n]);
        x[c][n] = hn::MulAdd(v, e[n], x[c][n]);
      }
    }
  }

  Rows<kVectors> alpha, q, k, query;
  columns.load_chunk(chunk, sweep.alpha, args.alpha_stride, 1.0f, alpha);
  columns.load_chunk(chunk, args.q, args.qkv_stride, 0.0f, q);
  columns.load_chunk(chunk, args.k, args.qkv_stride, 0.0f, k);
  const RowVec scale = hn::Set(d, args.scale);
  RowVec gate[kVectors];
#pragma GCC unroll 2
  for (size_t n = 0; n < kVectors; ++n) {
    KeyVector keys;
    keys.z = hn::Mul(scale, z[n]);
#pragma GCC unroll 4
    for (size_t c = 0; c < kChunk; ++c) {
      keys.alpha[c] = alpha[c][n];
      keys.q[c] = q[c][n];
      keys.k[c] = k[c][n];
      keys.y[c] = hn::Mul(scale, y[c][n]);
      keys.x[c] = hn::Mul(scale, x[c][n]);
    }
    keys.run(pairs);
    gate[n] = keys.gate;
#pragma GCC unroll 4
    for (size_t c = 0; c < kChunk; ++c) {
      query[c][n] = keys.query[c];
      if (c >= chunk.count) continue;
      const int64_t t = chunk.token[c];
      columns.store(keys.dq[c], sweep.add, args.dq + t * args.dqkv_stride, n);
      columns.store(keys.dk[c], sweep.add, args.dk + t * args.dqkv_stride, n);
      columns.store(keys.dlog_alpha[c], sweep.add_gates,
                    sweep.dlog_alpha + t * args.dlog_alpha_stride, n);
    }
  }
  feed(query, gate, chunk.grad_o, value_dim, gradient, gradient);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#endif  // VIG_KERNELS_GLA_BACKWARD_INL_H_
