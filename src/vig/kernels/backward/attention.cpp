#include "vig/kernels/backward/attention.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/attention.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/attention-inl.h"
#include "vig/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// Tokens of a block, of queries as of keys: two tiles of their pairs and the rows of both fit in a
// core's second-level cache.
constexpr size_t kBlock = 64;
constexpr size_t kInterleaved = 4;  // rows whose exponentials are computed side by side

// What lies in the scratch. Rows of queries are those that are not padded.
struct Layout {
  Layout(float* memory, size_t tokens, size_t width)
      : block(even_blocks(tokens, kBlock)),
        row(round_up(width, kPanel) + 16),  // not a power of two, which would share few cache sets
        tile_row(block + 16) {
    const size_t panels = round_up(tokens, kPanel) * width, rows = tokens * row;
    Parts parts(memory);
    keys = parts.take(panels);
    values = parts.take(panels);
    k = parts.take(rows);
    q = parts.take(rows);
    grad_o = parts.take(rows);
    dq = parts.take(rows);
    dk = parts.take(block * row);
    dv = parts.take(block * row);
    p = parts.take(round_up(block, kInterleaved) * tile_row);
    ds = parts.take(round_up(block, kInterleaved) * tile_row);
    lse = parts.take(tokens + kInterleaved);
    delta = parts.take(tokens + kInterleaved);
    ones = parts.take(block);
    labels = parts.take(round_up(tokens, kPanel));
    list = reinterpret_cast<int32_t*>(parts.take(tokens));
    floats = parts.total();
  }
  size_t block, row, tile_row, floats;
  float *keys, *values;   // transposed, in panels of tokens
  float *k, *q, *grad_o;  // rows of D channels, q times scale
  float* dq;              // without scale
  float *dk, *dv;         // of a block of keys
  float *p, *ds;          // of a block of queries and one of keys; logits and dP at first
  float *lse, *delta;     // of every query; delta = do . o
  float *ones, *labels;
  int32_t* list;  // which tokens the queries are
};

// Copies the row of a token times `scale`, up to a whole vector.
HWY_INLINE void copy_row(const float* from, size_t width, float scale, float* to) {
  const RowTag d;
  for_each_vector(width, [&](size_t i, const auto& load, const auto&) HWY_ATTR {
    hn::Store(hn::Mul(hn::Set(d, scale), load(from + i)), d, to + i);
  });
}

HWY_INLINE void write_row(const float* from, size_t width, float scale, float* to) {
  const RowTag d;
  for_each_vector(width, [&](size_t i, const auto&, const auto& store) HWY_ATTR {
    store(hn::Mul(hn::Set(d, scale), hn::Load(d, from + i)), to + i);
  });
}

HWY_INLINE void add_row(const float* from, size_t count, float* to) {
  map_row(count, to, [&](size_t i, const auto& load) HWY_ATTR {
    return hn::Add(load(to + i), load(from + i));
  });
}

HWY_INLINE float dot(const float* a, const float* b, size_t width) {
  const RowTag d;
  RowVec sum = hn::Zero(d);
  for_each_vector(width, [&](size_t i, const auto& load, const auto&)
                             HWY_ATTR { sum = hn::MulAdd(load(a + i), load(b + i), sum); });
  return sum_lanes(sum);
}

// Fills the layout; the result is the number of queries.
size_t prepare(const AttentionBackwardArgs& args, const Layout& at) {
  const AttentionArgs& forward = args.forward;
  const size_t tokens = static_cast<size_t>(forward.tokens);
  const size_t width = static_cast<size_t>(forward.head_dim);
  const Tokens k{forward.k, forward.qkv_stride, forward.rows, forward.pad_k};
  const Tokens v{forward.v, forward.qkv_stride, forward.rows, forward.pad_v};
  pack_transposed(k, tokens, width, at.keys);
  pack_transposed(v, tokens, width, at.values);
  if (forward.labels != nullptr) pack_labels(forward.labels, tokens, at.labels);
  std::fill_n(at.ones, at.block, 1.0f);
  size_t queries = 0;
  for (size_t t = 0; t < tokens; ++t) {
    copy_row(k.row(t), width, 1.0f, at.k + t * at.row);
    if (is_padded(forward, static_cast<int64_t>(t))) continue;
    const int64_t row = row_of(forward, static_cast<int64_t>(t));
    const float* grad_o = args.grad_o + row * args.grad_o_stride;
    copy_row(forward.q + row * forward.qkv_stride, width, forward.scale, at.q + queries * at.row);
    copy_row(grad_o, width, 1.0f, at.grad_o + queries * at.row);
    at.delta[queries] = dot(grad_o, forward.o + row * forward.o_stride, width);
    at.lse[queries] = forward.lse[t];
    at.list[queries++] = static_cast<int32_t>(t);
  }
  return queries;
}

// p = e^(logits - lse), ds = p (dp - delta) of kInterleaved rows, up to whole vectors.
HWY_INLINE void slopes(float* HWY_RESTRICT p, float* HWY_RESTRICT ds, size_t stride, size_t keys,
                       const float* lse, const float* delta) {
  const RowTag d;
  for (size_t i = 0; i < keys; i += kLanes) {
    RowVec x[kInterleaved];
#pragma GCC unroll 4
    for (size_t n = 0; n < kInterleaved; ++n) {
      x[n] = hn::Sub(hn::Load(d, p + n * stride + i), hn::Set(d, lse[n]));
      x[n] = not_below_exp(x[n]);  // above 0 by roundings at most
    }
    exp_each<kInterleaved>(x);
#pragma GCC unroll 4
    for (size_t n = 0; n < kInterleaved; ++n) {
      const RowVec dp = hn::Load(d, ds + n * stride + i);
      hn::Store(x[n], d, p + n * stride + i);
      hn::Store(hn::Mul(x[n], hn::Sub(dp, hn::Set(d, delta[n]))), d, ds + n * stride + i);
    }
  }
}

// A block of queries and one of keys, each from its first on.
struct Pair {
  size_t query, queries, key, keys;
};

// p and ds of the pair, and what ds adds to the gradient of the bias.
void pair_slopes(const AttentionBackwardArgs& args, const Layout& at, const Pair& pair) {
  const size_t width = static_cast<size_t>(args.forward.head_dim);
  Product product;
  product.rows = pair.queries;
  product.columns = pair.keys;
  product.depth = width;
  product.a_row = at.row;
  product.b_row = kPanel;
  product.b_panel = width * kPanel;
  product.c_row = at.tile_row;
  product.a = at.q + pair.query * at.row;
  product.b = at.keys + pair.key * width;
  product.c = at.p;
  multiply(product);
  product.a = at.grad_o + pair.query * at.row;
  product.b = at.values + pair.key * width;
  product.c = at.ds;
  multiply(product);
  with_shift(args.forward, [&](auto bias, auto labels) HWY_ATTR {
    if constexpr (bias.value || labels.value) {
      for (size_t r = 0; r < pair.queries; ++r) {
        const Shift shift(args.forward, at.labels, at.list[pair.query + r], pair.key);
        float* row = at.p + r * at.tile_row;
        map_row(pair.keys, row, [&](size_t i, const auto& load) HWY_ATTR {
          return shift.template apply<bias.value, labels.value>(row, i, load);
        });
      }
    }
  });
  for (size_t r = 0; r < pair.queries; r += kInterleaved) {
    slopes(at.p + r * at.tile_row, at.ds + r * at.tile_row, at.tile_row, pair.keys,
           at.lse + pair.query + r, at.delta + pair.query + r);
  }
  if (args.dbias != nullptr) {
    for (size_t r = 0; r < pair.queries; ++r) {
      add_row(at.ds + r * at.tile_row, pair.keys,
              args.dbias + at.list[pair.query + r] * args.dbias_stride +
                  static_cast<int64_t>(pair.key));
    }
  }
}

// What the pair adds to dv, dk and dq.
void add_pair(const Layout& at, const Pair& pair, size_t width) {
  Product product;
  product.columns = width;
  product.a_row = at.tile_row;
  product.b_row = at.row;
  product.b_panel = kPanel;
  product.c_row = at.row;
  // dv += p^T do, dk += ds^T q
  product.rows = pair.keys;
  product.depth = pair.queries;
  product.factor = pair.query == 0 ? nullptr : at.ones;
  product.a = at.p;
  product.b = at.grad_o + pair.query * at.row;
  product.c = at.dv;
  multiply<true>(product);
  product.a = at.ds;
  product.b = at.q + pair.query * at.row;
  product.c = at.dk;
  multiply<true>(product);
  // dq += ds k
  product.rows = pair.queries;
  product.depth = pair.keys;
  product.factor = pair.key == 0 ? nullptr : at.ones;
  product.b = at.k + pair.key * at.row;
  product.c = at.dq + pair.query * at.row;
  multiply(product);
}

void write_keys(const AttentionBackwardArgs& args, const Layout& at, size_t first, size_t keys) {
  const AttentionArgs& forward = args.forward;
  const size_t width = static_cast<size_t>(forward.head_dim);
  for (size_t j = 0; j < keys; ++j) {
    const int64_t t = static_cast<int64_t>(first + j);
    const float *dk = at.dk + j * at.row, *dv = at.dv + j * at.row;
    if (is_padded(forward, t)) {
      add_row(dk, width, args.dpad_k);
      add_row(dv, width, args.dpad_v);
    } else {
      const int64_t to = row_of(forward, t) * args.dqkv_stride;
      write_row(dk, width, 1.0f, args.dk + to);
      write_row(dv, width, 1.0f, args.dv + to);
    }
  }
}

void gradients(const AttentionBackwardArgs& args) {
  const AttentionArgs& forward = args.forward;
  const size_t tokens = static_cast<size_t>(forward.tokens);
  const size_t width = static_cast<size_t>(forward.head_dim);
  const Layout at(args.scratch, tokens, width);
  const size_t queries = prepare(args, at);
  if (args.dpad_k != nullptr) std::fill_n(args.dpad_k, width, 0.0f);
  if (args.dpad_v != nullptr) std::fill_n(args.dpad_v, width, 0.0f);
  if (queries == 0) return;  // all tokens are padded, none has a gradient
  for (size_t key = 0; key < tokens; key += at.block) {
    const size_t keys = std::min(at.block, tokens - key);
    for (size_t query = 0; query < queries; query += at.block) {
      const Pair pair{query, std::min(at.block, queries - query), key, keys};
      pair_slopes(args, at, pair);
      add_pair(at, pair, width);
    }
    write_keys(args, at, key, keys);
  }
  for (size_t r = 0; r < queries; ++r) {
    const int64_t to = row_of(forward, at.list[r]) * args.dqkv_stride;
    write_row(at.dq + r * at.row, width, forward.scale, args.dq + to);
  }
}

size_t layout_floats(int64_t tokens, int64_t head_dim) {
  return Layout(nullptr, static_cast<size_t>(tokens), static_cast<size_t>(head_dim)).floats;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {
namespace {

HWY_EXPORT(gradients);
HWY_EXPORT(layout_floats);

}  // namespace

size_t attention_backward_scratch_floats(int64_t tokens, int64_t head_dim) {
  return HWY_DYNAMIC_DISPATCH(layout_floats)(tokens, head_dim);
}

void attention_backward(const AttentionBackwardArgs& args) {
  HWY_DYNAMIC_DISPATCH(gradients)(args);
}

}  // namespace vig
#endif  // HWY_ONCE
