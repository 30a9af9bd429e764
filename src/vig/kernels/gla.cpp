#include "vig/kernels/gla.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/gla.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// Tokens of a chunk and vectors of value columns of a block: outputs and values of a chunk,
// 2 * kChunk * kBlock vectors, stay in registers.
constexpr size_t kLanes = kRowLanes;
constexpr size_t kBlock = 2;
#if HWY_MAX_BYTES == 64 || HWY_ARCH_ARM_A64
constexpr size_t kChunk = 4;  // 32 registers
#else
constexpr size_t kChunk = 2;  // 16 registers
#endif
constexpr size_t kColumns = kBlock * kLanes;

// What a chunk's tokens do to the state and to each other (docs/gla.md, version 3). c and s count
// the tokens in the order of the sweep; products of gates run over tokens after s, up to c.
struct Chunk {
  float* query;  // [kChunk, K]  q_c times the gates up to c: reads the state before the chunk
  float* key;    // [kChunk, K]  k_s times the gates after s: feeds the state after the chunk
  float* gate;   // [K]          all gates: what is left of the old state
  // [c (c + 1) / 2 + s], s <= c: q_c . (gates * k_s), what c takes of v_s. Room for whole vectors.
  float weight[kChunk * (kChunk + 1) / 2 + kLanes];
};

// One direction of the sweep.
struct Direction {
  const GlaArgs& args;
  const float* alpha;
  bool backward;
  bool add;   // to what the other direction left
  bool last;  // nothing is added after it

  int64_t token(int64_t n) const { return backward ? args.tokens - 1 - n : n; }
};

// Fills `chunk` for `count` tokens from the sweep's n-th on. Tokens beyond them neither decay the
// state (gate 1) nor feed it (key 0).
template <bool kWhole>
void prepare(const Direction& dir, int64_t n, size_t present, Chunk& chunk) {
  const size_t count = kWhole ? kChunk : present;
  const RowTag d;
  const GlaArgs& args = dir.args;
  const size_t key_dim = static_cast<size_t>(args.key_dim);
  const size_t stride = round_up(key_dim, kLanes);
  const float *q[kChunk], *k[kChunk], *alpha[kChunk];
  for (size_t c = 0; c < count; ++c) {
    const int64_t m = n + static_cast<int64_t>(c);
    const int64_t t = dir.token(m);
    q[c] = args.q + t * args.qkv_stride;
    k[c] = args.k + t * args.qkv_stride;
    // The first token finds a state of zeros, which any gate leaves as it is.
    alpha[c] = dir.alpha + (args.gates_after && m > 0 ? dir.token(m - 1) : t) * args.alpha_stride;
  }
  // One sum for every pair s <= c.
  constexpr size_t kPairs = kChunk * (kChunk + 1) / 2;
  const auto pair = [](size_t c, size_t s) { return c * (c + 1) / 2 + s; };
  RowVec sums[kPairs];
#pragma GCC unroll 16
  for (size_t i = 0; i < kPairs; ++i) sums[i] = hn::Zero(d);
  for_each_vector(key_dim, [&](size_t i, const auto& load, const auto&) HWY_ATTR {
    RowVec a[kChunk], qc[kChunk];
    RowVec product = hn::Set(d, 1.0f);
#pragma GCC unroll 4
    for (size_t c = 0; c < kChunk; ++c) {
      a[c] = c < count ? load(alpha[c] + i) : hn::Set(d, 1.0f);
      qc[c] = c < count ? load(q[c] + i) : hn::Zero(d);
      product = hn::Mul(product, a[c]);
      hn::Store(hn::Mul(qc[c], product), d, chunk.query + c * stride + i);
    }
    hn::Store(product, d, chunk.gate + i);
#pragma GCC unroll 4
    for (size_t s = 0; s < kChunk; ++s) {
      RowVec key = s < count ? load(k[s] + i) : hn::Zero(d);
      sums[pair(s, s)] = hn::MulAdd(qc[s], key, sums[pair(s, s)]);
#pragma GCC unroll 4
      for (size_t c = s + 1; c < kChunk; ++c) {
        key = hn::Mul(key, a[c]);
        sums[pair(c, s)] = hn::MulAdd(qc[c], key, sums[pair(c, s)]);
      }
      hn::Store(key, d, chunk.key + s * stride + i);
    }
  });
  sum_each<kPairs>(sums, chunk.weight);
}

// A chunk's work on one block of kVectors vectors of value columns, `width` columns of them real.
// `state` is [K, kColumns].
template <size_t kVectors>
void run_block(const Direction& dir, int64_t n, size_t count, const Chunk& chunk, size_t column,
               size_t width, float* HWY_RESTRICT state) {
  const RowTag d;
  const GlaArgs& args = dir.args;
  const size_t key_dim = static_cast<size_t>(args.key_dim);
  const size_t stride = round_up(key_dim, kLanes);
  const bool whole = width == kVectors * kLanes;
  const auto part = [width](size_t j) {
    return std::min(kLanes, width - std::min(width, j * kLanes));
  };

  const int64_t v_stride = args.v_stride != 0 ? args.v_stride : args.qkv_stride;
  RowVec v[kChunk][kVectors], o[kChunk][kVectors];
#pragma GCC unroll 4
  for (size_t c = 0; c < kChunk; ++c) {
    const float* from =
        args.v + dir.token(n + static_cast<int64_t>(std::min(c, count - 1))) * v_stride + column;
#pragma GCC unroll 2
    for (size_t j = 0; j < kVectors; ++j) {
      v[c][j] = whole ? hn::LoadU(d, from + j * kLanes) : load_part(from + j * kLanes, part(j));
      o[c][j] = hn::Zero(d);
    }
  }
  const float* HWY_RESTRICT gates = chunk.gate;
  const float* HWY_RESTRICT queries = chunk.query;
  const float* HWY_RESTRICT keys = chunk.key;
#pragma GCC unroll 2
  for (size_t i = 0; i < key_dim; ++i) {
    float* HWY_RESTRICT row = state + i * kColumns;
    RowVec before[kVectors], after[kVectors];
    const RowVec gate = hn::Set(d, gates[i]);
#pragma GCC unroll 2
    for (size_t j = 0; j < kVectors; ++j) {
      before[j] = hn::Load(d, row + j * kLanes);
      after[j] = hn::Mul(gate, before[j]);
    }
#pragma GCC unroll 4
    for (size_t c = 0; c < kChunk; ++c) {
      const RowVec query = hn::Set(d, queries[c * stride + i]);
      const RowVec key = hn::Set(d, keys[c * stride + i]);
#pragma GCC unroll 2
      for (size_t j = 0; j < kVectors; ++j) {
        o[c][j] = hn::MulAdd(query, before[j], o[c][j]);
        after[j] = hn::MulAdd(key, v[c][j], after[j]);
      }
    }
#pragma GCC unroll 2
    for (size_t j = 0; j < kVectors; ++j) hn::Store(after[j], d, row + j * kLanes);
  }
  // (first + second) * scale: the same bits whichever direction came first.
  const RowVec scale = hn::Set(d, dir.last ? args.scale : 1.0f);
#pragma GCC unroll 4
  for (size_t c = 0; c < kChunk; ++c) {
#pragma GCC unroll 4
    for (size_t s = 0; s <= c; ++s) {
      const RowVec weight = hn::Set(d, chunk.weight[c * (c + 1) / 2 + s]);
#pragma GCC unroll 2
      for (size_t j = 0; j < kVectors; ++j) o[c][j] = hn::MulAdd(weight, v[s][j], o[c][j]);
    }
    if (c >= count) continue;
    float* out = args.o + dir.token(n + static_cast<int64_t>(c)) * args.o_stride + column;
#pragma GCC unroll 2
    for (size_t j = 0; j < kVectors; ++j) {
      float* to = out + j * kLanes;
      if (whole) {
        if (dir.add) o[c][j] = hn::Add(o[c][j], hn::LoadU(d, to));
        hn::StoreU(hn::Mul(scale, o[c][j]), d, to);
      } else {
        if (dir.add) o[c][j] = hn::Add(o[c][j], load_part(to, part(j)));
        store_part(hn::Mul(scale, o[c][j]), to, part(j));
      }
    }
  }
}

size_t state_floats(int64_t key_dim, int64_t value_dim) {
  const size_t keys = round_up(static_cast<size_t>(key_dim), kLanes);
  const size_t columns = round_up(static_cast<size_t>(value_dim), kColumns);
  return static_cast<size_t>(key_dim) * columns + (2 * kChunk + 1) * keys;
}

void sweep(const Direction& dir) {
  const GlaArgs& args = dir.args;
  const size_t key_dim = static_cast<size_t>(args.key_dim);
  const size_t width = static_cast<size_t>(args.value_dim);
  const size_t keys = round_up(key_dim, kLanes);
  const size_t state = key_dim * round_up(width, kColumns);
  if (!args.resume) std::fill_n(args.state, state, 0.0f);
  Chunk chunk;
  chunk.query = args.state + state;
  chunk.key = chunk.query + kChunk * keys;
  chunk.gate = chunk.key + kChunk * keys;
  for (int64_t n = 0; n < args.tokens; n += kChunk) {
    const size_t count = static_cast<size_t>(std::min<int64_t>(kChunk, args.tokens - n));
    count == kChunk ? prepare<true>(dir, n, count, chunk) : prepare<false>(dir, n, count, chunk);
    for (size_t column = 0; column < width; column += kColumns) {
      const size_t rest = std::min(kColumns, width - column);
      float* block = args.state + key_dim * column;
      rest > kLanes ? run_block<kBlock>(dir, n, count, chunk, column, rest, block)
                    : run_block<1>(dir, n, count, chunk, column, rest, block);
    }
  }
}

void scan(const GlaArgs& args) {
  const bool both = args.alpha_forward != nullptr && args.alpha_backward != nullptr;
  if (args.alpha_forward != nullptr) sweep({args, args.alpha_forward, false, args.add, !both});
  if (args.alpha_backward != nullptr) {
    sweep({args, args.alpha_backward, true, both || args.add, true});
  }
}

int64_t chunk_tokens() { return kChunk; }

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(scan);
HWY_EXPORT(state_floats);
HWY_EXPORT(chunk_tokens);

size_t gla_state_floats(int64_t key_dim, int64_t value_dim) {
  return HWY_DYNAMIC_DISPATCH(state_floats)(key_dim, value_dim);
}

int64_t gla_chunk_tokens() { return HWY_DYNAMIC_DISPATCH(chunk_tokens)(); }

void gla(const GlaArgs& args) { HWY_DYNAMIC_DISPATCH(scan)(args); }

}  // namespace vig
#endif  // HWY_ONCE
