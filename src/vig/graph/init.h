// How a fresh model fills a parameter: by a rule, which is a plain function. The rules that many
// families need are here; a family writes its own beside its network:
//
//   void log_counts(const FreshParam& p, float, float) {  // log(1 .. n) in each row
//     const int64_t n = p.shape[-1];
//     for (size_t i = 0; i < p.values.size(); ++i) p.values[i] = std::log(1.0f + i % n);
//   }
//
// and gives Init{log_counts} to the function of the Builder that declares the parameter.
#pragma once

#include <cstdint>
#include <span>

#include "vig/base/random.h"
#include "vig/base/shape.h"

namespace vig {

// A parameter that a rule is to fill.
struct FreshParam {
  std::span<float> values;
  const Shape& shape;
  RandomStream random;  // its own: a function of the seed and of the parameter's name
};

struct Init {
  // The rule defines what a and b mean. It draws by position (RandomStream::bits_at), so that a
  // number depends neither on threads nor on what was drawn before.
  using Rule = void (*)(const FreshParam& param, float a, float b);

  Rule rule = nullptr;  // null: zeros
  float a = 0.0f, b = 0.0f;

  void fill(const FreshParam& param) const;
  bool operator==(const Init&) const = default;
};

// The rules.
void fill_constant(const FreshParam& param, float value, float);
void fill_normal(const FreshParam& param, float deviation, float);
void fill_truncated_normal(const FreshParam& param, float deviation, float bound);
void fill_uniform(const FreshParam& param, float bound, float);

constexpr Init constant_init(float value) { return {fill_constant, value}; }
constexpr Init ones_init() { return constant_init(1.0f); }
constexpr Init normal_init(float deviation) { return {fill_normal, deviation}; }
// Draws again what lies beyond the bound, which is absolute: PyTorch's default is 2.
constexpr Init truncated_normal_init(float deviation, float bound = 2.0f) {
  return {fill_truncated_normal, deviation, bound};
}
constexpr Init uniform_init(float bound) { return {fill_uniform, bound}; }  // in [-bound, bound)

// What PyTorch's linear and convolution layers begin with, weight and bias: uniform within
// 1 / sqrt(fan_in).
Init fan_in_uniform(int64_t fan_in);
// Normal of deviation sqrt(2 / fan): for layers in front of a ReLU.
Init kaiming_normal(int64_t fan);
// Xavier-uniform for an [out, in] matrix (or a filter bank with these fans), times `gain`.
Init xavier_uniform(int64_t fan_in, int64_t fan_out, float gain);

}  // namespace vig
