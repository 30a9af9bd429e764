// The scan and its slow twin against float64 results of the paper's equations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "vig/base/buffer.h"
#include "vig/kernels/gla.h"
#include "vig/kernels/pointwise.h"
#include "vig/kernels/reference/gla.h"
#include "vig/kernels/reference/pointwise.h"
#include "vig/weights/convert.h"
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

using Scan = void (*)(const GlaArgs&);
using Map = void (*)(const PointwiseArgs&);

std::vector<float> gates(const Tensor& logits, Map map) {
  std::vector<float> alpha(logits.values.size());
  const int64_t n = static_cast<int64_t>(alpha.size());
  map({Pointwise::kDecay, {logits.values.data(), n}, {}, alpha.data(), n, 1, n});
  return alpha;
}

// Distance from the expected o, relative to its largest value.
double error(const std::string& name, Scan scan, Map map) {
  const SafeTensors file =
      SafeTensors::open(std::string(VIG_TEST_DATA) + "/golden/bigla-" + name + ".safetensors");
  const Tensor q = read(file, "q"), k = read(file, "k"), v = read(file, "v"), o = read(file, "o");
  const std::vector<float> forward = gates(read(file, "gate_logit_forward"), map);
  const std::vector<float> backward = gates(read(file, "gate_logit_backward"), map);
  const int64_t batch = q.shape[0], tokens = q.shape[1], heads = q.shape[2];
  const int64_t key_dim = q.shape[3], value_dim = v.shape[3];
  // One head at a time: q, k and v side by side.
  const int64_t width = 2 * key_dim + value_dim;
  std::vector<float> qkv(static_cast<size_t>(tokens * width)), result(o.values.size());
  Buffer state(gla_state_floats(key_dim, value_dim) * sizeof(float));
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t t = 0; t < tokens; ++t) {
        const int64_t row = (b * tokens + t) * heads + h;
        float* out = qkv.data() + t * width;
        out = std::copy_n(q.values.data() + row * key_dim, key_dim, out);
        out = std::copy_n(k.values.data() + row * key_dim, key_dim, out);
        std::copy_n(v.values.data() + row * value_dim, value_dim, out);
      }
      const int64_t first = b * tokens * heads + h;
      GlaArgs args;
      args.tokens = tokens;
      args.key_dim = key_dim;
      args.value_dim = value_dim;
      args.q = qkv.data();
      args.k = qkv.data() + key_dim;
      args.v = qkv.data() + 2 * key_dim;
      args.qkv_stride = width;
      args.alpha_forward = forward.data() + first * key_dim;
      args.alpha_backward = backward.data() + first * key_dim;
      args.alpha_stride = heads * key_dim;
      args.scale = 0.5f / std::sqrt(static_cast<float>(key_dim));
      args.o = result.data() + first * value_dim;
      args.o_stride = heads * value_dim;
      args.state = state.floats();
      scan(args);
    }
  }
  double largest = 0.0, distance = 0.0;
  for (size_t i = 0; i < result.size(); ++i) {
    const double d = std::fabs(static_cast<double>(result[i]) - o.values[i]);
    distance = std::isnan(d) ? INFINITY : std::max(distance, d);
    largest = std::max(largest, static_cast<double>(std::fabs(o.values[i])));
  }
  EXPECT_GT(largest, 0.0);
  return distance / largest;
}

constexpr const char* kCases[] = {"t1", "t7", "t64", "t197", "forget", "remember", "mixed"};

class BiglaOnTarget : public test::OnTarget {};

TEST_P(BiglaOnTarget, EqualsThePaper) {
  for (const char* name : kCases) EXPECT_LE(error(name, gla, pointwise), kTolerance) << name;
}

VIG_ON_EVERY_TARGET(BiglaOnTarget);

// In double throughout: what is left is the rounding of gates and results to float.
TEST(BiglaTwin, EqualsThePaper) {
  for (const char* name : kCases) {
    EXPECT_LE(error(name, reference::gla, reference::pointwise), 1e-6) << name;
  }
}

}  // namespace
}  // namespace vig
