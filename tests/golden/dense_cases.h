// The golden cases of dense prediction: graphs, what they are given and what they must put out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "golden/operator_case.h"
#include "support/tree.h"
#include "vig/models/adapter.h"
#include "vig/models/family.h"
#include "vig/models/mask_rcnn.h"
#include "vig/models/upernet.h"

namespace vig::test {

// A graph of a case. Tensors of four axes are [batch, channels, height, width], of three [batch,
// rows, channels].
struct DenseCase {
  std::string name;  // for people
  std::string file;
  Graph graph;
  std::string prefix = "";  // of our parameters, not of the file's
  std::vector<std::string> inputs;
  std::vector<std::pair<int, std::string>> expected;  // nodes and tensors
  double tolerance = 2e-5;                            // as the case says

  OperatorCase tensors() const { return OperatorCase(file, "dense"); }
  std::string tensor_of(const std::string& param) const {
    return "param/" + param.substr(prefix.size());
  }
  // The tensor of the module of the same name, or of a beginning and it.
  void expect_module(const std::string& tensor, const std::string& module) {
    const int node = graph.find_module(module);
    if (node < 0) throw std::runtime_error("there is no module " + module);
    expected.emplace_back(node, tensor);
  }
};

// [batch, channels, positions] to [batch, positions, channels].
inline std::vector<float> channels_last(const std::vector<float>& from, int64_t batch,
                                        int64_t channels) {
  std::vector<float> to(from.size());
  const int64_t positions = static_cast<int64_t>(from.size()) / (batch * channels);
  for (int64_t i = 0; i < static_cast<int64_t>(from.size()); ++i) {
    const int64_t p = i % positions, c = i / positions % channels, b = i / positions / channels;
    to[static_cast<size_t>((b * positions + p) * channels + c)] = from[static_cast<size_t>(i)];
  }
  return to;
}

// A tensor with its channels last.
inline std::vector<float> rows_of(const OperatorCase& file, const std::string& tensor) {
  const Shape& shape = file.view(tensor).shape;
  const std::vector<float> values = file.read(tensor);
  return shape.rank() == 4 ? channels_last(values, shape[0], shape[1]) : values;
}

inline DenseCase extractor_case() {
  DenseCase made{"extractor", "extractor", {}, "extractor.", {"query", "feat"}, {}};
  AdapterConfig config;
  config.deform_heads = 4;
  Builder b;
  const Value query = b.input("query", {1, 126, 32}), feat = b.input("feat", {4, 6, 32});
  b.output("output",
           b.named(extractor(b, query, feat, "extractor", config, {{8, 12}, {4, 6}, {2, 3}}, 0.0),
                   "output"));
  made.graph = std::move(b).finish();
  made.expect_module("output", "output");
  for (const std::string module :
       {"attn", "feat_norm", "ffn", "ffn.act", "ffn.dwconv", "ffn.fc1", "ffn_norm", "query_norm"}) {
    made.expect_module("act/" + module, made.prefix + module);
  }
  return made;
}

inline Pyramid input_maps(Builder& b, int channels) {
  Pyramid maps;
  for (int k = 0; k < 4; ++k) {
    maps[static_cast<size_t>(k)] =
        b.input("input/" + std::to_string(k), {16 >> k, 24 >> k, channels});
  }
  return maps;
}

inline DenseCase fpn_case() {
  DenseCase made{"fpn", "fpn", {}, "neck.", {}, {}};
  Builder b;
  const std::vector<Value> levels = feature_pyramid(b, input_maps(b, 8), 6);
  for (size_t k = 0; k < levels.size(); ++k) b.output("level" + std::to_string(k), levels[k]);
  made.graph = std::move(b).finish();
  for (size_t k = 0; k < levels.size(); ++k) {
    if (k < 4) made.inputs.push_back("input/" + std::to_string(k));
    made.expect_module("output/" + std::to_string(k), "neck." + std::to_string(k));
  }
  return made;
}

inline std::vector<DenseCase> uper_head_cases() {
  UperHeadConfig config;
  config.head_channels = 8;
  config.auxiliary_channels = 6;
  DenseCase head{"uperhead", "uperhead", {}, "", {}, {}};
  Builder b;
  uper_head(b, input_maps(b, 6), config, 5);
  head.graph = std::move(b).finish();
  for (int k = 0; k < 4; ++k) head.inputs.push_back("input/" + std::to_string(k));
  head.expect_module("output", "decode_head");
  head.expect_module("act/fpn_bottleneck", "decode_head.fpn_bottleneck");
  head.expect_module("act/psp_bottleneck", "decode_head.bottleneck");
  DenseCase more{"auxiliary_head", "uperhead", {}, "", {"input/2"}, {}};
  more.graph = auxiliary_head({4, 6, 6}, config, 5, 1);
  more.expect_module("output_aux", "auxiliary_head");
  return {std::move(head), std::move(more)};
}

// A whole miniature; the tensors act/NAME are those of modules NAME.
inline DenseCase miniature_case(const std::string& file, const std::string& model) {
  DenseCase made{file, file, {}, "", {"input"}, {}, 1e-4};
  made.graph = build_graph(find_model(model), 64, 96);
  const SafeTensors tensors =
      SafeTensors::open(std::string(kFixtures) + "/golden/dense/" + file + ".safetensors");
  for (const NamedTensor& tensor : tensors.tensors()) {
    if (tensor.name.starts_with("act/")) made.expect_module(tensor.name, tensor.name.substr(4));
  }
  return made;
}

inline std::vector<DenseCase> dense_cases() {
  std::vector<DenseCase> cases = uper_head_cases();
  cases.push_back(extractor_case());
  cases.push_back(fpn_case());
  cases.push_back(miniature_case("maskrcnn-mini", "test_vig_maskrcnn"));
  cases.push_back(miniature_case("upernet-mini", "test_vig_upernet"));
  return cases;
}

}  // namespace vig::test
