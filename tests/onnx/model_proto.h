// Exported files as messages, for tests that look inside.
#pragma once

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <map>
#include <string>

namespace vig::test {

inline ::onnx::ModelProto parse(const std::string& bytes) {
  ::onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

inline void count(const ::onnx::GraphProto& graph, std::map<std::string, int>& operators) {
  for (const ::onnx::NodeProto& node : graph.node()) {
    ++operators[node.domain() + node.op_type()];
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) count(attribute.g(), operators);
    }
  }
}

inline std::map<std::string, int> operators(const ::onnx::ModelProto& model) {
  std::map<std::string, int> counted;
  count(model.graph(), counted);
  return counted;
}

}  // namespace vig::test
