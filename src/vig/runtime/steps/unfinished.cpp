#include "vig/base/error.h"
#include "vig/runtime/steps/steps.h"

namespace vig {
void lower(const DeformableOp&, Lowering&) { fail("[runtime] DeformableOp"); }
}  // namespace vig
