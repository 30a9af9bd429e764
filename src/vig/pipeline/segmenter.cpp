#include "vig/pipeline/segmenter.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/base/memory.h"
#include "vig/pipeline/region_windows.h"
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

// What windows slide over, and how large the labelled image is.
struct Segmenter::Canvas {
  int width = 0, height = 0;
  int image_width = 0, image_height = 0;
  std::vector<InputWindow> windows;
  std::function<void(std::span<const InputWindow> row)> load;  // before its windows are shown
  // How the network sees a window; nothing where it is skipped.
  std::function<std::optional<RunImage>(const InputWindow& window)> show;
};

Segmenter::Canvas Segmenter::canvas_of(const RunImage& image) const {
  const Placement& placement = image.placement;
  if (own_windows_) {
    runner_->check_windows(
        placement, window_,
        count_windows(placement.input_width, placement.input_height, window_, stride_));
  }
  Canvas canvas;
  canvas.width = placement.input_width;
  canvas.height = placement.input_height;
  canvas.image_width = placement.source_width;
  canvas.image_height = placement.source_height;
  canvas.windows = sliding_windows(canvas.width, canvas.height, window_, stride_);
  canvas.load = [](std::span<const InputWindow>) {};
  // Windows overlap: the recipe writes what they share once, and straight to the session where
  // there is one window.
  auto input = std::make_shared<std::vector<float>>();
  const bool one = canvas.windows.size() == 1;
  if (!one) {
    input->resize(static_cast<size_t>(canvas.height) * static_cast<size_t>(canvas.width) * 3);
    image.write(input->data());
  }
  canvas.show = [input, one, width = canvas.width, &image](const InputWindow& window) {
    RunImage shown;
    shown.placement.input_width = window.width;
    shown.placement.input_height = window.height;
    shown.write = one ? image.write : [input, width, window](float* out) {
      copy_window(*input, width, window, out);
    };
    return std::optional(std::move(shown));
  };
  return canvas;
}

bool Segmenter::run_row(const Canvas& canvas, std::span<const InputWindow> row, LogitField& field,
                        const SegmentSteps& steps) const {
  canvas.load(row);
  const InputWindow& first = row.front();
  const auto together = static_cast<size_t>(
      std::min<int64_t>(runner_->window_batch(std::max(first.width, first.height)),
                        static_cast<int64_t>(row.size())));
  for (size_t next = 0; next < row.size();) {
    std::vector<RunImage> shown;
    std::vector<InputWindow> windows;
    const size_t begin = next;
    for (; next < row.size() && shown.size() < together; ++next) {
      std::optional<RunImage> image = canvas.show(row[next]);
      if (!image) continue;
      shown.push_back(*std::move(image));
      windows.push_back(row[next]);
    }
    if (!shown.empty()) {
      // Windows of a row have one size.
      const Placement& placement = shown.front().placement;
      const SessionPool::Lease session = runner_->sessions().take(
          placement.input_height, placement.input_width, static_cast<int>(together));
      for (size_t i = 0; i < shown.size(); ++i) {
        shown[i].write(session->input(static_cast<int>(i)));
      }
      session->run(static_cast<int>(shown.size()));
      const Grid& grid = session->graph().node(session->graph().find_output("logits")).grid;
      for (size_t i = 0; i < shown.size(); ++i) {
        const float* logits = session->output("logits", static_cast<int>(i));
        field.add({windows[i], grid.height, grid.width, {logits, logits + grid.elements()}});
      }
    }
    if (field.bytes() > physical_memory() / 2) {
      fail(
          "the logits of {} classes for {} pixels in a row take {} bytes, more than half of the "
          "memory",
          field.classes(), field.width(), field.bytes());
    }
    if (steps.on_windows && !steps.on_windows(next - begin)) return false;
  }
  return true;
}

bool Segmenter::segment(const Canvas& canvas, const SegmentSteps& steps, int first_row) const {
  LogitField field(canvas.width, canvas.height, model_classes(runner_->spec()));
  const std::vector<std::span<const InputWindow>> rows = window_rows(canvas.windows);
  int done = first_row;
  for (size_t i = 0; i < rows.size() && done < canvas.image_height; ++i) {
    const InputWindow& window = rows[i].front();
    const int known = i + 1 < rows.size() ? rows[i + 1].front().y : canvas.height;
    const int last = labelled_rows(canvas.height, canvas.image_height, known);
    if (window.y + window.height <= first_row) continue;  // what follows needs it no more
    if (!run_row(canvas, rows[i], field, steps)) return false;
    if (last <= done) continue;
    steps.on_rows(done, label_rows(field, canvas.image_width, canvas.image_height,
                                   {done, last, probabilities_}, *runner_->thread_pool()));
    done = last;
    // The next row of the image may still lie between the last two of the field.
    field.forget_above(canvas.height == canvas.image_height ? known : known - 2);
  }
  return true;
}

bool Segmenter::segment(RegionWindows& image, const SegmentSteps& steps, int first_row) const {
  Canvas canvas;
  canvas.width = canvas.image_width = image.width();
  canvas.height = canvas.image_height = image.height();
  canvas.windows = image.windows();
  canvas.load = [&](std::span<const InputWindow> row) { image.load(row); };
  canvas.show = [&](const InputWindow& window) {
    std::optional<RunImage> shown = image.image(window);
    if (image.skips(*shown)) shown.reset();
    return shown;
  };
  return segment(canvas, steps, first_row);
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
  Segmentation all;
  all.labels = LabelMap(placement.source_width, placement.source_height);
  if (probabilities_) {
    all.probabilities.reserve(all.labels.labels.size() * static_cast<size_t>(classes));
  }
  SegmentSteps steps;
  steps.on_rows = [&](int first, Segmentation rows) {
    if (rows.labels.height == all.labels.height) {
      all = std::move(rows);
      return;
    }
    std::ranges::copy(rows.labels.labels, all.labels.row(first));
    all.probabilities.insert(all.probabilities.end(), rows.probabilities.begin(),
                             rows.probabilities.end());
  };
  segment(canvas_of(image), steps, 0);
  return all;
}

LogitField Segmenter::logits(const RunImage& image) const {
  const Canvas canvas = canvas_of(image);
  LogitField field(canvas.width, canvas.height, model_classes(runner_->spec()));
  for (const std::span<const InputWindow> row : window_rows(canvas.windows)) {
    run_row(canvas, row, field, {});
  }
  return field;
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
