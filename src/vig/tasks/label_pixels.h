// From the logits of a segmentation network to a class for every pixel.
#pragma once

#include <span>
#include <vector>

#include "vig/base/thread_pool.h"
#include "vig/image/image.h"
#include "vig/tasks/results.h"
#include "vig/tasks/windows.h"

namespace vig {

// What the network says of one window of its input.
struct WindowLogits {
  InputWindow window;
  int height = 0, width = 0;  // of the logits, which may be coarser than the window
  std::vector<float> logits;  // [height, width, classes]
};

// Logits of the whole input at its own resolution, made row by row where they are needed: those of
// each window are resized to it (bilinear, half-pixel centres), and where windows overlap they are
// averaged. In memory are the logits as the network gives them and some rows.
class LogitField {
 public:
  // The windows cover all of width x height.
  LogitField(int width, int height, int classes, std::vector<WindowLogits> windows);

  int width() const { return width_; }
  int height() const { return height_; }
  int classes() const { return classes_; }
  // [width, classes]; `scratch` is of any size.
  void row(int y, std::span<float> out, std::vector<float>& scratch) const;

 private:
  int width_, height_, classes_;
  std::vector<WindowLogits> windows_;
};

// The field resized to an image of width x height (bilinear, half-pixel centres) and the best
// class of every pixel, of equal ones the first. `probabilities`: the softmax of all classes, too.
// The same bits for any pool. Throws where a logit is not finite, and for more than 255 classes.
Segmentation label_pixels(const LogitField& field, int width, int height, bool probabilities,
                          ThreadPool& pool);

}  // namespace vig
