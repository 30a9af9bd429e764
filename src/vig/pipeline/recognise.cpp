#include "vig/pipeline/recognise.h"

#include <fmt/format.h>

#include <cmath>

#include "vig/base/error.h"

namespace vig {
namespace {

// The classifier's weight and the position table, as both families name them.
constexpr const char* kHeads[] = {"head.weight", "classifier.head.weight"};
constexpr const char* kPosition = "pos_embed";
// Of a position table: far above any, far below what its square root and products could not hold.
constexpr int64_t kMaxTableRows = int64_t{1} << 32;

int field(const std::map<std::string, std::string>& fields, const std::string& name) {
  return std::stoi(fields.at(name));
}

bool has_same_parameters(const ModelSpec& spec, const Checkpoint& checkpoint) {
  const int size = spec.recipe.crop;
  const Graph graph = build_graph(spec, size, size);
  if (graph.params.size() != checkpoint.tensors().size()) return false;
  for (const ParamSpec& param : graph.params) {
    const NamedTensor* tensor = checkpoint.find(param.name);
    if (tensor == nullptr || tensor->view.shape != param.shape) return false;
  }
  return true;
}

}  // namespace

std::map<std::string, std::string> shape_fields(const ModelSpec& spec,
                                                const Checkpoint& checkpoint) {
  std::map<std::string, std::string> found;
  for (const char* name : kHeads) {
    const NamedTensor* head = checkpoint.find(name);
    if (head != nullptr && head->view.shape.rank() == 2) {
      found["classes"] = fmt::format("{}", head->view.shape[0]);
    }
  }
  const NamedTensor* table = checkpoint.find(kPosition);
  if (table != nullptr && table->view.shape.rank() == 3) {
    const int64_t rows = table->view.shape[1];
    if (rows < 1 || rows > kMaxTableRows) return found;  // an empty tensor may claim any size
    const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(rows))));
    const int64_t size = side * field(model_fields(spec), "patch_size");
    if (side * side == rows) found["image_size"] = fmt::format("{}", size);
  }
  return found;
}

std::vector<ModelSpec> matching_models(const Checkpoint& checkpoint) {
  std::vector<ModelSpec> matches;
  for (ModelSpec spec : model_zoo()) {
    if (spec.name.starts_with("test_")) continue;
    try {
      override_fields(spec, shape_fields(spec, checkpoint));
      if (!has_same_parameters(spec, checkpoint)) continue;
    } catch (const Error&) {  // no class or picture size that this model could have
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
