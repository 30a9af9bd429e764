#include "vig/runtime/packed_model.h"

#include <algorithm>
#include <cstring>

#include "vig/base/error.h"
#include "vig/runtime/program.h"

namespace vig {
namespace {

size_t aligned(size_t bytes) {
  return (bytes + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
}

size_t float_bytes(const Shape& shape) {
  return static_cast<size_t>(shape.elements()) * sizeof(float);
}

// How weights that may be packed in 16 bits are.
DType half_type(const Weights& weights, int param) {
  const DType type = weights.stored(static_cast<size_t>(param)).dtype;
  return type == DType::kF16 || type == DType::kBF16 ? type : DType::kF32;
}

// Read between two releases of the file's pages.
constexpr size_t kReleasedBytes = 8 << 20;

}  // namespace

std::shared_ptr<const PackedModel> PackedModel::make(const Graph& graph,
                                                     std::shared_ptr<const Weights> weights,
                                                     const Precision& precision) {
  return make({&graph, 1}, std::move(weights), precision);
}

std::shared_ptr<const PackedModel> PackedModel::make(std::span<const Graph> graphs,
                                                     std::shared_ptr<const Weights> weights,
                                                     const Precision& precision) {
  std::vector<Program> programs;
  for (const Graph& graph : graphs) programs.push_back(lower(graph, {}, precision));
  return make(graphs, programs, std::move(weights), precision);
}

std::shared_ptr<const PackedModel> PackedModel::make(std::span<const Graph> graphs,
                                                     std::span<const Program> programs,
                                                     std::shared_ptr<const Weights> weights,
                                                     const Precision& precision) {
  check_float_layers(precision, graphs);
  std::shared_ptr<PackedModel> model(new PackedModel);
  model->precision_ = precision;
  model->graphs_.assign(graphs.begin(), graphs.end());
  const std::vector<ParamSpec>& params = model->graphs_.at(0).params;
  model->packed_.resize(params.size());
  model->layouts_.resize(params.size());
  model->types_.resize(params.size(), DType::kF32);
  // In the order in which they run, so that the end of one is followed by what is needed next.
  std::vector<const KernelCall*> packing_calls;
  size_t bytes = 0;
  for (const Program& program : programs) {
    for (const auto& call : program.calls) {
      const auto packing = call->packing(params);
      if (!packing) continue;
      std::string& layout = model->layouts_[packing->param];
      if (layout == packing->layout) continue;  // shared
      if (!layout.empty()) {
        fail("parameter {} is needed as {} and as {}", params[packing->param].name, layout,
             packing->layout);
      }
      layout = packing->layout;
      if (packing->half_bytes > 0)
        model->types_[packing->param] = half_type(*weights, packing->param);
      bytes += aligned(model->packed_bytes(*packing));
      packing_calls.push_back(call.get());
    }
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (model->layouts_[i].empty()) bytes += aligned(float_bytes(params[i].shape));
  }
  model->buffer_ = Buffer(bytes);
  auto* next = static_cast<std::byte*>(model->buffer_.data());
  size_t read = 0;  // of the file since pages were given back
  for (const KernelCall* call : packing_calls) {
    const auto packing = call->packing(params);
    call->pack(params, *weights, next);
    model->packed_[packing->param] = next;
    next += aligned(model->packed_bytes(*packing));
    // Pages of the file are not needed again.
    read += weights->stored(static_cast<size_t>(packing->param)).bytes();
    if (read < kReleasedBytes) continue;
    weights->release_pages();
    read = 0;
  }
  // What is not packed is copied, so that nothing of the file is held.
  model->plain_.resize(params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    if (!model->layouts_[i].empty()) continue;
    const size_t size = float_bytes(params[i].shape);
    std::memcpy(next, weights->floats(i).data(), size);
    model->plain_[i] = reinterpret_cast<const float*>(next);
    next += aligned(size);
  }
  weights->release_pages();
  return model;
}

size_t PackedModel::packed_bytes(const Packing& packing) const {
  return types_[packing.param] == DType::kF32 ? packing.bytes : packing.half_bytes;
}

void PackedModel::check(const Graph& graph, const Program& program) const {
  std::string first_difference;
  const bool known = std::any_of(graphs_.begin(), graphs_.end(), [&](const Graph& own) {
    const std::string text = difference(graph, own);
    if (first_difference.empty()) first_difference = text;
    return text.empty();
  });
  if (!known) fail_usage("a graph of another model: {}", first_difference);
  for (const auto& call : program.calls) {
    const auto packing = call->packing(graph.params);
    if (!packing || packing->layout == layouts_[packing->param]) continue;
    fail_usage(
        "{} is packed as {}, and what is to be kept needs {}: the value before its activation or "
        "batch norm cannot be kept",
        graph.params[packing->param].name, layouts_[packing->param], packing->layout);
  }
}

}  // namespace vig
