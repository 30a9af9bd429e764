#include "vig/base/random.h"
#include "vig/graph/init.h"
#include "vig/weights/load.h"

namespace vig {

void fill_random(const ParamSpec& spec, uint64_t seed, float* out) {
  const RandomStream random(mix_bits(seed) ^ hash_name(spec.name));
  spec.init.fill({{out, static_cast<size_t>(spec.shape.elements())}, spec.shape, random});
}

}  // namespace vig
