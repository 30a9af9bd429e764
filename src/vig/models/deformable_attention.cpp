#include "vig/models/deformable_attention.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "vig/graph/init.h"

namespace vig {
namespace {

// Head h samples along the angle 2 pi h / heads, point p by p + 1 pixels of the larger component;
// in float32, whose rounding the original has.
void fill_directions(const FreshParam& param, float heads, float points) {
  const auto of_head = param.values.size() / static_cast<size_t>(heads);
  const auto turn = static_cast<float>(2 * std::numbers::pi / static_cast<double>(heads));
  for (size_t i = 0; i < param.values.size(); ++i) {
    const float angle = static_cast<float>(i / of_head) * turn;
    const float x = std::cos(angle), y = std::sin(angle);
    const float along = (i % 2 == 0 ? x : y) / std::max(std::abs(x), std::abs(y));
    const size_t point = i / 2 % static_cast<size_t>(points);
    param.values[i] = along * static_cast<float>(point + 1);
  }
}

}  // namespace

Value deformable_attention(Builder& b, Value queries, Value features, const std::string& name,
                           const DeformableShape& shape) {
  const int d = b.grid(queries).channels, width = shape.value_dim;
  const int samples = shape.heads * shape.points * static_cast<int>(shape.levels.size());
  const Value values =
      b.linear(features, name + ".value_proj", width, true, xavier_uniform(d, width, 1));
  const Init around{fill_directions, static_cast<float>(shape.heads),
                    static_cast<float>(shape.points)};
  const Value offsets =
      b.linear(queries, name + ".sampling_offsets", 2 * samples, true, {}, around);
  const Value logits = b.linear(queries, name + ".attention_weights", samples, true, {});
  const Value sampled = b.deformable(values, offsets, logits,
                                     {shape.heads, shape.points, shape.levels, shape.queries});
  return b.named(b.linear(sampled, name + ".output_proj", d, true, xavier_uniform(width, d, 1)),
                 name);
}

}  // namespace vig
