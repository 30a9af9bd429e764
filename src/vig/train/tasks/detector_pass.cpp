#include "vig/train/tasks/detector_pass.h"

#include <fmt/format.h>

#include "vig/base/error.h"
#include "vig/tasks/anchors.h"
#include "vig/torch/roi_align.h"

namespace vig::train {
namespace {

size_t output_of(const Graph& graph, const std::string& name) {
  const int node = graph.find_output(name);
  if (node < 0) fail("[train] the network has no output \"{}\"", name);
  return static_cast<size_t>(node);
}

const DetectorConfig& config_of(const TrainedModel& model) {
  const DetectorConfig* config = model.spec.config->detector();
  if (config == nullptr) fail("[train] {} is no detector", model.spec.name);
  return *config;
}

}  // namespace

DetectorMaps DetectorMaps::narrow(int64_t first, int64_t count) const {
  DetectorMaps part;
  for (const at::Tensor& level : levels) part.levels.push_back(level.narrow(0, first, count));
  part.logits = logits.narrow(0, first, count);
  part.deltas = deltas.narrow(0, first, count);
  return part;
}

DetectorPass::DetectorPass(const TrainedModel& model, const Graph& graph,
                           const std::vector<at::Tensor>& values, const ForwardOptions& options)
    : model_(model), graph_(graph), values_(values), options_(options), config_(config_of(model)) {
  for (size_t k = 0; k < config_.strides.size(); ++k) {
    const Grid& grid = graph.nodes[output_of(graph, fmt::format("rpn_cls{}", k))].grid;
    const int stride = config_.strides[k];
    grids_.push_back({stride, grid.height, grid.width});
    const std::vector<Box> level = level_anchors(config_, stride, grid.height, grid.width);
    anchors_.insert(anchors_.end(), level.begin(), level.end());
  }
}

std::vector<int64_t> DetectorPass::anchors_inside(int width, int height) const {
  std::vector<int64_t> inside;
  const auto ratios = static_cast<int64_t>(config_.anchor_ratios.size());
  int64_t first = 0;
  for (const Level& level : grids_) {
    const int columns = std::min(level.width, (width + level.stride - 1) / level.stride);
    const int rows = std::min(level.height, (height + level.stride - 1) / level.stride);
    for (int64_t y = 0; y < rows; ++y) {
      for (int64_t i = 0; i < columns * ratios; ++i) {
        inside.push_back(first + y * level.width * ratios + i);
      }
    }
    first += int64_t{level.height} * level.width * ratios;
  }
  return inside;
}

DetectorMaps DetectorPass::maps(const at::Tensor& images) const {
  const std::vector<at::Tensor> nodes = forward(graph_, values_, {images}, options_);
  const auto value = [&](const char* name, size_t k) {
    return nodes[output_of(graph_, fmt::format("{}{}", name, k))];
  };
  DetectorMaps maps;
  for (int k = 0; k < config_.roi_levels; ++k) {
    maps.levels.push_back(value("p", static_cast<size_t>(k) + 2));
  }
  const int64_t count = images.size(0);
  std::vector<at::Tensor> logits, deltas;
  for (size_t k = 0; k < grids_.size(); ++k) {
    logits.push_back(value("rpn_cls", k).reshape({count, -1}));
    deltas.push_back(value("rpn_reg", k).reshape({count, -1, 4}));
  }
  maps.logits = at::cat(logits, 1);
  maps.deltas = at::cat(deltas, 1);
  return maps;
}

std::vector<Proposal> DetectorPass::proposals(const DetectorMaps& maps, int64_t image,
                                              int per_level, int width, int height) const {
  const at::Tensor logits = maps.logits.select(0, image).detach().to(at::kCPU).contiguous();
  const at::Tensor deltas = maps.deltas.select(0, image).detach().to(at::kCPU).contiguous();
  std::vector<ProposalLevel> levels;
  int64_t first = 0;
  for (const Level& grid : grids_) {
    levels.push_back({grid.height, grid.width, logits.data_ptr<float>() + first,
                      deltas.data_ptr<float>() + 4 * first});
    first += int64_t{grid.height} * grid.width * static_cast<int64_t>(config_.anchor_ratios.size());
  }
  return find_proposals(levels, config_, per_level, static_cast<float>(width),
                        static_cast<float>(height));
}

at::Tensor DetectorPass::features(const DetectorMaps& maps, const at::Tensor& rois,
                                  int side) const {
  RoiAlign align;
  for (size_t k = 0; k < maps.levels.size(); ++k) {
    align.scales.push_back(1.0f / static_cast<float>(config_.strides[k]));
  }
  align.finest_scale = config_.finest_scale;
  align.side = side;
  return roi_align(maps.levels, rois, align, options_.kernels);
}

std::vector<at::Tensor> DetectorPass::head(const char* input, const at::Tensor& features,
                                           const std::vector<const char*>& outputs) const {
  for (const Graph& graph : model_.graphs) {
    if (graph.find_input(input) < 0) continue;
    const std::vector<at::Tensor> nodes = forward(graph, values_, {features}, options_);
    std::vector<at::Tensor> values;
    for (const char* name : outputs) values.push_back(nodes[output_of(graph, name)]);
    return values;
  }
  fail("[train] the model has no graph with the input \"{}\"", input);
}

BoxOutputs DetectorPass::boxes(const DetectorMaps& maps, const at::Tensor& rois) const {
  const std::vector<at::Tensor> values =
      head("box_features", features(maps, rois, config_.roi_side), {"box_cls", "box_reg"});
  return {values[0].flatten(1), values[1].flatten(1)};
}

at::Tensor DetectorPass::masks(const DetectorMaps& maps, const at::Tensor& rois) const {
  return head("mask_features", features(maps, rois, config_.mask_side), {"mask_logits"})[0];
}

DetectionLosses DetectorPass::losses(const DetectorMaps& maps,
                                     std::span<const SampledImage> proposals,
                                     std::span<const std::vector<Box>> lists,
                                     std::span<const SampledImage> boxes) const {
  const auto [proposal_class, proposal_box] =
      proposal_losses(maps.logits, maps.deltas, anchors_, proposals, config_.proposal_std);
  const BoxSamples samples = gather_samples(lists, boxes, static_cast<int>(model_.classes.size()));
  const BoxOutputs outputs = this->boxes(maps, samples.rois());
  const auto [box_class, box_box] =
      box_losses(outputs.logits, outputs.deltas, samples, config_.box_std);
  // Every parameter takes part in every pass, or processes would wait for its gradient.
  const bool found = !samples.positive.empty();
  const at::Tensor logits =
      masks(maps, found ? samples.positive_rois() : samples.rois().narrow(0, 0, 1));
  const int side = static_cast<int>(logits.size(1));
  const at::Tensor mask =
      mask_loss(logits, mask_targets(samples, model_.height, model_.width, side), samples);
  return {proposal_class, proposal_box, box_class, box_box, mask};
}

}  // namespace vig::train
