// ONNX's Scan: a body that is executed for every token of sequences and carries states.
#pragma once

#include <string>

#include "vig/onnx/node_writer.h"

namespace vig::onnx_format {

// Sequences are [tokens, batch, ..]; states and what the body sees of a token are [batch, ..], with
// the sizes given behind the batch. The body may name values of the graph around it.
class ScanBody {
 public:
  // `outside` writes the graph around.
  ScanBody(NodeWriter& outside, const char* name) : outside_(outside), nodes_(graph_) {
    graph_.set_name(outside.fresh(name));
    nodes_.set_scope(graph_.name());
  }
  ScanBody(const ScanBody&) = delete;
  ScanBody& operator=(const ScanBody&) = delete;

  NodeWriter& nodes() { return nodes_; }

  // States first, then sequences; each gives the name that the body uses.
  std::string state(const std::string& initial, const Axes& sizes);
  std::string sequence(const std::string& values, const Axes& sizes);
  // In the order of the states, then what is collected over the tokens.
  void next_state(const std::string& name, const Axes& sizes) { output(name, sizes); }
  void result(const std::string& name, const Axes& sizes) { output(name, sizes); }

  // Final states, then results [tokens, batch, ..].
  Names write();

 private:
  std::string input(const std::string& from, const Axes& sizes);
  void output(const std::string& name, const Axes& sizes);

  NodeWriter& outside_;
  ::onnx::GraphProto graph_;
  NodeWriter nodes_;
  Names inputs_;
  int64_t sequences_ = 0;
};

}  // namespace vig::onnx_format
