// The two-direction scan with head norms, gate and mix, against the same work done in more passes:
// one direction after the other by the token-wise recurrence (version 2 of docs/gla.md) or in
// chunks (version 3), the first also with reversed copies, and plain loops; each then merges,
// norms, gates and mixes in passes of their own. One thread. GFLOP/s count the recurrence's 6 K V
// per token, head and direction and nothing else, whatever a contender really does. The results go
// into docs/gla.md. So does how many times longer than the scan its gradients take.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/gla_recurrent.h"
#include "kernels/rounds.h"
#include "vig/base/buffer.h"
#include "vig/kernels/backward/gla.h"
#include "vig/kernels/gla.h"
#include "vig/kernels/norm.h"
#include "vig/kernels/pointwise.h"
#include "vig/kernels/reference/gla.h"
#include "vig/kernels/reference/gla_backward.h"
#include "vig/kernels/reference/pointwise.h"

namespace vig::bench {
namespace {

constexpr float kEps = 1e-5f;

// Memory like the engine's, in large pages.
class Floats {
 public:
  explicit Floats(int64_t count) : buffer_(static_cast<size_t>(count) * sizeof(float)) {
    fill(0.0f);
  }
  Floats(int64_t count, float low, float high, uint32_t seed) : Floats(count) {
    std::mt19937 random(seed);
    for (float& x : *this) x = low + (high - low) * static_cast<float>(random() >> 8) * 0x1p-24f;
  }
  void fill(float value) { std::fill(begin(), end(), value); }
  int64_t size() const { return static_cast<int64_t>(buffer_.bytes() / sizeof(float)); }
  float* data() { return buffer_.floats(); }
  float* begin() { return data(); }
  float* end() { return data() + size(); }

 private:
  Buffer buffer_;
};

// T tokens, H heads, K key and V value width. Rows as the projections leave them: all heads' q,
// then k, then v in one row; gates in rows of their own.
struct Mixer {
  Mixer(int64_t t, int64_t h, int64_t k, int64_t v)
      : tokens(t),
        heads(h),
        key_dim(k),
        value_dim(v),
        width(h * (2 * k + v)),
        qkv(t * width, -1.0f, 1.0f, 1),
        forward(t * h * k, 0.9f, 1.0f, 2),
        backward(t * h * k, 0.9f, 1.0f, 3),
        gate(t * h * v, -2.0f, 2.0f, 4),
        local(t * h * v, -1.0f, 1.0f, 5),
        o_weight(v, 0.5f, 1.5f, 6),
        local_weight(v, 0.5f, 1.5f, 7),
        state(static_cast<int64_t>(gla_state_floats(k, v))) {}
  int64_t channels() const { return heads * value_dim; }

  GlaArgs head(int64_t h, float* o) {
    GlaArgs args;
    args.tokens = tokens;
    args.key_dim = key_dim;
    args.value_dim = value_dim;
    args.q = qkv.data() + h * key_dim;
    args.k = args.q + heads * key_dim;
    args.v = qkv.data() + 2 * heads * key_dim + h * value_dim;
    args.qkv_stride = width;
    args.alpha_forward = forward.data() + h * key_dim;
    args.alpha_backward = backward.data() + h * key_dim;
    args.alpha_stride = heads * key_dim;
    args.scale = 0.5f / std::sqrt(static_cast<float>(key_dim));
    args.o = o + h * value_dim;
    args.o_stride = channels();
    args.state = state.data();
    return args;
  }
  GatedMixArgs mix(const float* o, float* y) {
    GatedMixArgs args;
    args.gate = {gate.data(), channels()};
    args.o = {o, channels()};
    args.local = {local.data(), channels()};
    args.o_weight = o_weight.data();
    args.local_weight = local_weight.data();
    args.eps = kEps;
    args.heads = heads;
    args.out = y;
    args.out_stride = channels();
    args.rows = tokens;
    args.channels = channels();
    return args;
  }

  int64_t tokens, heads, key_dim, value_dim, width;
  Floats qkv, forward, backward, gate, local, o_weight, local_weight, state;
};

// The norms, the gate and the mix one operation after the other, each over the whole sequence, as a
// framework does it: y = g * norm(o) + (1 - g) * norm(local), here local + g * (o - local).
class SeparatePasses {
 public:
  explicit SeparatePasses(Mixer& m)
      : m_(m), local_(m.local.size()), gate_(m.gate.size()), minus_one_(m.channels()) {
    minus_one_.fill(-1.0f);
  }

  void finish(Floats& o, Floats& y) {
    norm(o.data(), o.data(), m_.o_weight.data());
    norm(m_.local.data(), local_.data(), m_.local_weight.data());
    map({Elementwise::kSigmoid}, m_.gate.data(), nullptr, gate_.data());
    map(kProduct, local_.data(), minus_one_.data(), y.data(), 0);
    map(kSum, o.data(), y.data(), y.data());
    map(kProduct, gate_.data(), y.data(), y.data());
    map(kSum, local_.data(), y.data(), y.data());
  }
  void add(Floats& a, Floats& b, Floats& sum) { map(kSum, a.data(), b.data(), sum.data()); }

 private:
  void map(Pointwise kind, const float* a, const float* b, float* out, int64_t b_stride = -1) {
    const int64_t n = m_.channels();
    pointwise({kind, {a, n}, {b, b_stride < 0 ? n : b_stride}, out, n, m_.tokens, n});
  }
  void norm(const float* in, float* out, const float* weight) {
    const int64_t n = m_.channels();
    rms_norm({in, n, out, n, m_.tokens, n, kEps, weight, nullptr, m_.heads});
  }

  Mixer& m_;
  Floats local_, gate_, minus_one_;
};

// The backward direction by a kernel that only knows forward: on reversed copies of its inputs, as
// the published code does when training.
class Reversed {
 public:
  explicit Reversed(Mixer& m)
      : m_(m), qkv_(m.qkv.size()), alpha_(m.backward.size()), o_(m.local.size()) {}

  void run(Floats& o) {
    flip(m_.qkv, qkv_);
    flip(m_.backward, alpha_);
    for (int64_t h = 0; h < m_.heads; ++h) {
      GlaArgs args = m_.head(h, o_.data());
      args.q = qkv_.data() + (args.q - m_.qkv.data());
      args.k = qkv_.data() + (args.k - m_.qkv.data());
      args.v = qkv_.data() + (args.v - m_.qkv.data());
      args.alpha_forward = alpha_.data() + h * m_.key_dim;
      args.alpha_backward = nullptr;
      gla_recurrent(args);
    }
    flip(o_, o);
  }

 private:
  void flip(Floats& from, Floats& to) {
    const int64_t row = from.size() / m_.tokens;
    for (int64_t t = 0; t < m_.tokens; ++t) {
      std::copy_n(from.data() + (m_.tokens - 1 - t) * row, row, to.data() + t * row);
    }
  }

  Mixer& m_;
  Floats qkv_, alpha_, o_;
};

// The recurrence written down plainly in float, what the compiler makes of it.
void plain_loops(const GlaArgs& args) {
  float* const state = args.state;
  for (const bool backward : {false, true}) {
    std::fill_n(state, args.key_dim * args.value_dim, 0.0f);
    for (int64_t n = 0; n < args.tokens; ++n) {
      const int64_t t = backward ? args.tokens - 1 - n : n;
      const float* alpha = (backward ? args.alpha_backward : args.alpha_forward);
      const float* v = args.v + t * args.qkv_stride;
      float* o = args.o + t * args.o_stride;
      if (!backward) std::fill_n(o, args.value_dim, 0.0f);
      for (int64_t i = 0; i < args.key_dim; ++i) {
        const float a = alpha[t * args.alpha_stride + i];
        const float k = args.k[t * args.qkv_stride + i];
        const float q = args.q[t * args.qkv_stride + i] * args.scale;
        float* s = state + i * args.value_dim;
        for (int64_t j = 0; j < args.value_dim; ++j) s[j] = a * s[j] + k * v[j];
        for (int64_t j = 0; j < args.value_dim; ++j) o[j] += q * s[j];
      }
    }
  }
}

void mixer(benchmark::State& state) {
  Mixer m(state.range(0), state.range(1), state.range(2), state.range(3));
  SeparatePasses separate(m);
  Floats o(m.local.size()), other(o.size()), y(o.size()), want(o.size());

  Reversed reversed(m);
  const auto direction = [&](bool backward, void (*kernel)(const GlaArgs&), Floats& to) {
    for (int64_t h = 0; h < m.heads; ++h) {
      GlaArgs args = m.head(h, to.data());
      (backward ? args.alpha_forward : args.alpha_backward) = nullptr;
      kernel(args);
    }
  };
  const auto passes = [&](void (*kernel)(const GlaArgs&)) {
    direction(false, kernel, o);
    direction(true, kernel, other);
    separate.add(o, other, o);
    separate.finish(o, y);
  };
  const auto scan = [&] {
    for (int64_t h = 0; h < m.heads; ++h) gla(m.head(h, o.data()));
  };
  const std::vector<Contender> contenders = {{"fused",
                                              [&] {
                                                scan();
                                                gated_mix(m.mix(o.data(), y.data()));
                                              }},
                                             {"recurrent", [&] { passes(gla_recurrent); }},
                                             {"chunked", [&] { passes(gla); }},
                                             {"flipped",
                                              [&] {
                                                direction(false, gla_recurrent, o);
                                                reversed.run(other);
                                                separate.add(o, other, o);
                                                separate.finish(o, y);
                                              }},
                                             {"plain",
                                              [&] {
                                                for (int64_t h = 0; h < m.heads; ++h)
                                                  plain_loops(m.head(h, o.data()));
                                                separate.finish(o, y);
                                              }},
                                             {"scan_alone", scan}};

  for (int64_t h = 0; h < m.heads; ++h) reference::gla(m.head(h, o.data()));
  reference::gated_mix(m.mix(o.data(), want.data()));
  for (const Contender& contender : contenders) {
    if (contender.name == "scan_alone") continue;  // part of the first
    y.fill(NAN);
    contender.run();
    for (int64_t i = 0; i < y.size(); ++i) {
      // Normed values of order 1 from sums that forget within tens of tokens.
      if (!(std::fabs(y.data()[i] - want.data()[i]) <= 5e-5)) {
        return state.SkipWithError((contender.name + " gives a wrong result").c_str());
      }
    }
  }
  time_rounds(state, contenders,
              12.0 * static_cast<double>(m.tokens * m.heads * m.key_dim * m.value_dim));
}

// dq, dk and dv of all heads in rows like qkv, dlog_alpha in rows like the gates.
struct Gradients {
  explicit Gradients(Mixer& mixer)
      : m(mixer),
        grad_o(m.local.size(), -1.0f, 1.0f, 8),
        dqkv(m.qkv.size()),
        forward(m.forward.size()),
        backward(m.backward.size()),
        scratch(
            static_cast<int64_t>(gla_backward_scratch_floats(m.tokens, m.key_dim, m.value_dim))) {}

  void run(void (*kernel)(const GlaBackwardArgs&)) {
    for (int64_t h = 0; h < m.heads; ++h) {
      const GlaArgs scan = m.head(h, nullptr);
      GlaBackwardArgs args;
      args.tokens = scan.tokens;
      args.key_dim = scan.key_dim;
      args.value_dim = scan.value_dim;
      args.q = scan.q;
      args.k = scan.k;
      args.v = scan.v;
      args.qkv_stride = scan.qkv_stride;
      args.alpha_forward = scan.alpha_forward;
      args.alpha_backward = scan.alpha_backward;
      args.alpha_stride = scan.alpha_stride;
      args.scale = scan.scale;
      args.grad_o = grad_o.data() + h * m.value_dim;
      args.grad_o_stride = m.channels();
      args.dq = dqkv.data() + (scan.q - m.qkv.data());
      args.dk = dqkv.data() + (scan.k - m.qkv.data());
      args.dv = dqkv.data() + (scan.v - m.qkv.data());
      args.dqkv_stride = m.width;
      args.dlog_alpha_forward = forward.data() + h * m.key_dim;
      args.dlog_alpha_backward = backward.data() + h * m.key_dim;
      args.dlog_alpha_stride = scan.alpha_stride;
      args.scratch = scratch.data();
      kernel(args);
    }
  }

  Mixer& m;
  Floats grad_o, dqkv, forward, backward, scratch;
};

void gradients(benchmark::State& state) {
  Mixer m(state.range(0), state.range(1), state.range(2), state.range(3));
  Floats o(m.local.size());
  Gradients ours(m), want(m);
  ours.run(gla_backward);
  want.run(reference::gla_backward);
  for (Floats Gradients::*part : {&Gradients::dqkv, &Gradients::forward, &Gradients::backward}) {
    const float *got = (ours.*part).data(), *expected = (want.*part).data();
    for (int64_t i = 0; i < (want.*part).size(); ++i) {
      // Sums over tens of tokens of products of values up to 1.
      if (!(std::fabs(got[i] - expected[i]) <= 1e-4)) {
        return state.SkipWithError("gradients are wrong");
      }
    }
  }
  const std::vector<Contender> contenders = {{"scan",
                                              [&] {
                                                for (int64_t h = 0; h < m.heads; ++h)
                                                  gla(m.head(h, o.data()));
                                              }},
                                             {"gradients", [&] { ours.run(gla_backward); }}};
  time_rounds(state, contenders,
              12.0 * static_cast<double>(m.tokens * m.heads * m.key_dim * m.value_dim));
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"T", "H", "K", "V"});
  for (const int64_t tokens : {49, 196, 784, 4096, 16384, 65536}) {
    bench->Args({tokens, 3, 32, 64});  // vig_t
    bench->Args({tokens, 3, 16, 32});  // the first stage of vig_h
  }
  // Its later stages at 224 x 224.
  bench->Args({784, 6, 16, 32})->Args({196, 12, 16, 32})->Args({49, 24, 16, 32});
  bench->UseManualTime()->MinTime(0.2)->Unit(benchmark::kMicrosecond);
}

void training_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"T", "H", "K", "V"});
  for (const int64_t tokens : {49, 196, 784, 3136}) {
    bench->Args({tokens, 3, 32, 64})->Args({tokens, 3, 16, 32});
  }
  bench->Args({196, 12, 16, 32});
  bench->UseManualTime()->MinTime(0.2)->Unit(benchmark::kMicrosecond);
}

BENCHMARK(mixer)->Apply(shapes);
BENCHMARK(gradients)->Apply(training_shapes);

}  // namespace
}  // namespace vig::bench
