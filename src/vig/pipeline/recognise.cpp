#include "vig/pipeline/recognise.h"

#include <algorithm>

#include "vig/base/error.h"

namespace vig {
namespace {

bool has_same_parameters(const ModelSpec& spec, const Checkpoint& checkpoint) {
  const GridSize size = described_size(spec);
  const Graph graph = build_graph(spec, size.height, size.width);
  const auto buffers = std::ranges::count_if(checkpoint.tensors(), [&](const NamedTensor& tensor) {
    return is_buffer(spec, tensor.name);
  });
  if (graph.params.size() + static_cast<size_t>(buffers) != checkpoint.tensors().size()) {
    return false;
  }
  for (const ParamSpec& param : graph.params) {
    const NamedTensor* tensor = checkpoint.find(param.name);
    if (tensor == nullptr || tensor->view.shape != param.shape) return false;
  }
  return true;
}

}  // namespace

std::map<std::string, std::string> shape_fields(const ModelSpec& spec,
                                                const Checkpoint& checkpoint) {
  return spec.config->fields_shown_by([&](const std::string& name) {
    const NamedTensor* tensor = checkpoint.find(name);
    return tensor == nullptr ? nullptr : &tensor->view.shape;
  });
}

std::vector<ModelSpec> matching_models(const Checkpoint& checkpoint) {
  std::vector<ModelSpec> matches;
  for (ModelSpec spec : model_zoo()) {
    if (spec.name.starts_with("test_")) continue;
    try {
      override_fields(spec, shape_fields(spec, checkpoint));
      if (!has_same_parameters(spec, checkpoint)) continue;
    } catch (const Error&) {  // no class or image size that this model could have
      continue;
    }
    bool published = false;
    for (const ModelSpec& match : matches) {
      published = published || model_fields(match) == model_fields(spec);
    }
    if (!published) matches.push_back(std::move(spec));
  }
  return matches;
}

}  // namespace vig
