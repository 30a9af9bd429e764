#include "vig/base/error.h"
#include "vig/runtime/steps/steps.h"

namespace vig {
void lower(const AdaptivePoolOp&, Lowering&) { fail("[runtime] AdaptivePoolOp"); }
void lower(const ResizeOp&, Lowering&) { fail("[runtime] ResizeOp"); }
void lower(const UpsampleConvOp&, Lowering&) { fail("[runtime] UpsampleConvOp"); }
void lower(const ConcatChannelsOp&, Lowering&) { fail("[runtime] ConcatChannelsOp"); }
void lower(const AddRowOp&, Lowering&) { fail("[runtime] AddRowOp"); }
void lower(const DropChannelsOp&, Lowering&) { fail("[runtime] DropChannelsOp"); }
}  // namespace vig
