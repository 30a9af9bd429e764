// One head of attention for tests: q, k and v side by side at odd offsets, with gaps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/scratch.h"
#include "kernels/sheet.h"
#include "vig/kernels/attention.h"

namespace vig::test {

struct Head {
  // What a query that is left out keeps in its outputs.
  static constexpr float kUntouched = 7.0f;

  Head(int64_t t, int64_t d) : Head(t, d, t) {}
  // The tokens of a window: they lie in any order in a larger map; every third one is padded,
  // unless `pads` is false. With bias, and with labels that part the tokens in three.
  static Head window(int64_t tokens, int64_t head_dim, bool pads = true) {
    Head head(tokens, head_dim, tokens + 4);
    std::vector<int32_t> order(static_cast<size_t>(tokens) + 4);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    std::shuffle(order.begin(), order.end(), std::mt19937(head.seed()));
    for (int64_t t = 0; t < tokens; ++t) {
      const bool padded = pads && t % 3 == 1;
      head.rows.push_back(padded ? -1 : order[static_cast<size_t>(t)]);
      head.labels.push_back(static_cast<int32_t>(t * t % 5 % 3));
    }
    head.pad.noise(head.seed() + 1);
    head.bias.noise(head.seed() + 2, -2.0f, 2.0f);
    return head;
  }

  uint32_t seed() const { return static_cast<uint32_t>(tokens * 10007 + head_dim * 101); }
  bool padded(int64_t t) const { return !rows.empty() && rows[static_cast<size_t>(t)] < 0; }
  float* q() { return qkv.data(); }
  float* k() { return qkv.data() + head_dim; }
  float* v() { return qkv.data() + 2 * head_dim; }
  Sheet output() const {
    Sheet o(map_rows, head_dim, 5, 3);
    o.fill([] { return kUntouched; });
    return o;
  }
  Sheet row_of_sums() const {
    Sheet lse(1, tokens, 0, 1);
    lse.fill([] { return kUntouched; });
    return lse;
  }
  AttentionArgs args(Sheet& o, Sheet& lse) {
    AttentionArgs args;
    args.tokens = tokens;
    args.head_dim = head_dim;
    args.q = q();
    args.k = k();
    args.v = v();
    args.qkv_stride = qkv.stride;
    args.scale = scale;
    if (!rows.empty()) {
      args.rows = rows.data();
      args.pad_k = pad.data();
      args.pad_v = pad.data() + head_dim;
      args.bias = bias.data();
      args.bias_stride = bias.stride;
      args.labels = labels.data();
    }
    args.o = o.data();
    args.o_stride = o.stride;
    args.lse = lse.data();
    return args;
  }
  std::string name() const {
    return "T " + std::to_string(tokens) + ", D " + std::to_string(head_dim) +
           (rows.empty() ? "" : ", window");
  }

  int64_t tokens, head_dim, map_rows;
  Sheet qkv, pad, bias;
  float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  std::vector<int32_t> rows, labels;

 private:
  // Logits are of order 1.
  Head(int64_t t, int64_t d, int64_t map)
      : tokens(t),
        head_dim(d),
        map_rows(map),
        qkv(map, 3 * d, 3, 1),
        pad(1, 2 * d),
        bias(t, t, 2, 3) {
    qkv.noise(seed());
    for (int64_t row = 0; row < map; ++row) {
      for (int64_t c = 0; c < 2 * d; ++c) qkv.at(row, c) *= 1.5f;
    }
  }
};

}  // namespace vig::test
