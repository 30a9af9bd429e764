#include "vig/pipeline/detector.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <new>

#include "vig/base/error.h"
#include "vig/pipeline/detect_trace.h"
#include "vig/pipeline/run_images.h"
#include "vig/tasks/detect_boxes.h"
#include "vig/tasks/paste_mask.h"
#include "vig/tasks/roi_features.h"

namespace vig {
namespace {

// As many boxes together as fill the machine: their features take 12 MB in either head.
constexpr int kBoxBatch = 256;
constexpr int kMaskBatch = 64;

const Grid& output_grid(const Graph& graph, const std::string& name) {
  const int node = graph.find_output(name);
  if (node < 0) fail("a detector without the output {}", name);
  return graph.node(node).grid;
}

void check_channels(const Graph& graph, const std::string& name, int64_t expected) {
  const Grid& grid = output_grid(graph, name);
  if (grid.channels == expected) return;
  fail("a detector whose output {} has {} channels, expected {}", name, grid.channels, expected);
}

// Calls work(0) to work(count - 1), each once, by all threads of the pool.
template <class Work>
void share_out(ThreadPool& pool, size_t count, const Work& work) {
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  pool.run([&](int) {
    try {
      for (size_t i = next++; i < count && !failed; i = next++) work(i);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
  });
  if (failed) throw std::bad_alloc();
}

std::vector<PyramidLevel> pyramid_of(const Session& session, int levels) {
  std::vector<PyramidLevel> pyramid;
  for (int i = 0; i < levels; ++i) {
    const std::string name = fmt::format("p{}", i + 2);
    const Grid& grid = output_grid(session.graph(), name);
    pyramid.push_back({grid.height, grid.width, grid.channels, session.output(name, 0)});
  }
  return pyramid;
}

const DetectorConfig& config_of(const ModelSource& source) {
  const DetectorConfig* config = source.spec.config->detector();
  if (config == nullptr) fail("{}: a detector without its config", source.name);
  return *config;
}

// Fills a trace, where one is given.
class Watch {
 public:
  explicit Watch(DetectTrace* trace) : trace_(trace) {
    if (trace_ != nullptr) *trace_ = {};
  }

  // What ends here began where the last stage ended.
  void end(const char* stage) {
    if (trace_ == nullptr) return;
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    auto& stages = trace_->stages;
    const auto known = std::ranges::find(stages, stage, [](const auto& one) { return one.first; });
    if (known == stages.end()) {
      stages.emplace_back(stage, seconds);
    } else {
      known->second += seconds;
    }
  }
  void uses(const Session& session) {
    if (trace_ == nullptr) return;
    trace_->arena_bytes += session.arena_bytes();
    trace_->scratch_bytes += session.scratch_bytes();
  }
  void counted(size_t boxes, int most) {
    if (trace_ != nullptr) trace_->most_objects = boxes >= static_cast<size_t>(most);
  }
  void found(std::vector<Proposal> proposals) {
    if (trace_ != nullptr) trace_->proposals = std::move(proposals);
  }

 private:
  using Clock = std::chrono::steady_clock;

  DetectTrace* trace_;
  Clock::time_point last_ = Clock::now();
};

using Levels = std::vector<PyramidLevel>;

}  // namespace

class Detector::Impl {
 public:
  Impl(const ModelSource& source, const RunOptions& options, const DetectOptions& detect);

  const Runner& runner() const { return runner_; }
  const DetectorConfig& config() const { return config_; }
  Detections detect(const RunImage& image, DetectTrace* trace) const;

 private:
  void check_graphs() const;
  std::vector<Proposal> find_boxes(const Session& image, const Placement& placement) const;
  std::vector<ScoredBox> classify_boxes(const Levels& levels, const std::vector<Box>& proposals,
                                        const Placement& placement, Watch& watch) const;
  Detections add_masks(const Levels& levels, const std::vector<ScoredBox>& boxes,
                       const Placement& placement, Watch& watch) const;
  // Features of `count` boxes from `first` on, side by side, as the inputs of a head.
  void fill_features(const Levels& levels, const std::vector<Box>& boxes, size_t first,
                     size_t count, int side, Session& head) const;
  // The masks of `count` boxes from `first` on, from the logits of the head.
  void paste_masks(const std::vector<ScoredBox>& boxes, size_t first, size_t count,
                   const Session& head, const Placement& placement, Detections& detections) const;

  Runner runner_;
  DetectorConfig config_;
  std::vector<bool> wanted_;  // by class
  std::unique_ptr<SessionPool> box_heads_, mask_heads_;
};

Detector::Impl::Impl(const ModelSource& source, const RunOptions& options,
                     const DetectOptions& detect)
    : runner_(require_weights(source), options, ModelTask::kDetect),
      config_(config_of(source)),
      wanted_(static_cast<size_t>(model_classes(source.spec)), detect.labels.empty()),
      box_heads_(runner_.further_sessions("box_features", kBoxBatch)),
      mask_heads_(runner_.further_sessions("mask_features", kMaskBatch)) {
  // Work grows with the square of these, which a file may say.
  constexpr int kMostProposals = 10000, kMostDetections = 1000;
  if (config_.proposals > kMostProposals || config_.proposals_per_level > kMostProposals ||
      config_.detections > kMostDetections) {
    fail(
        "{}: {} proposals of {} on a level and {} objects, expected at most {}, {} and {} (fixed "
        "limits)",
        source.name, config_.proposals, config_.proposals_per_level, config_.detections,
        kMostProposals, kMostProposals, kMostDetections);
  }
  if (detect.score >= 0) config_.min_score = detect.score;
  for (const int label : detect.labels) wanted_.at(static_cast<size_t>(label)) = true;
  if (box_heads_ == nullptr || mask_heads_ == nullptr) {
    fail("{}: a detector without heads for boxes and masks", source.name);
  }
  check_graphs();
}

void Detector::Impl::check_graphs() const {
  const int classes = model_classes(runner_.spec());
  const auto anchors = static_cast<int64_t>(config_.anchor_ratios.size());
  const Graph& image = runner_.graph();
  for (size_t i = 0; i < config_.strides.size(); ++i) {
    check_channels(image, fmt::format("rpn_cls{}", i), anchors);
    check_channels(image, fmt::format("rpn_reg{}", i), 4 * anchors);
  }
  const SessionPool::Lease boxes = box_heads_->take(config_.roi_side, config_.roi_side, kBoxBatch);
  check_channels(boxes->graph(), "box_cls", classes + 1);
  check_channels(boxes->graph(), "box_reg", int64_t{4} * classes);
  const SessionPool::Lease masks =
      mask_heads_->take(config_.mask_side, config_.mask_side, kMaskBatch);
  check_channels(masks->graph(), "mask_logits", classes);
  for (int i = 0; i < config_.roi_levels; ++i) {
    for (const Session* head : {&*boxes, &*masks}) {
      const Graph& graph = head->graph();
      check_channels(image, fmt::format("p{}", i + 2),
                     graph.node(graph.inputs.at(0).node).grid.channels);
    }
  }
}

Detections Detector::Impl::detect(const RunImage& image, DetectTrace* trace) const {
  Watch watch(trace);
  const Placement& placement = image.placement;
  const SessionPool::Lease session =
      runner_.sessions().take(placement.input_height, placement.input_width, 1);
  watch.uses(*session);
  image.write(session->input(0));
  session->run(1);
  watch.end(kImageStage);
  const Levels levels = pyramid_of(*session, config_.roi_levels);
  std::vector<Proposal> proposals = find_boxes(*session, placement);
  std::vector<Box> boxes;
  for (const Proposal& proposal : proposals) boxes.push_back(proposal.box);
  watch.found(std::move(proposals));
  watch.end("proposals");
  return add_masks(levels, classify_boxes(levels, boxes, placement, watch), placement, watch);
}

std::vector<Proposal> Detector::Impl::find_boxes(const Session& image,
                                                 const Placement& placement) const {
  std::vector<ProposalLevel> levels;
  for (size_t i = 0; i < config_.strides.size(); ++i) {
    const std::string scores = fmt::format("rpn_cls{}", i);
    const Grid& grid = output_grid(image.graph(), scores);
    levels.push_back({grid.height, grid.width, image.output(scores, 0),
                      image.output(fmt::format("rpn_reg{}", i), 0)});
  }
  return find_proposals(levels, config_, config_.proposals_per_level,
                        static_cast<float>(placement.resized_width),
                        static_cast<float>(placement.resized_height));
}

void Detector::Impl::fill_features(const Levels& levels, const std::vector<Box>& boxes,
                                   size_t first, size_t count, int side, Session& head) const {
  share_out(*runner_.thread_pool(), count, [&](size_t i) {
    roi_features(levels, boxes[first + i], config_, side, head.input(static_cast<int>(i)));
  });
}

std::vector<ScoredBox> Detector::Impl::classify_boxes(const Levels& levels,
                                                      const std::vector<Box>& proposals,
                                                      const Placement& placement,
                                                      Watch& watch) const {
  const int classes = model_classes(runner_.spec());
  const int side = config_.roi_side;
  const SessionPool::Lease head = box_heads_->take(side, side, kBoxBatch);
  watch.uses(*head);
  std::vector<float> logits, deltas;
  for (size_t first = 0; first < proposals.size(); first += kBoxBatch) {
    const size_t count = std::min<size_t>(kBoxBatch, proposals.size() - first);
    fill_features(levels, proposals, first, count, side, *head);
    watch.end("box features");
    head->run(static_cast<int>(count));
    const float* scores = head->output("box_cls", 0);
    const float* moves = head->output("box_reg", 0);
    logits.insert(logits.end(), scores, scores + count * static_cast<size_t>(classes + 1));
    deltas.insert(deltas.end(), moves, moves + count * static_cast<size_t>(classes) * 4);
    watch.end(kBoxStage);
  }
  std::vector<ScoredBox> boxes =
      detect_boxes(proposals, logits, deltas, classes, config_, placement);
  watch.counted(boxes.size(), config_.detections);
  std::erase_if(boxes,
                [&](const ScoredBox& box) { return !wanted_[static_cast<size_t>(box.label)]; });
  watch.end("boxes");
  return boxes;
}

Detections Detector::Impl::add_masks(const Levels& levels, const std::vector<ScoredBox>& boxes,
                                     const Placement& placement, Watch& watch) const {
  const auto scale_x = static_cast<float>(placement.scale_x());
  const auto scale_y = static_cast<float>(placement.scale_y());
  std::vector<Box> scaled;  // in the network's input again
  for (const ScoredBox& one : boxes) {
    scaled.push_back(
        {one.box.x1 * scale_x, one.box.y1 * scale_y, one.box.x2 * scale_x, one.box.y2 * scale_y});
  }
  const SessionPool::Lease head =
      mask_heads_->take(config_.mask_side, config_.mask_side, kMaskBatch);
  watch.uses(*head);
  Detections detections(boxes.size());
  for (size_t first = 0; first < boxes.size(); first += kMaskBatch) {
    const size_t count = std::min<size_t>(kMaskBatch, boxes.size() - first);
    fill_features(levels, scaled, first, count, config_.mask_side, *head);
    watch.end("mask features");
    head->run(static_cast<int>(count));
    watch.end(kMaskStage);
    paste_masks(boxes, first, count, *head, placement, detections);
    watch.end("masks");
  }
  return detections;
}

void Detector::Impl::paste_masks(const std::vector<ScoredBox>& boxes, size_t first, size_t count,
                                 const Session& head, const Placement& placement,
                                 Detections& detections) const {
  const auto classes = static_cast<size_t>(model_classes(runner_.spec()));
  const int side = output_grid(head.graph(), "mask_logits").height;
  const size_t cells = static_cast<size_t>(side) * static_cast<size_t>(side);
  std::atomic<bool> finite{true};
  share_out(*runner_.thread_pool(), count, [&](size_t i) {
    const ScoredBox& one = boxes[first + i];
    const float* logits =
        head.output("mask_logits", static_cast<int>(i)) + static_cast<size_t>(one.label);
    std::vector<float> probabilities(cells);
    for (size_t cell = 0; cell < cells; ++cell) {
      const float logit = logits[cell * classes];
      if (!std::isfinite(logit)) finite = false;
      probabilities[cell] = 1.0f / (1.0f + std::exp(-logit));
    }
    detections[first + i] = {
        one.box, one.label, one.score,
        paste_mask(probabilities, side, one.box, placement.source_width, placement.source_height)};
  });
  if (!finite) fail("the network's outputs are not finite");
}

void keep_above(float score, DetectedImage& image) {
  const auto removed = std::erase_if(
      image.prediction, [&](const Detection& detection) { return !(detection.score > score); });
  if (removed == 0) return;
  std::erase_if(image.warnings,
                [](const ImageWarning& one) { return one.kind == kMostObjectsWarning; });
}

Detector::Detector(const ModelRequest& model, const RunOptions& options,
                   const DetectOptions& detect)
    : Detector(find_source(model), options, detect) {}

Detector::Detector(const ModelSource& source, const RunOptions& options,
                   const DetectOptions& detect)
    : impl_(std::make_shared<const Impl>(source, options, detect)) {}

const Runner& Detector::runner() const { return impl_->runner(); }
const DetectorConfig& Detector::config() const { return impl_->config(); }

Detections Detector::detect(const RunImage& image, DetectTrace* trace) const {
  return impl_->detect(image, trace);
}

bool Detector::detect(const SampleSource& images, const HandleResults<Detections>& handle,
                      const std::vector<size_t>& order) const {
  const auto decode = [&](RunImage& image) {
    DetectTrace trace;
    Detections found = detect(image, &trace);
    if (trace.most_objects) {
      image.warnings.push_back(
          {kMostObjectsWarning,
           fmt::format("the network finds at most {} objects in an image, and there may be more; "
                       "give a larger --set detections=N, or parts of the image",
                       impl_->config().detections)});
    }
    return found;
  };
  return run_images<Detections>(impl_->runner(), images, order, decode, handle);
}

std::vector<DetectedImage> Detector::detect(const SampleSource& images) const {
  std::vector<DetectedImage> all;
  detect(images, collect_results(all));
  return all;
}

}  // namespace vig
