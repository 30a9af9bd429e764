#include "vig/onnx/scan_body.h"

#include <fmt/format.h>

namespace vig::onnx_format {
namespace {

void set_type(::onnx::ValueInfoProto& info, const std::string& name, const Axes& sizes) {
  info.set_name(name);
  ::onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(::onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("batch");
  for (int64_t size : sizes) type.mutable_shape()->add_dim()->set_dim_value(size);
}

}  // namespace

std::string ScanBody::input(const std::string& from, const Axes& sizes) {
  inputs_.push_back(from);
  const std::string name = fmt::format("{}/input_{}", graph_.name(), inputs_.size());
  set_type(*graph_.add_input(), name, sizes);
  return name;
}

std::string ScanBody::state(const std::string& initial, const Axes& sizes) {
  return input(initial, sizes);
}

std::string ScanBody::sequence(const std::string& values, const Axes& sizes) {
  ++sequences_;
  return input(values, sizes);
}

void ScanBody::output(const std::string& name, const Axes& sizes) {
  // An input that leaves the body as it came, or a value that leaves it twice, needs a name.
  const std::string own = nodes_.add("Identity", {name});
  set_type(*graph_.add_output(), own, sizes);
}

Names ScanBody::write() {
  const ::onnx::GraphProto* body = &graph_;
  return outside_.add_several("Scan", inputs_, static_cast<size_t>(graph_.output_size()),
                              {{"body", body}, {"num_scan_inputs", sequences_}});
}

}  // namespace vig::onnx_format
