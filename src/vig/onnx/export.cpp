#include "vig/onnx/export.h"

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <limits>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/onnx/op_writer.h"

namespace vig {
namespace {

constexpr int64_t kOpset = 17;
// The version of the format that opset 17 came with.
constexpr int64_t kFormat = 8;

// Throws where onnx itself finds a fault: that is our bug, never the model's.
void check(const ::onnx::ModelProto& model) {
  try {
    ::onnx::checker::check_model(model);
    ::onnx::ModelProto inferred = model;
    const ::onnx::ShapeInferenceOptions strict{/*check_type=*/true, /*strict_mode=*/1,
                                               /*data_prop=*/true};
    ::onnx::shape_inference::InferShapes(inferred, ::onnx::OpSchemaRegistry::Instance(), strict);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    fail("onnx's checker refuses the model: {}", printable(error.what(), 400));
  }
}

}  // namespace

std::string export_onnx(const Graph& graph, const Weights& weights, const OnnxOptions& options) {
  ::onnx::ModelProto model;
  model.set_ir_version(kFormat);
  model.set_producer_name("vig");
  ::onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(kOpset);
  model.mutable_graph()->set_name("vig");
  onnx_format::OpWriter writer(graph, weights, options, *model.mutable_graph());
  writer.run();
  if (options.precision.arithmetic == Arithmetic::kInt8 && !writer.has_int8()) {
    fail_usage(
        "no layer of the model can be int8 in an ONNX file: matrix products are, but convolutions "
        "stay float32, and so do layers that compute an output");
  }
  if (writer.uses_ort_domain()) {
    ::onnx::OperatorSetIdProto& ort = *model.add_opset_import();
    ort.set_domain("com.microsoft");
    ort.set_version(1);
  }
  for (const auto& [key, value] : options.metadata) {
    ::onnx::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  const size_t bytes = model.ByteSizeLong();
  if (bytes > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    fail("the model takes {} bytes, and an ONNX file holds at most {}", bytes,
         std::numeric_limits<int32_t>::max());
  }
  check(model);
  return model.SerializeAsString();
}

}  // namespace vig
