// Images to a class for every pixel.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "vig/data/image_files.h"
#include "vig/pipeline/image_results.h"
#include "vig/pipeline/runner.h"
#include "vig/tasks/label_pixels.h"
#include "vig/tasks/segmentation.h"

namespace vig {

using SegmentedImage = ImageResult<Segmentation>;

struct SegmentOptions {
  // Side of the windows that slide over the image, by two thirds of it; 0: the network sees the
  // whole image at once. Not given: as the weights' recipe says.
  std::optional<int> window = {};
  bool probabilities = false;
};

// For any number of threads, as a Runner is.
class Segmenter {
 public:
  explicit Segmenter(const ModelSource& source, const RunOptions& options = {},
                     const SegmentOptions& segment = {});

  const Runner& runner() const { return runner_; }

  // The image as it is stored, labelled: the logits of its windows are resized to them, averaged,
  // resized to the image, and the best class is taken. Throws Error where the network's outputs
  // are not finite, and where probabilities are asked for that do not fit half of the memory.
  Segmentation segment(const RunImage& image) const;
  // The logits of its windows, as the network gives them. Throws Error where the file asks for more
  // windows than its bytes suggest.
  LogitField logits(const RunImage& image) const;

  // One result per image, in order.
  std::vector<SegmentedImage> segment(const SampleSource& images) const;
  // Hands them out, each with its sample. `order`: of the images; empty: as they stand. False when
  // `handle` ended the work before the last one.
  bool segment(const SampleSource& images, const HandleResults<Segmentation>& handle,
               const std::vector<size_t>& order = {}) const;

 private:
  Runner runner_;
  int window_ = 0;
  int stride_ = 0;            // 0: no windows
  bool own_windows_ = false;  // the file decides on them
  bool probabilities_ = false;
};

}  // namespace vig
