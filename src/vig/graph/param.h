// What a parameter is: its published name, its shape and how a fresh model fills it.
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
};

}  // namespace vig
