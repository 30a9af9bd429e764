// What a parameter is: its published name, its shape, how a fresh model fills it and what training
// does with it.
#pragma once

#include <string>

#include "vig/base/shape.h"

namespace vig {

struct FreshParam;  // what a rule fills: graph/init.h

// How a fresh model fills a parameter.
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

struct ParamSpec {
  std::string name;  // as in the published checkpoint: "blocks.0.attn.gk_proj.0.weight"
  Shape shape;
  Init init;
  bool trained = true;   // false: statistics and tables that no gradient changes
  bool decayed = false;  // weight decay applies
  bool head = false;     // part of the classifier, which begins afresh for other classes
  int level = 0;         // counted from the input: layer decay lowers the rate from level to level
};

}  // namespace vig
