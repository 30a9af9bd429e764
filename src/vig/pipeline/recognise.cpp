#include "vig/pipeline/recognise.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/pipeline/published_file.h"

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

std::vector<MatchingModel> matching_models(std::shared_ptr<const Checkpoint> checkpoint) {
  std::vector<MatchingModel> matches;
  MatchingModel candidate;
  for (const ModelSpec& spec : model_zoo()) {
    if (spec.name.starts_with("test_")) continue;
    if (candidate.checkpoint == nullptr || spec.family != candidate.spec.family) {
      candidate.names = published_names(find_family(spec.family), *checkpoint);
      candidate.checkpoint =
          candidate.names == nullptr ? checkpoint : with_our_names(*checkpoint, *candidate.names);
    }
    candidate.spec = spec;
    try {
      override_fields(candidate.spec, shape_fields(spec, *candidate.checkpoint));
      if (!has_same_parameters(candidate.spec, *candidate.checkpoint)) continue;
    } catch (const Error&) {  // no class or image size that this model could have
      continue;
    }
    const bool hidden = std::ranges::any_of(matches, [&](const MatchingModel& match) {
      return model_fields(match.spec) == model_fields(candidate.spec);
    });
    if (!hidden) matches.push_back(candidate);
  }
  return matches;
}

}  // namespace vig
