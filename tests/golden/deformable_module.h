// The golden cases of deformable attention with its projections, msda-inject and msda-extract.
#pragma once

#include <string>
#include <vector>

#include "golden/operator_case.h"
#include "vig/models/deformable_attention.h"

namespace vig::test {

struct DeformableModule {
  std::string name;
  DeformableShape shape;
  int width = 48;

  // Inputs "query" and "feat", output "output"; parameters attn.*, in the case param/*.
  Graph graph() const {
    Builder b;
    const auto input = [&](const char* called, const std::vector<GridSize>& grids) {
      return b.input(called, {1, static_cast<int>(positions_of(grids)), width});
    };
    const Value query = input("query", shape.queries);
    b.output("output", deformable_attention(b, query, input("feat", shape.levels), "attn", shape));
    return std::move(b).finish();
  }
  static std::string tensor_of(const std::string& param) {
    return "param/" + param.substr(std::string("attn.").size());
  }
};

inline std::vector<DeformableModule> deformable_modules() {
  const std::vector<GridSize> one = {{4, 6}}, three = {{8, 12}, {4, 6}, {2, 3}};
  return {{"msda-inject", {6, 4, 48, three, one}}, {"msda-extract", {6, 4, 24, one, three}}};
}

}  // namespace vig::test
