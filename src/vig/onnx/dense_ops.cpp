#include "vig/base/error.h"
#include "vig/onnx/ops.h"

namespace vig::onnx_format {
void write(const AdaptivePoolOp&, OpWriter&) { fail("[onnx] AdaptivePoolOp"); }
void write(const ResizeOp&, OpWriter&) { fail("[onnx] ResizeOp"); }
void write(const UpsampleConvOp&, OpWriter&) { fail("[onnx] UpsampleConvOp"); }
void write(const ConcatChannelsOp&, OpWriter&) { fail("[onnx] ConcatChannelsOp"); }
void write(const AddRowOp&, OpWriter&) { fail("[onnx] AddRowOp"); }
void write(const DropChannelsOp&, OpWriter&) { fail("[onnx] DropChannelsOp"); }
}  // namespace vig::onnx_format
