// Images to a class for every pixel.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "vig/pipeline/pipeline.h"
#include "vig/tasks/results.h"

namespace vig {

class LogitField;
class RegionWindows;
class Runner;
struct InputWindow;
struct ModelSource;
struct RunImage;

using SegmentedImage = ImageResult<Segmentation>;

// Share of their side that neighbouring windows of an image overlap by, unless the recipe says it.
inline constexpr double kSegmentOverlap = 1.0 / 3;

struct SegmentOptions {
  // Side of the windows that slide over the image, by two thirds of it; 0: the network sees the
  // whole image at once. Not given: as the weights' recipe says.
  std::optional<int> window = {};
  bool probabilities = false;
};

// How segmentation by windows goes on.
struct SegmentSteps {
  // Labelled rows of the image, from `first` on; each comes once, from the top.
  std::function<void(int first, Segmentation rows)> on_rows;
  // After each batch, with the number of its windows; false ends the work.
  std::function<bool(size_t windows)> on_windows = {};
};

// For any number of threads.
class Segmenter {
 public:
  // Throws everything that can be wrong with the model.
  explicit Segmenter(const ModelRequest& model, const RunOptions& options = {},
                     const SegmentOptions& segment = {});
  // Of a model that is found already.
  explicit Segmenter(const ModelSource& source, const RunOptions& options = {},
                     const SegmentOptions& segment = {});

  const Runner& runner() const { return *runner_; }

  // One result per image, in order.
  std::vector<SegmentedImage> segment(const SampleSource& images) const;
  // Hands them out, each with its sample. `order`: of the images; empty: as they stand. False when
  // `handle` ended the work before the last one.
  bool segment(const SampleSource& images, const HandleResults<Segmentation>& handle,
               const std::vector<size_t>& order = {}) const;

  // The same of one image on its way through the runner.
  // The image as it is stored, labelled: the logits of its windows are resized to them, averaged,
  // resized to the image, and the best class is taken. Throws Error where the network's outputs
  // are not finite, and where probabilities are asked for that do not fit half of the memory.
  Segmentation segment(const RunImage& image) const;
  // The logits of its windows, as the network gives them. Throws Error where the file asks for more
  // windows than its bytes suggest.
  LogitField logits(const RunImage& image) const;

  // An image of any size, in memory that does not depend on its height: each row of windows is read
  // and run, the rows of pixels that no further window covers are labelled and handed out, and
  // logits that no further row needs are dropped. Rows above `first_row`, where an earlier call
  // ended, are left out. kNoLabel marks pixels whose windows were all skipped. False
  // when on_windows ended the work.
  bool segment(RegionWindows& image, const SegmentSteps& steps, int first_row = 0) const;

 private:
  struct Canvas;
  Canvas canvas_of(const RunImage& image) const;
  // All windows of a row, in batches, to the field.
  bool run_row(const Canvas& canvas, std::span<const InputWindow> row, LogitField& field,
               const SegmentSteps& steps) const;
  bool segment(const Canvas& canvas, const SegmentSteps& steps, int first_row) const;

  std::shared_ptr<const Runner> runner_;
  int window_ = 0;
  int stride_ = 0;            // 0: no windows
  bool own_windows_ = false;  // the file decides on them
  bool probabilities_ = false;
};

}  // namespace vig
