// The scan, its gradients and their reference implementations against float64 results of the
// paper's equations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "support/tree.h"
#include "vig/base/buffer.h"
#include "vig/kernels/backward/gla.h"
#include "vig/kernels/gla.h"
#include "vig/kernels/pointwise.h"
#include "vig/kernels/reference/gla.h"
#include "vig/kernels/reference/gla_backward.h"
#include "vig/kernels/reference/pointwise.h"
#include "vig/weights/elements.h"
#include "vig/weights/safetensors.h"

namespace vig {
namespace {

// Of the largest value: sums of up to 200 terms in float, and 1e-6 in each gate.
constexpr double kTolerance = 1e-5;

struct Tensor {
  Shape shape;
  std::vector<float> values;
};

Tensor read(const SafeTensors& file, const std::string& name) {
  const NamedTensor* tensor = file.find(name);
  if (tensor == nullptr) throw std::runtime_error("the case has no tensor " + name);
  return {tensor->view.shape, to_floats(tensor->view)};
}

using Map = void (*)(const PointwiseArgs&);

std::vector<float> gates(const Tensor& logits, Map map) {
  std::vector<float> alpha(logits.values.size());
  const int64_t n = static_cast<int64_t>(alpha.size());
  map({{Elementwise::kDecay}, {logits.values.data(), n}, {}, alpha.data(), n, 1, n});
  return alpha;
}

// The largest difference seen, relative to the largest expected value.
class Distance {
 public:
  void add(double got, double expected) {
    const double d = std::fabs(got - expected);
    distance_ = std::isnan(d) ? INFINITY : std::max(distance_, d);
    largest_ = std::max(largest_, std::fabs(expected));
  }
  double largest() const { return largest_; }
  double relative() const { return distance_ == 0.0 ? 0.0 : distance_ / largest_; }

 private:
  double distance_ = 0.0, largest_ = 0.0;
};

// The inputs of a case, all arrays [B, T, H, K or V].
struct Case {
  Case(const std::string& name, Map map)
      : file(SafeTensors::open(std::string(test::kFixtures) + "/golden/bigla-" + name +
                               ".safetensors")),
        q(read(file, "q")),
        k(read(file, "k")),
        v(read(file, "v")),
        forward(gates(read(file, "gate_logit_forward"), map)),
        backward(gates(read(file, "gate_logit_backward"), map)),
        tokens(q.shape[1]),
        heads(q.shape[2]),
        key_dim(q.shape[3]),
        value_dim(v.shape[3]),
        width(2 * key_dim + value_dim) {}

  // Calls f(qkv, row of the first token) for every head: q, k and v side by side [T, width]; the
  // other tokens' rows of [B, T, H] follow `heads` apart.
  template <class F>
  void for_each_head(const F& f) const {
    std::vector<float> qkv(static_cast<size_t>(tokens * width));
    for (int64_t b = 0; b < q.shape[0]; ++b) {
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t first = b * tokens * heads + h;
        for (int64_t t = 0; t < tokens; ++t) {
          const int64_t row = first + t * heads;
          float* out = qkv.data() + t * width;
          out = std::copy_n(q.values.data() + row * key_dim, key_dim, out);
          out = std::copy_n(k.values.data() + row * key_dim, key_dim, out);
          std::copy_n(v.values.data() + row * value_dim, value_dim, out);
        }
        f(qkv.data(), first);
      }
    }
  }
  // What scan and gradients have in common.
  template <class Args>
  Args args(const float* qkv, int64_t first) const {
    Args args;
    args.tokens = tokens;
    args.key_dim = key_dim;
    args.value_dim = value_dim;
    args.q = qkv;
    args.k = qkv + key_dim;
    args.v = qkv + 2 * key_dim;
    args.qkv_stride = width;
    args.alpha_forward = forward.data() + first * key_dim;
    args.alpha_backward = backward.data() + first * key_dim;
    args.alpha_stride = heads * key_dim;
    args.scale = 0.5f / std::sqrt(static_cast<float>(key_dim));
    return args;
  }

  SafeTensors file;
  Tensor q, k, v;
  std::vector<float> forward, backward;
  int64_t tokens, heads, key_dim, value_dim, width;
};

double error(const std::string& name, void (*scan)(const GlaArgs&), Map map) {
  const Case c(name, map);
  const Tensor o = read(c.file, "o");
  std::vector<float> result(o.values.size());
  Buffer state(gla_state_floats(c.key_dim, c.value_dim) * sizeof(float));
  c.for_each_head([&](const float* qkv, int64_t first) {
    GlaArgs args = c.args<GlaArgs>(qkv, first);
    args.o = result.data() + first * c.value_dim;
    args.o_stride = c.heads * c.value_dim;
    args.state = state.floats();
    scan(args);
  });
  Distance distance;
  for (size_t i = 0; i < result.size(); ++i) distance.add(result[i], o.values[i]);
  EXPECT_GT(distance.largest(), 0.0);
  return distance.relative();
}

// Each gradient within `tolerance` of its largest value.
void expect_gradients(const std::string& name, void (*gradients)(const GlaBackwardArgs&), Map map,
                      double tolerance) {
  const Case c(name, map);
  const Tensor grad_o = read(c.file, "do");
  constexpr const char* kNames[] = {"dq", "dk", "dv", "dgate_logit_forward",
                                    "dgate_logit_backward"};
  std::vector<Tensor> expected;
  for (const char* gradient : kNames) expected.push_back(read(c.file, gradient));
  const Tensor logits[] = {read(c.file, "gate_logit_forward"), read(c.file, "gate_logit_backward")};
  Distance distances[5];
  // dq, dk and dv side by side, then the gates of both directions.
  const int64_t columns = c.width + 2 * c.key_dim;
  std::vector<float> result(static_cast<size_t>(c.tokens * columns));
  Buffer scratch(gla_backward_scratch_floats(c.tokens, c.key_dim, c.value_dim) * sizeof(float));
  c.for_each_head([&](const float* qkv, int64_t first) {
    GlaBackwardArgs args = c.args<GlaBackwardArgs>(qkv, first);
    args.grad_o = grad_o.values.data() + first * c.value_dim;
    args.grad_o_stride = c.heads * c.value_dim;
    args.dq = result.data();
    args.dk = args.dq + c.key_dim;
    args.dv = args.dk + c.key_dim;
    args.dqkv_stride = columns;
    args.dlog_alpha_forward = args.dv + c.value_dim;
    args.dlog_alpha_backward = args.dlog_alpha_forward + c.key_dim;
    args.dlog_alpha_stride = columns;
    args.scratch = scratch.floats();
    gradients(args);
    const float* got = result.data();
    for (int64_t t = 0; t < c.tokens; ++t) {
      for (size_t g = 0; g < 5; ++g) {
        const int64_t dim = expected[g].shape[3];
        for (int64_t i = 0; i < dim; ++i) {
          const size_t at = static_cast<size_t>((first + t * c.heads) * dim + i);
          double value = *got++;
          // log alpha = logsigmoid(z) / 16
          if (g >= 3) value /= 16.0 * (1.0 + std::exp(double{logits[g - 3].values[at]}));
          distances[g].add(value, expected[g].values[at]);
        }
      }
    }
  });
  for (size_t g = 0; g < 5; ++g) {
    EXPECT_LE(distances[g].relative(), tolerance) << kNames[g] << " of " << name;
    // One token finds no state that its gate could fade.
    EXPECT_EQ(distances[g].largest() > 0.0, g < 3 || c.tokens > 1) << kNames[g] << " of " << name;
  }
}

constexpr const char* kCases[] = {"t1", "t7", "t64", "t197", "forget", "remember", "mixed"};

class BiglaOnTarget : public test::OnTarget {};

TEST_P(BiglaOnTarget, EqualsThePaper) {
  for (const char* name : kCases) EXPECT_LE(error(name, gla, pointwise), kTolerance) << name;
}

TEST_P(BiglaOnTarget, GradientsEqualThePaper) {
  for (const char* name : kCases) expect_gradients(name, gla_backward, pointwise, kTolerance);
}

VIG_ON_EVERY_TARGET(BiglaOnTarget);

// In double throughout: what is left is the rounding of gates and results to float.
TEST(BiglaReference, EqualsThePaper) {
  for (const char* name : kCases) {
    EXPECT_LE(error(name, reference::gla, reference::pointwise), 1e-6) << name;
  }
}

TEST(BiglaReference, GradientsEqualThePaper) {
  for (const char* name : kCases) {
    expect_gradients(name, reference::gla_backward, reference::pointwise, 1e-6);
  }
}

}  // namespace
}  // namespace vig
