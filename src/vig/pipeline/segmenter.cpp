#include "vig/pipeline/segmenter.h"

#include <algorithm>

#include "vig/base/memory.h"

namespace vig {
namespace {

// The part of an input that a window shows, into the session's own.
void copy_window(const DensePicture& picture, const InputWindow& window, float* out) {
  const auto wide = static_cast<size_t>(picture.placement.input_width) * 3;
  const size_t row = static_cast<size_t>(window.width) * 3;
  const float* first = picture.input.data() + static_cast<size_t>(window.y) * wide +
                       static_cast<size_t>(window.x) * 3;
  for (int y = 0; y < window.height; ++y) {
    std::copy_n(first + static_cast<size_t>(y) * wide, row, out + static_cast<size_t>(y) * row);
  }
}

}  // namespace

Segmenter::Segmenter(const ModelSource& source, const RunOptions& options,
                     const SegmentOptions& segment)
    : runner_(require_weights(source), options, ModelTask::kSegment),
      probabilities_(segment.probabilities) {
  const Recipe& recipe = runner_.recipe();
  window_ = recipe.crop;
  stride_ = recipe.window_stride;
  // A file could ask for a window at every pixel.
  if (!segment.window && stride_ > 0 && stride_ < window_ / 4) {
    fail("{}: windows of {} pixels at every {} of them, expected at least {}", runner_.name(),
         window_, stride_, window_ / 4);
  }
  own_windows_ = !segment.window;
  if (own_windows_) return;
  window_ = *segment.window;
  stride_ = 2 * window_ / 3;
  if (window_ < 0 || window_ > kMaxInputSide || window_ % recipe.multiple != 0 ||
      (window_ > 0 && stride_ == 0)) {
    fail_usage("windows of {} pixels, expected a multiple of {} up to {}", window_, recipe.multiple,
               kMaxInputSide);
  }
}

Segmentation Segmenter::segment(const DensePicture& picture) const {
  const Placement& placement = picture.placement;
  const int classes = model_classes(runner_.spec());
  const double bytes = 4.0 * classes * placement.source_width * placement.source_height;
  if (probabilities_ && bytes > static_cast<double>(physical_memory()) / 2) {
    fail(
        "the probabilities of {} classes for {}x{} pixels take {:.0f} bytes, more than half of "
        "the memory",
        classes, placement.source_width, placement.source_height, bytes);
  }
  return label_pixels(logits(picture), placement.source_width, placement.source_height,
                      probabilities_, *runner_.team());
}

LogitField Segmenter::logits(const DensePicture& picture) const {
  const Placement& placement = picture.placement;
  if (own_windows_) {
    runner_.check_windows(
        placement, window_,
        count_windows(placement.input_width, placement.input_height, window_, stride_));
  }
  std::vector<WindowLogits> windows;
  for (const InputWindow& window :
       sliding_windows(placement.input_width, placement.input_height, window_, stride_)) {
    const SessionPool::Lease session = runner_.sessions().take(window.height, window.width, 1);
    copy_window(picture, window, session->input(0));
    session->run(1);
    const Grid& grid = session->graph().node(session->graph().find_output("logits")).grid;
    const float* logits = session->output("logits", 0);
    windows.push_back({window, grid.height, grid.width, {logits, logits + grid.elements()}});
  }
  return LogitField(placement.input_width, placement.input_height, model_classes(runner_.spec()),
                    std::move(windows));
}

bool Segmenter::segment(const SampleSource& pictures, const HandleDense<Segmentation>& handle,
                        const std::vector<size_t>& order) const {
  return run_dense<Segmentation>(
      runner_, pictures, order, [&](const DensePicture& picture) { return segment(picture); },
      handle);
}

std::vector<SegmentedPicture> Segmenter::segment(const SampleSource& pictures) const {
  std::vector<SegmentedPicture> all;
  segment(pictures, [&](const SegmentedPicture& result) {
    all.push_back(result);
    all.back().image = nullptr;  // its memory may be what the next picture waits for
    return true;
  });
  return all;
}

}  // namespace vig
