#include "vig/pipeline/segmenter.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/base/memory.h"
#include "vig/pipeline/run_images.h"
#include "vig/tasks/label_pixels.h"

namespace vig {
namespace {

// The part of an input that a window shows, into a session's own.
void copy_window(const std::vector<float>& input, int width, const InputWindow& window,
                 float* out) {
  const auto wide = static_cast<size_t>(width) * 3;
  const size_t row = static_cast<size_t>(window.width) * 3;
  const float* first =
      input.data() + static_cast<size_t>(window.y) * wide + static_cast<size_t>(window.x) * 3;
  for (int y = 0; y < window.height; ++y) {
    std::copy_n(first + static_cast<size_t>(y) * wide, row, out + static_cast<size_t>(y) * row);
  }
}

}  // namespace

Segmenter::Segmenter(const ModelRequest& model, const RunOptions& options,
                     const SegmentOptions& segment)
    : Segmenter(find_source(model), options, segment) {}

Segmenter::Segmenter(const ModelSource& source, const RunOptions& options,
                     const SegmentOptions& segment)
    : runner_(
          std::make_shared<const Runner>(require_weights(source), options, ModelTask::kSegment)),
      probabilities_(segment.probabilities) {
  const Recipe recipe = runner_->recipe();
  window_ = recipe.crop;
  stride_ = recipe.window_stride;
  // A file could ask for a window at every pixel.
  if (!segment.window && stride_ > 0 && stride_ < window_ / 4) {
    fail("{}: windows of {} pixels at every {} of them, expected at least {}", runner_->name(),
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

Segmentation Segmenter::segment(const RunImage& image) const {
  const Placement& placement = image.placement;
  const int classes = model_classes(runner_->spec());
  const double bytes = 4.0 * classes * placement.source_width * placement.source_height;
  if (probabilities_ && bytes > static_cast<double>(physical_memory()) / 2) {
    fail(
        "the probabilities of {} classes for {}x{} pixels take {:.0f} bytes, more than half of "
        "the memory",
        classes, placement.source_width, placement.source_height, bytes);
  }
  return label_pixels(logits(image), placement.source_width, placement.source_height,
                      probabilities_, *runner_->thread_pool());
}

LogitField Segmenter::logits(const RunImage& image) const {
  const Placement& placement = image.placement;
  if (own_windows_) {
    runner_->check_windows(
        placement, window_,
        count_windows(placement.input_width, placement.input_height, window_, stride_));
  }
  const std::vector<InputWindow> shown =
      sliding_windows(placement.input_width, placement.input_height, window_, stride_);
  // Windows overlap: the recipe writes what they share once, and straight to the session where
  // there is one window.
  std::vector<float> input;
  if (shown.size() > 1) {
    input.resize(static_cast<size_t>(placement.input_height) *
                 static_cast<size_t>(placement.input_width) * 3);
    image.write(input.data());
  }
  std::vector<WindowLogits> windows;
  for (const InputWindow& window : shown) {
    const SessionPool::Lease session = runner_->sessions().take(window.height, window.width, 1);
    if (shown.size() > 1) {
      copy_window(input, placement.input_width, window, session->input(0));
    } else {
      image.write(session->input(0));
    }
    session->run(1);
    const Grid& grid = session->graph().node(session->graph().find_output("logits")).grid;
    const float* logits = session->output("logits", 0);
    windows.push_back({window, grid.height, grid.width, {logits, logits + grid.elements()}});
  }
  return LogitField(placement.input_width, placement.input_height, model_classes(runner_->spec()),
                    std::move(windows));
}

bool Segmenter::segment(const SampleSource& images, const HandleResults<Segmentation>& handle,
                        const std::vector<size_t>& order) const {
  return run_images<Segmentation>(
      *runner_, images, order, [&](const RunImage& image) { return segment(image); }, handle);
}

std::vector<SegmentedImage> Segmenter::segment(const SampleSource& images) const {
  std::vector<SegmentedImage> all;
  segment(images, collect_results(all));
  return all;
}

}  // namespace vig
