// Gated linear attention as chunks of matrix products (docs/onnx.md derives them).
//
// Axes: B batch, H heads, N chunks of C tokens, D directions, L levels, K keys, V values.
// Logarithms of gates are sums of ranges of tokens, made by products with matrices of zeros and
// ones; no sum is a difference of others, so none cancels, and every exponential is at most 1.
#include <algorithm>
#include <cmath>

#include "vig/onnx/ops.h"

namespace vig::onnx_format {
namespace {

// Rows of `cols` zeros and ones.
class RangeMatrix {
 public:
  explicit RangeMatrix(int64_t cols) : cols_(cols) {}
  // Ones at [first, last), if that is a range at all.
  void add_row(int64_t first, int64_t last) {
    for (int64_t t = 0; t < cols_; ++t) values_.push_back(first <= t && t < last ? 1.0f : 0.0f);
  }
  const std::vector<float>& values() const { return values_; }

 private:
  int64_t cols_;
  std::vector<float> values_;
};

// How a sequence is cut, and the matrices that follow from it.
class Chunks {
 public:
  Chunks(int64_t tokens, const GlaOp& op) {
    // Work inside chunks grows with their length, work between them with the square of their
    // number: a length from the root of T to twice that, the one with the fewest tokens of padding.
    const auto root = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(tokens))));
    int64_t fewest = tokens;
    for (int64_t wanted = root; wanted <= 2 * root; ++wanted) {
      const int64_t padding = (tokens + wanted - 1) / wanted * wanted - tokens;
      if (padding >= fewest) continue;
      fewest = padding;
      length = wanted;
    }
    count = (tokens + length - 1) / length;
    while ((int64_t{1} << levels) < length) ++levels;
    const GlaDirection direction = op.direction;
    if (direction != GlaDirection::kBackward) backward.push_back(false);
    if (direction != GlaDirection::kForward) backward.push_back(true);
  }

  int64_t directions() const { return static_cast<int64_t>(backward.size()); }

  // [D, (L + 2) C, C]: sums of log gates from a key to the end of its chunk; at every level from a
  // token to the middle of its block; and from the begin of the chunk to a query.
  std::vector<float> sums() const {
    RangeMatrix rows(length);
    for (const bool back : backward) {
      for (int64_t j = 0; j < length; ++j) back ? rows.add_row(0, j) : rows.add_row(j + 1, length);
      for (int64_t level = 0; level < levels; ++level) {
        for (int64_t i = 0; i < length; ++i) {
          const int64_t half = int64_t{1} << level,
                        middle = (i >> (level + 1) << (level + 1)) + half;
          const bool late = i >= middle;
          if (back) {
            late ? rows.add_row(middle, i) : rows.add_row(i, middle);
          } else {
            late ? rows.add_row(middle, i + 1) : rows.add_row(i + 1, middle);
          }
        }
      }
      for (int64_t i = 0; i < length; ++i) {
        back ? rows.add_row(i, length) : rows.add_row(0, i + 1);
      }
    }
    return rows.values();
  }

  // [D, L, C, C]: ones where the query i and the key j lie in different halves of one block.
  std::vector<float> halves() const {
    std::vector<float> mask;
    for (const bool back : backward) {
      for (int64_t level = 0; level < levels; ++level) {
        for (int64_t i = 0; i < length; ++i) {
          for (int64_t j = 0; j < length; ++j) {
            const bool same_block = i >> (level + 1) == j >> (level + 1);
            const bool query_late = (i >> level) % 2 == 1, key_late = (j >> level) % 2 == 1;
            const bool read = back ? !query_late && key_late : query_late && !key_late;
            mask.push_back(same_block && read ? 1.0f : 0.0f);
          }
        }
      }
    }
    return mask;
  }

  // [D, 1, N, N] of ones where `holds` is true of (row, column), seen in the direction.
  template <class Holds>
  std::vector<float> between(const Holds& holds) const {
    std::vector<float> mask;
    for (const bool back : backward) {
      for (int64_t n = 0; n < count; ++n) {
        for (int64_t m = 0; m < count; ++m) {
          mask.push_back((back ? holds(m, n) : holds(n, m)) ? 1.0f : 0.0f);
        }
      }
    }
    return mask;
  }

  int64_t count = 1;   // N
  int64_t length = 1;  // C
  int64_t levels = 0;  // L
  std::vector<bool> backward;
};

class GlaWriter {
 public:
  GlaWriter(const GlaOp& op, OpWriter& to)
      : op_(op),
        to_(to),
        nodes_(to.nodes()),
        tokens_(to.grid().positions()),
        cut_(tokens_, op),
        heads_(op.heads),
        keys_(op.key_dim),
        values_(op.value_dim) {}

  void run() {
    const int64_t n = cut_.count, c = cut_.length, d = cut_.directions(), levels = cut_.levels;
    load();
    // Factors of all ranges, [B, H, N, D, L + 2, C, K].
    const std::string matrix = nodes_.floats({d, (levels + 2) * c, c}, cut_.sums());
    const std::string logs = nodes_.product(matrix, log_gates_);
    const std::string factors =
        nodes_.reshape(nodes_.add("Exp", {logs}), {0, heads_, n, d, levels + 2, c, keys_});
    const Names parts = nodes_.split(factors, 4, levels > 0 ? Axes{1, levels, 1} : Axes{1, 1});
    std::string weights = self_weights();
    if (levels > 0) weights = nodes_.plus(level_weights(parts[1]), weights);
    std::string o = nodes_.product(weights, v_);  // [B, H, N, C, V]
    if (n > 1) o = nodes_.plus(o, from_other_chunks(parts.front(), parts.back()));
    o = nodes_.reshape(nodes_.transpose(o, {0, 2, 3, 1, 4}), {0, n * c, heads_ * values_});
    if (n * c > tokens_) o = nodes_.slice(o, 1, 0, tokens_);
    to_.give(Form::kRows, o);
  }

 private:
  // [B, T, parts * H * width] to [B, H, N, parts.., C, width], tokens that are missing being zeros.
  std::string by_chunks(const std::string& x, int64_t parts, int64_t width) {
    const int64_t n = cut_.count, c = cut_.length;
    const std::string whole = nodes_.pad(x, {0, 0, 0}, {0, n * c - tokens_, 0});
    const std::string split = nodes_.reshape(whole, {0, n, c, parts, heads_, width});
    return nodes_.transpose(split, {0, 4, 1, 3, 2, 5});
  }

  void load() {
    const int64_t n = cut_.count, c = cut_.length;
    const Names qkv =
        nodes_.split(to_.rows(0), 2, {heads_ * keys_, heads_ * keys_, heads_ * values_});
    const float scale =
        1.0f / std::sqrt(static_cast<float>(keys_)) / static_cast<float>(cut_.directions());
    q_ = by_chunks(nodes_.mul(qkv[0], nodes_.scalar(scale)), 1, keys_);  // [B, H, N, 1, C, K]
    k_ = by_chunks(qkv[1], 1, keys_);
    v_ = nodes_.reshape(by_chunks(qkv[2], 1, values_), {0, heads_, n, c, values_});
    const std::string logs =
        nodes_.mul(nodes_.log_sigmoid(to_.rows(1)), nodes_.scalar(1.0f / 16.0f));
    log_gates_ = by_chunks(logs, gates(), keys_);  // [B, H, N, D or 1, C, K]
  }

  // Sets of gates: one for each direction, or one for both.
  int64_t gates() const { return gla_gate_channels(op_) / (heads_ * keys_); }

  // Every direction includes the token itself, without decay: D q_i k_i on the diagonal.
  std::string self_weights() {
    const int64_t n = cut_.count, c = cut_.length;
    std::vector<float> diagonal(static_cast<size_t>(c * c), 0.0f);
    for (int64_t i = 0; i < c; ++i) {
      diagonal[static_cast<size_t>(i * c + i)] = static_cast<float>(cut_.directions());
    }
    const std::string dot = nodes_.sum_over(nodes_.mul(q_, k_), {-1});  // [B, H, N, 1, C]
    const std::string column = nodes_.reshape(dot, {0, heads_, n, c, 1});
    return nodes_.mul(column, nodes_.floats({c, c}, diagonal));
  }

  // Weights of keys for queries of the same chunk, [B, H, N, C, C], from factors of all levels.
  std::string level_weights(const std::string& factors) {
    const int64_t n = cut_.count, c = cut_.length, d = cut_.directions();
    const Axes shape = {0, heads_, n, 1, 1, c, keys_};
    const std::string q = nodes_.mul(nodes_.reshape(q_, shape), factors);
    const std::string k = nodes_.mul(nodes_.reshape(k_, shape), factors);
    const std::string all = nodes_.product(q, nodes_.transpose(k, {0, 1, 2, 3, 4, 6, 5}));
    const std::string mask = nodes_.floats({d, cut_.levels, c, c}, cut_.halves());
    return nodes_.sum_over(nodes_.mul(all, mask), {3, 4});
  }

  // [B, H, N, C, V]: what the queries of each chunk read of the state that comes into it.
  std::string from_other_chunks(const std::string& to_end, const std::string& from_begin) {
    const int64_t n = cut_.count, c = cut_.length, d = cut_.directions();
    const Axes shape = {0, heads_, n, d, c, keys_};
    const std::string k = nodes_.mul(k_, nodes_.reshape(to_end, shape));
    const std::string v = nodes_.reshape(v_, {0, heads_, n, 1, c, values_});
    const std::string updates = nodes_.product(nodes_.transpose(k, {0, 1, 2, 3, 5, 4}), v);
    const std::string by_key = nodes_.transpose(updates, {0, 1, 3, 4, 2, 5});  // [B, H, D, K, N, V]
    const std::string incoming = nodes_.product(chunk_decays(), by_key);
    const std::string states = nodes_.reshape(nodes_.transpose(incoming, {0, 1, 4, 2, 3, 5}),
                                              {0, heads_, n, d * keys_, values_});
    const std::string q = nodes_.mul(q_, nodes_.reshape(from_begin, shape));
    const std::string queries =
        nodes_.reshape(nodes_.transpose(q, {0, 1, 2, 4, 3, 5}), {0, heads_, n, c, d * keys_});
    return nodes_.product(queries, states);
  }

  // [B, H, D, K, N, N]: how much of the update of chunk m comes into chunk n: the gates of all
  // chunks between them.
  std::string chunk_decays() {
    const int64_t n = cut_.count, d = cut_.directions();
    const auto later = [](int64_t a, int64_t b) { return a > b; };
    const std::string mask = nodes_.floats({d, 1, n, n}, cut_.between(later));
    const std::string totals = nodes_.sum_over(log_gates_, {4});  // [B, H, N, gates, K]
    const std::string by_key = nodes_.reshape(nodes_.transpose(totals, {0, 1, 3, 4, 2}),
                                              {0, heads_, gates(), keys_, 1, n});
    // Row n keeps the chunks before it; column m then sums those behind m.
    const std::string logs = nodes_.product(nodes_.mul(by_key, mask), mask);
    return nodes_.mul(nodes_.add("Exp", {logs}), mask);
  }

  const GlaOp& op_;
  OpWriter& to_;
  NodeWriter& nodes_;
  int64_t tokens_;
  Chunks cut_;
  int64_t heads_, keys_, values_;
  std::string q_, k_, v_, log_gates_;
};

// One direction by ONNX Runtime's own operator; `first` is the first channel of its gates.
std::string linear_attention(const GlaOp& op, OpWriter& to, const std::string& qkv,
                             const std::string& log_gates) {
  NodeWriter& nodes = to.nodes();
  const int64_t keys = int64_t{op.heads} * op.key_dim, values = int64_t{op.heads} * op.value_dim;
  const Names parts = nodes.split(qkv, 2, {keys, keys, values});
  const Names results =
      nodes.add_several("LinearAttention", {parts[0], parts[1], parts[2], "", log_gates}, 2,
                        {{"q_num_heads", int64_t{op.heads}},
                         {"kv_num_heads", int64_t{op.heads}},
                         {"update_rule", std::string("gated")},
                         {"scale", 1.0f / std::sqrt(static_cast<float>(op.key_dim)) /
                                       static_cast<float>(gla_directions(op))}});
  nodes.last().set_domain("com.microsoft");
  to.use_ort_domain();
  to.declare(results[0], {to.grid().positions(), values});
  to.declare(results[1], {op.heads, op.key_dim, op.value_dim});
  return results[0];
}

void write_for_ort(const GlaOp& op, OpWriter& to) {
  NodeWriter& nodes = to.nodes();
  const int64_t keys = int64_t{op.heads} * op.key_dim;
  const auto reversed = [&](const std::string& x) {
    return nodes.add("Slice", {x, nodes.integers({-1}), nodes.integers({INT64_MIN}),
                               nodes.integers({1}), nodes.integers({-1})});
  };
  const std::string qkv = to.rows(0);
  const std::string logs = nodes.mul(nodes.log_sigmoid(to.rows(1)), nodes.scalar(1.0f / 16.0f));
  Names gates = {logs};
  if (op.direction == GlaDirection::kBoth) gates = nodes.split(logs, 2, {keys, keys});
  std::string o;
  if (op.direction != GlaDirection::kBackward) o = linear_attention(op, to, qkv, gates.front());
  if (op.direction != GlaDirection::kForward) {
    const std::string back =
        reversed(linear_attention(op, to, reversed(qkv), reversed(gates.back())));
    o = o.empty() ? back : nodes.plus(o, back);
  }
  to.give(Form::kRows, o);
}

}  // namespace

void write(const GlaOp& op, OpWriter& to) {
  to.fix_size();
  if (to.ort()) {
    write_for_ort(op, to);
  } else {
    GlaWriter(op, to).run();
  }
}

}  // namespace vig::onnx_format
