// What a parameter is: its published name, its shape, how a fresh model fills it and what training
// does with it.
#pragma once

#include <string>

#include "vig/base/shape.h"

namespace vig {

struct Init {
  enum class Kind { kZeros, kOnes, kConstant, kNormal, kTruncatedNormal, kUniform };
  Kind kind = Kind::kZeros;
  float scale = 0.0f;  // the constant, the standard deviation, or half the uniform range

  bool operator==(const Init&) const = default;
};

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
