// Images to a class for every pixel.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "vig/pipeline/pipeline.h"
#include "vig/tasks/results.h"

namespace vig {

class LogitField;
class Runner;
struct ModelSource;
struct RunImage;

using SegmentedImage = ImageResult<Segmentation>;

struct SegmentOptions {
  // Side of the windows that slide over the image, by two thirds of it; 0: the network sees the
  // whole image at once. Not given: as the weights' recipe says.
  std::optional<int> window = {};
  bool probabilities = false;
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

 private:
  std::shared_ptr<const Runner> runner_;
  int window_ = 0;
  int stride_ = 0;            // 0: no windows
  bool own_windows_ = false;  // the file decides on them
  bool probabilities_ = false;
};

}  // namespace vig
