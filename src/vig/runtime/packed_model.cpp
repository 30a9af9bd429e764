#include <algorithm>

#include "vig/base/error.h"
#include "vig/runtime/program.h"
#include "vig/runtime/session.h"

namespace vig {
namespace {

size_t aligned(size_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace

std::shared_ptr<const PackedModel> PackedModel::make(const Graph& graph,
                                                     std::shared_ptr<const Weights> weights) {
  return make(graph, lower(graph, {}), std::move(weights));
}

std::shared_ptr<const PackedModel> PackedModel::make(const Graph& graph, const Program& program,
                                                     std::shared_ptr<const Weights> weights) {
  std::shared_ptr<PackedModel> model(new PackedModel);
  model->params_ = graph.params;
  model->weights_ = std::move(weights);
  model->packed_.resize(graph.params.size());
  model->layouts_.resize(graph.params.size());
  // In the order in which they run, so that the end of one is followed by what is needed next.
  size_t floats = 0;
  for (const auto& step : program.steps) {
    if (const auto packing = step->packing(graph.params)) floats += aligned(packing->floats);
  }
  model->buffer_ = Buffer(floats * sizeof(float));
  float* next = model->buffer_.floats();
  for (const auto& step : program.steps) {
    const auto packing = step->packing(graph.params);
    if (!packing) continue;
    step->pack(graph.params, *model->weights_, next);
    model->packed_[packing->param] = next;
    model->layouts_[packing->param] = packing->layout;
    next += aligned(packing->floats);
  }
  return model;
}

void PackedModel::check(const Graph& graph, const Program& program) const {
  const auto same = [](const ParamSpec& a, const ParamSpec& b) {
    return a.name == b.name && a.shape == b.shape;
  };
  for (size_t i = 0; i < std::max(params_.size(), graph.params.size()); ++i) {
    if (i < params_.size() && i < graph.params.size() && same(params_[i], graph.params[i]))
      continue;
    fail_usage("a graph of another model: its parameter {} is {}, the model's is {}", i,
               i < graph.params.size() ? graph.params[i].name : "missing",
               i < params_.size() ? params_[i].name : "missing");
  }
  for (const auto& step : program.steps) {
    const auto packing = step->packing(params_);
    if (!packing || packing->layout == layouts_[packing->param]) continue;
    fail_usage(
        "{} is packed as {}, and what is to be kept needs {}: the value before its activation "
        "cannot be kept",
        params_[packing->param].name, layouts_[packing->param], packing->layout);
  }
}

}  // namespace vig
