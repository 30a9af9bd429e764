#include "vig/base/error.h"
#include "vig/onnx/ops.h"

namespace vig::onnx_format {
void write(const DeformableOp&, OpWriter&) { fail("[onnx] DeformableOp"); }
}  // namespace vig::onnx_format
