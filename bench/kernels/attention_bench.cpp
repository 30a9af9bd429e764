// Softmax attention of all heads of one image, packing of keys and values included: tiled, and
// with the T x T matrix of logits stored; windows of a map with bias and labels; and the gradients
// of both. One thread. GFLOP/s count 4 T^2 D a head, of gradients 10 T^2 D, and nothing else; the
// results go into docs/attention.md.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/rounds.h"
#include "vig/base/buffer.h"
#include "vig/kernels/attention.h"
#include "vig/kernels/backward/attention.h"
#include "vig/kernels/denormals.h"
#include "vig/kernels/reference/attention.h"
#include "vig/kernels/window_attention.h"

namespace vig::bench {
namespace {

// Memory like the engine's, in large pages.
class Floats {
 public:
  explicit Floats(size_t count) : buffer_(count * sizeof(float)) {
    std::fill_n(data(), count, 0.0f);
  }
  Floats(size_t count, float amplitude, uint32_t seed) : Floats(count) {
    std::mt19937 random(seed);
    for (size_t i = 0; i < count; ++i) {
      data()[i] = amplitude * (static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f);
    }
  }
  float* data() { return buffer_.floats(); }
  size_t size() const { return buffer_.bytes() / sizeof(float); }

 private:
  Buffer buffer_;
};

// H heads of width D over T tokens, or over every window of a map: rows of q, k, v of all heads.
struct Layer {
  Layer(int64_t map_rows, int64_t window_tokens, int64_t h, int64_t d, int64_t queries)
      : tokens(window_tokens),
        heads(h),
        head_dim(d),
        qkv(static_cast<size_t>(map_rows * 3 * h * d), 1.5f, 1),
        grad_o(static_cast<size_t>(map_rows * h * d), 1.0f, 2),
        packed(attention_packed_floats(tokens, d)),
        scratch(std::max({attention_scratch_floats(tokens, d),
                          attention_materialised_scratch_floats(queries, tokens, d),
                          attention_backward_scratch_floats(tokens, d)})),
        o(static_cast<size_t>(map_rows * h * d)),
        dqkv(qkv.size()),
        lse(static_cast<size_t>(map_rows * h)) {}

  AttentionArgs head(int64_t h, float* out) {
    AttentionArgs args;
    args.tokens = tokens;
    args.head_dim = head_dim;
    args.q = qkv.data() + h * head_dim;
    args.k = args.q + heads * head_dim;
    args.v = args.k + heads * head_dim;
    args.qkv_stride = 3 * heads * head_dim;
    args.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    args.o = out + h * head_dim;
    args.o_stride = heads * head_dim;
    args.packed = packed.data();
    args.scratch = scratch.data();
    return args;
  }
  AttentionBackwardArgs backward(const AttentionArgs& forward, int64_t h, float* d) {
    AttentionBackwardArgs args;
    args.forward = forward;
    args.grad_o = grad_o.data() + h * head_dim;
    args.grad_o_stride = heads * head_dim;
    args.dq = d + h * head_dim;
    args.dk = args.dq + heads * head_dim;
    args.dv = args.dk + heads * head_dim;
    args.dqkv_stride = 3 * heads * head_dim;
    args.scratch = scratch.data();
    return args;
  }

  int64_t tokens, heads, head_dim;
  Floats qkv, grad_o, packed, scratch, o, dqkv, lse;
};

// The largest difference, infinite where there is NaN.
double distance(Floats& a, Floats& b) {
  double largest = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::fabs(static_cast<double>(a.data()[i]) - b.data()[i]);
    largest = std::isnan(d) ? INFINITY : std::max(largest, d);
  }
  return largest;
}

// Means of values up to 1, and their gradients.
constexpr double kTolerance = 1e-5;

// The packing is part of it, unless only some queries of a long sequence are computed: a run is
// then short enough to find the machine idle.
void attention_heads(benchmark::State& state) {
  const FlushDenormals flush;
  const int64_t queries = state.range(3) == 0 ? state.range(0) : state.range(3);
  Layer layer(state.range(0), state.range(0), state.range(1), state.range(2), queries);
  const auto forward = [&](bool pack, void (*kernel)(const AttentionArgs&)) {
    for (int64_t h = 0; h < layer.heads; ++h) {
      AttentionArgs args = layer.head(h, layer.o.data());
      args.last_query = queries;
      if (pack) attention_pack(args);
      kernel(args);
    }
  };
  const bool packs = queries == layer.tokens;
  const std::vector<Contender> contenders = {
      {"tiled", [&] { forward(packs, attention); }},
      {"materialised", [&] { forward(packs, attention_materialised); }},
      {"packing", [&] { forward(true, [](const AttentionArgs&) {}); }}};
  Floats want(layer.o.size());
  for (int64_t h = 0; h < layer.heads; ++h) {
    AttentionArgs args = layer.head(h, want.data());
    args.last_query = queries;
    reference::attention(args);
  }
  contenders[2].run();
  for (size_t c = 0; c < 2; ++c) {
    std::fill_n(layer.o.data(), queries * layer.heads * layer.head_dim, NAN);
    contenders[c].run();
    if (!(distance(layer.o, want) <= kTolerance)) {
      return state.SkipWithError((contenders[c].name + " gives a wrong result").c_str());
    }
  }
  time_rounds(state, contenders,
              4.0 * static_cast<double>(queries * layer.tokens * layer.heads * layer.head_dim));
}

void attention_gradients(benchmark::State& state) {
  const FlushDenormals flush;
  Layer layer(state.range(0), state.range(0), state.range(1), state.range(2), 0);
  Floats want(layer.dqkv.size());
  for (int64_t h = 0; h < layer.heads; ++h) {
    AttentionArgs args = layer.head(h, layer.o.data());
    args.lse = layer.lse.data() + h * layer.tokens;
    attention_pack(args);
    attention(args);
    reference::attention_backward(layer.backward(args, h, want.data()));
  }
  const auto backward = [&] {
    for (int64_t h = 0; h < layer.heads; ++h) {
      AttentionArgs args = layer.head(h, layer.o.data());
      args.lse = layer.lse.data() + h * layer.tokens;
      attention_backward(layer.backward(args, h, layer.dqkv.data()));
    }
  };
  backward();
  if (!(distance(layer.dqkv, want) <= kTolerance)) {
    return state.SkipWithError("gradients are wrong");
  }
  time_rounds(
      state, {{"gradients", backward}},
      10.0 * static_cast<double>(layer.tokens * layer.tokens * layer.heads * layer.head_dim));
}

// All windows of a square map, shifted by half a window.
struct WindowLayer : Layer {
  WindowLayer(int64_t side, int64_t window, int64_t h, int64_t d)
      : Layer(side * side, window * window, h, d, 0),
        windows{side, side, window, window, window / 2, window / 2},
        bias(static_cast<size_t>(h * tokens * tokens), 1.0f, 3),
        dbias(bias.size()),
        pad(static_cast<size_t>(2 * d), 1.0f, 4),
        dpad(pad.size()) {
    for (int64_t w = 0; w < windows.count(); ++w) {
      rows.resize(static_cast<size_t>((w + 1) * tokens));
      labels.resize(rows.size());
      window_tokens(windows, w, rows.data() + w * tokens, labels.data() + w * tokens);
    }
  }
  AttentionArgs window(int64_t w, int64_t h, float* out) {
    AttentionArgs args = head(h, out);
    args.rows = rows.data() + w * tokens;
    args.labels = labels.data() + w * tokens;
    args.pad_k = pad.data();
    args.pad_v = pad.data() + head_dim;
    args.bias = bias.data() + h * tokens * tokens;
    args.bias_stride = tokens;
    args.lse = sums.data();
    return args;
  }
  template <class F>
  void for_each(float* out, const F& f) {
    for (int64_t w = 0; w < windows.count(); ++w) {
      for (int64_t h = 0; h < heads; ++h) f(window(w, h, out), h);
    }
  }
  double pairs() const {
    return static_cast<double>(windows.count() * tokens * tokens * heads * head_dim);
  }

  AttentionWindows windows;
  Floats bias, dbias, pad, dpad;
  Floats sums = Floats(static_cast<size_t>(tokens));
  std::vector<int32_t> rows, labels;
};

void window_attention(benchmark::State& state) {
  const FlushDenormals flush;
  WindowLayer layer(state.range(0), state.range(1), state.range(2), state.range(3));
  Floats want(layer.o.size());
  layer.for_each(want.data(),
                 [](const AttentionArgs& args, int64_t) { reference::attention(args); });
  const auto forward = [&] {
    layer.for_each(layer.o.data(), [](const AttentionArgs& args, int64_t) {
      attention_pack(args);
      attention(args);
    });
  };
  forward();
  if (!(distance(layer.o, want) <= kTolerance)) return state.SkipWithError("the result is wrong");
  const auto packing = [&] {
    layer.for_each(layer.o.data(),
                   [](const AttentionArgs& args, int64_t) { attention_pack(args); });
  };
  time_rounds(state, {{"windows", forward}, {"packing", packing}}, 4.0 * layer.pairs());
}

void window_gradients(benchmark::State& state) {
  const FlushDenormals flush;
  WindowLayer layer(state.range(0), state.range(1), state.range(2), state.range(3));
  // A window's forward pass comes first, since all share one row of sums.
  const auto run = [&](void (*kernel)(const AttentionBackwardArgs&), float* d) {
    layer.for_each(layer.o.data(), [&](const AttentionArgs& args, int64_t h) {
      AttentionBackwardArgs back = layer.backward(args, h, d);
      back.dpad_k = layer.dpad.data();
      back.dpad_v = layer.dpad.data() + layer.head_dim;
      back.dbias = layer.dbias.data() + h * layer.tokens * layer.tokens;
      back.dbias_stride = layer.tokens;
      attention_pack(args);
      attention(args);
      kernel(back);
    });
  };
  Floats want(layer.dqkv.size());
  run(reference::attention_backward, want.data());
  run(attention_backward, layer.dqkv.data());
  if (!(distance(layer.dqkv, want) <= kTolerance)) {
    return state.SkipWithError("gradients are wrong");
  }
  time_rounds(state, {{"both_passes", [&] { run(attention_backward, layer.dqkv.data()); }}},
              14.0 * layer.pairs());
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"T", "H", "D", "queries"});
  bench->Args({197, 3, 64, 0})->Args({50, 3, 64, 0})->Args({577, 1, 64, 0});
  bench->Args({1025, 1, 64, 252})->Args({4097, 1, 64, 72})->Args({16385, 1, 64, 36});
  bench->Args({197, 6, 32, 0})->Args({197, 3, 80, 0})->Args({197, 3, 128, 0});
  bench->UseManualTime()->MinTime(0.2)->Unit(benchmark::kMicrosecond);
}

void training_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"T", "H", "D"});
  bench->Args({197, 1, 64})->Args({577, 1, 64})->Args({197, 3, 32});
  bench->UseManualTime()->MinTime(0.2)->Unit(benchmark::kMicrosecond);
}

// The stages of Swin-T at 224, the first at 256 (padded), a window of 12.
void maps(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"side", "window", "H", "D"});
  bench->Args({56, 7, 3, 32})->Args({28, 7, 6, 32})->Args({14, 7, 12, 32})->Args({7, 7, 24, 32});
  bench->Args({64, 7, 3, 32})->Args({48, 12, 4, 32});
  bench->UseManualTime()->MinTime(0.2)->Unit(benchmark::kMicrosecond);
}

BENCHMARK(attention_heads)->Apply(shapes);
BENCHMARK(window_attention)->Apply(maps);
BENCHMARK(attention_gradients)->Apply(training_shapes);
BENCHMARK(window_gradients)->Apply(maps);

}  // namespace
}  // namespace vig::bench
