#include "vig/base/random.h"

namespace vig {

float RandomStream::uniform(float low, float high) { return low + (high - low) * uniform(); }

}  // namespace vig
