#include "vig/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/attention.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/attention-inl.h"
#include "vig/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// Logits of a block of queries and keys stay in the first-level cache, beside a panel of keys or
// values: about kTileFloats of them, of about kKeys keys.
constexpr size_t kKeys = 208;
constexpr size_t kTileFloats = 20 * kKeys;
constexpr size_t kInterleaved = 4;  // rows whose exponentials are computed side by side

size_t keys_of(size_t tokens) { return even_blocks(tokens, kKeys); }

size_t queries_of(size_t keys) {
  return std::clamp<size_t>(kTileFloats / (keys * kStrip), 2, 12) * kStrip;
}

// What attention_pack leaves.
struct Packed {
  Packed(float* memory, size_t tokens, size_t width) {
    Parts parts(memory);
    keys = parts.take(round_up(tokens, kPanel) * width);
    values = parts.take(tokens * round_up(width, kPanel));
    labels = parts.take(round_up(tokens, kPanel));
    floats = parts.total();
  }
  float* keys;    // transposed, in panels of tokens
  float* values;  // in panels of channels
  float* labels;
  size_t floats;
};

// The queries that a call works on together.
struct Block {
  Block(float* memory, size_t queries, size_t keys, size_t width)
      : logits_row(keys), o_row(round_up(width, kPanel)), q_row(round_up(width, kLanes)) {
    Parts parts(memory);
    const size_t padded_queries = round_up(queries, kInterleaved);
    logits = parts.take(padded_queries * logits_row);
    o = parts.take(queries * o_row);
    q = parts.take(queries * q_row);
    most = parts.take(padded_queries);
    sum = parts.take(padded_queries);
    factor = parts.take(padded_queries);
    list = reinterpret_cast<int32_t*>(parts.take(queries));
    floats = parts.total();
  }
  size_t logits_row, o_row, q_row;
  float* logits;  // [queries, keys], then e^(logit - most)
  float* o;       // [queries, D], to be divided by the sum
  float* q;       // [queries, D], times scale
  float* most;    // [queries] the largest logit so far
  float* sum;     // [queries]
  float* factor;  // [queries] what the last block of keys made of earlier sums
  int32_t* list;  // [queries] which tokens they are
  size_t floats;
};

// Adds the shift, if there is one, and returns the largest of `count` logits. Those up to a whole
// vector become the lowest number.
template <bool kBias, bool kLabels>
HWY_INLINE float largest(float* HWY_RESTRICT row, size_t count, const Shift& shift) {
  const RowTag d;
  const RowVec lowest = hn::Set(d, std::numeric_limits<float>::lowest());
  if constexpr (kBias || kLabels) {
    map_row(count, row, [&](size_t i, const auto& load) HWY_ATTR {
      return shift.apply<kBias, kLabels>(row, i, load);
    });
  }
  RowVec most = lowest, also = lowest;
  size_t i = 0;
  for (; i + kPanel <= count; i += kPanel) {
    most = hn::Max(most, hn::Load(d, row + i));
    also = hn::Max(also, hn::Load(d, row + i + kLanes));
  }
  for (; i < count; i += kLanes) {
    RowVec s = hn::Load(d, row + i);
    if (i + kLanes > count) {
      s = hn::IfThenElse(hn::FirstN(d, count - i), s, lowest);
      hn::Store(s, d, row + i);
    }
    most = hn::Max(most, s);
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(most, also)));
}

// logits = e^(logits - most) of kInterleaved rows, up to whole vectors, and their sums added to
// `sum`. What is below e^-87 times the largest becomes that.
HWY_INLINE void exponentials(float* HWY_RESTRICT logits, size_t stride, size_t count,
                             const float* most, float* sum) {
  const RowTag d;
  RowVec sums[kInterleaved];
#pragma GCC unroll 4
  for (size_t n = 0; n < kInterleaved; ++n) sums[n] = hn::Zero(d);
  for (size_t i = 0; i < count; i += kLanes) {
    RowVec p[kInterleaved];
#pragma GCC unroll 4
    for (size_t n = 0; n < kInterleaved; ++n) {
      const RowVec x = hn::Sub(hn::Load(d, logits + n * stride + i), hn::Set(d, most[n]));
      p[n] = not_below_exp(x);
    }
    exp_each<kInterleaved>(p);
#pragma GCC unroll 4
    for (size_t n = 0; n < kInterleaved; ++n) {
      hn::Store(p[n], d, logits + n * stride + i);
      sums[n] = hn::Add(sums[n], p[n]);
    }
  }
  float total[kInterleaved + kLanes];
  sum_each<kInterleaved>(sums, total);
  for (size_t n = 0; n < kInterleaved; ++n) sum[n] += total[n];
}

// One key block's part of the softmax of every row. What depends on one row only goes through all
// rows before the next part begins: a row alone would wait for its maximum.
template <bool kBias, bool kLabels>
HWY_INLINE void soften(const AttentionArgs& args, const Packed& packed, const Block& block,
                       size_t rows, size_t first_key, size_t keys) {
  const RowTag d;
  for (size_t r = 0; r < rows; ++r) {
    const Shift shift(args, packed.labels, block.list[r], first_key);
    block.factor[r] = largest<kBias, kLabels>(block.logits + r * block.logits_row, keys, shift);
  }
  for (size_t r = 0; r < rows; r += kLanes) {
    const RowVec here = hn::Load(d, block.factor + r);
    const RowVec before = first_key == 0 ? here : hn::Load(d, block.most + r);
    const RowVec now = hn::Max(before, here);
    RowVec factor = not_below_exp(hn::Sub(before, now));
    exp_each<1>(&factor);
    hn::Store(now, d, block.most + r);
    hn::Store(factor, d, block.factor + r);
    const RowVec sum = first_key == 0 ? hn::Zero(d) : hn::Load(d, block.sum + r);
    hn::Store(hn::Mul(sum, factor), d, block.sum + r);
  }
  for (size_t r = 0; r < rows; r += kInterleaved) {
    exponentials(block.logits + r * block.logits_row, block.logits_row, keys, block.most + r,
                 block.sum + r);
  }
}

void divide_rows(const AttentionArgs& args, const Block& block, size_t rows) {
  const RowTag d;
  const size_t width = static_cast<size_t>(args.head_dim);
  for (size_t r = 0; r < rows; ++r) {
    const int32_t t = block.list[r];
    const RowVec factor = hn::Set(d, 1.0f / block.sum[r]);
    const float* from = block.o + r * block.o_row;
    float* o = args.o + row_of(args, t) * args.o_stride;
    for_each_vector(width, [&](size_t i, const auto&, const auto& store)
                               HWY_ATTR { store(hn::Mul(factor, hn::Load(d, from + i)), o + i); });
    if (args.lse != nullptr) args.lse[t] = block.most[r] + std::log(block.sum[r]);
  }
}

// All keys of the first `rows` queries of block.list.
void attend(const AttentionArgs& args, const Packed& packed, const Block& block, size_t rows,
            size_t most_keys) {
  const RowTag d;
  const size_t tokens = static_cast<size_t>(args.tokens);
  const size_t width = static_cast<size_t>(args.head_dim);
  const RowVec scale = hn::Set(d, args.scale);
  const Tokens q{args.q, args.qkv_stride, args.rows, nullptr};
  for (size_t r = 0; r < rows; ++r) {
    const float* from = q.row(static_cast<size_t>(block.list[r]));
    for_each_vector(width, [&](size_t i, const auto& load, const auto&) HWY_ATTR {
      hn::Store(hn::Mul(scale, load(from + i)), d, block.q + r * block.q_row + i);
    });
  }
  for (size_t first = 0; first < tokens; first += most_keys) {
    const size_t keys = std::min(most_keys, tokens - first);
    Product product;
    product.rows = rows;
    product.columns = keys;
    product.depth = width;
    product.a = block.q;
    product.a_row = block.q_row;
    product.b = packed.keys + first * width;
    product.b_row = kPanel;
    product.b_panel = width * kPanel;
    product.c = block.logits;
    product.c_row = block.logits_row;
    multiply(product);
    with_shift(args, [&](auto bias, auto labels) HWY_ATTR {
      soften<bias.value, labels.value>(args, packed, block, rows, first, keys);
    });
    product.columns = width;
    product.depth = keys;
    product.a = block.logits;
    product.a_row = block.logits_row;
    product.b = packed.values + first * kPanel;
    product.b_panel = tokens * kPanel;
    product.factor = first == 0 ? nullptr : block.factor;
    product.c = block.o;
    product.c_row = block.o_row;
    multiply(product);
  }
  divide_rows(args, block, rows);
}

int64_t end_of(const AttentionArgs& args) {
  return args.last_query < 0 ? args.tokens : args.last_query;
}

void attend_all(const AttentionArgs& args, size_t most_queries, size_t most_keys) {
  const size_t tokens = static_cast<size_t>(args.tokens);
  const size_t width = static_cast<size_t>(args.head_dim);
  const Packed packed(args.packed, tokens, width);
  const Block block(args.scratch, most_queries, most_keys, width);
  const int64_t last = end_of(args);
  for (int64_t t = args.first_query; t < last;) {
    size_t rows = 0;
    for (; t < last && rows < most_queries; ++t) {
      if (!is_padded(args, t)) block.list[rows++] = static_cast<int32_t>(t);
    }
    if (rows > 0) attend(args, packed, block, rows, most_keys);
  }
}

void tiled(const AttentionArgs& args) {
  const size_t keys = keys_of(static_cast<size_t>(args.tokens));
  attend_all(args, queries_of(keys), keys);
}

// One block of all queries and keys.
void materialised(const AttentionArgs& args) {
  attend_all(args, static_cast<size_t>(std::max<int64_t>(0, end_of(args) - args.first_query)),
             round_up(static_cast<size_t>(args.tokens), kPanel));
}

void soften_rows(const float* logits, int64_t rows, int64_t count, float scale, float* out) {
  const RowTag d;
  const size_t n = static_cast<size_t>(count);
  for (int64_t r = 0; r < rows; ++r, logits += count, out += count) {
    float most = logits[0];
    for (size_t i = 1; i < n; ++i) most = std::max(most, logits[i]);
    const RowVec shift = hn::Set(d, most), factor = hn::Set(d, scale);
    for_each_vector(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
      RowVec p = not_below_exp(hn::Mul(factor, hn::Sub(load(logits + i), shift)));
      exp_each<1>(&p);
      store(p, out + i);
    });
    RowVec sums = hn::Zero(d);
    for_each_vector(n, [&](size_t i, const auto& load, const auto&)
                           HWY_ATTR { sums = hn::Add(sums, load(out + i)); });
    const RowVec share = hn::Set(d, 1.0f / hn::GetLane(hn::SumOfLanes(d, sums)));
    for_each_vector(n, [&](size_t i, const auto& load, const auto& store)
                           HWY_ATTR { store(hn::Mul(share, load(out + i)), out + i); });
  }
}

void pack(const AttentionArgs& args) {
  const size_t tokens = static_cast<size_t>(args.tokens);
  const size_t width = static_cast<size_t>(args.head_dim);
  const Packed packed(args.packed, tokens, width);
  pack_transposed({args.k, args.qkv_stride, args.rows, args.pad_k}, tokens, width, packed.keys);
  pack_rows({args.v, args.qkv_stride, args.rows, args.pad_v}, tokens, width, packed.values);
  if (args.labels != nullptr) pack_labels(args.labels, tokens, packed.labels);
}

size_t packed_floats(int64_t tokens, int64_t head_dim) {
  return Packed(nullptr, static_cast<size_t>(tokens), static_cast<size_t>(head_dim)).floats;
}

size_t block_floats(size_t queries, size_t keys, int64_t head_dim) {
  return Block(nullptr, queries, keys, static_cast<size_t>(head_dim)).floats;
}

size_t tiled_floats(int64_t tokens, int64_t head_dim) {
  const size_t keys = keys_of(static_cast<size_t>(tokens));
  return block_floats(queries_of(keys), keys, head_dim);
}

size_t materialised_floats(int64_t queries, int64_t tokens, int64_t head_dim) {
  return block_floats(static_cast<size_t>(queries), round_up(static_cast<size_t>(tokens), kPanel),
                      head_dim);
}

int64_t key_block(int64_t tokens) {
  return static_cast<int64_t>(keys_of(static_cast<size_t>(tokens)));
}

int64_t query_block(int64_t tokens) {
  return static_cast<int64_t>(queries_of(keys_of(static_cast<size_t>(tokens))));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {
namespace {

HWY_EXPORT(tiled);
HWY_EXPORT(materialised);
HWY_EXPORT(soften_rows);
HWY_EXPORT(pack);
HWY_EXPORT(packed_floats);
HWY_EXPORT(tiled_floats);
HWY_EXPORT(materialised_floats);
HWY_EXPORT(key_block);
HWY_EXPORT(query_block);

}  // namespace

size_t attention_packed_floats(int64_t tokens, int64_t head_dim) {
  return HWY_DYNAMIC_DISPATCH(packed_floats)(tokens, head_dim);
}

size_t attention_scratch_floats(int64_t tokens, int64_t head_dim) {
  return HWY_DYNAMIC_DISPATCH(tiled_floats)(tokens, head_dim);
}

size_t attention_materialised_scratch_floats(int64_t queries, int64_t tokens, int64_t head_dim) {
  return HWY_DYNAMIC_DISPATCH(materialised_floats)(queries, tokens, head_dim);
}

void attention_pack(const AttentionArgs& args) { HWY_DYNAMIC_DISPATCH(pack)(args); }

void attention(const AttentionArgs& args) { HWY_DYNAMIC_DISPATCH(tiled)(args); }

void attention_materialised(const AttentionArgs& args) { HWY_DYNAMIC_DISPATCH(materialised)(args); }

void softmax_rows(const float* logits, int64_t rows, int64_t count, float scale, float* out) {
  HWY_DYNAMIC_DISPATCH(soften_rows)(logits, rows, count, scale, out);
}

int64_t attention_query_block(int64_t tokens) { return HWY_DYNAMIC_DISPATCH(query_block)(tokens); }

int64_t attention_key_block(int64_t tokens) { return HWY_DYNAMIC_DISPATCH(key_block)(tokens); }

}  // namespace vig
#endif  // HWY_ONCE
