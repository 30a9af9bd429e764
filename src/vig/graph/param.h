// What a parameter is: its published name, its shape, how a fresh model fills it and what training
// does with it.
#pragma once

#include <string>

#include "vig/base/shape.h"
#include "vig/graph/init.h"

namespace vig {

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
