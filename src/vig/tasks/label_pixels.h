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
  LogitField(int width, int height, int classes, std::vector<WindowLogits> windows = {});

  // Windows come in the order of sliding_windows, in which they are summed. Throws where a logit is
  // not finite.
  void add(WindowLogits window);
  // Drops windows that end above row y; rows above it are not asked for any more.
  void forget_above(int y);

  int width() const { return width_; }
  int height() const { return height_; }
  int classes() const { return classes_; }
  size_t bytes() const { return floats_ * sizeof(float); }  // of the logits
  // [width, classes]; `scratch` is of any size. Pixels that no window covers are NaN.
  void row(int y, std::span<float> out, std::vector<float>& scratch) const;

 private:
  int width_, height_, classes_;
  size_t floats_ = 0;
  std::vector<WindowLogits> windows_;
};

// Rows of the labels of an image.
struct LabelRows {
  int first = 0, last = 0;
  bool probabilities = false;  // the softmax of all classes, too
};

// The field resized to an image of width x height (bilinear, half-pixel centres) and the best
// class of every pixel in these rows, of equal ones the first; kNoLabel where no window covers it.
// The same bits for any pool and rows. Throws for more than 255 classes.
Segmentation label_rows(const LogitField& field, int width, int height, const LabelRows& rows,
                        ThreadPool& pool);
// All of them.
Segmentation label_pixels(const LogitField& field, int width, int height, bool probabilities,
                          ThreadPool& pool);

// How many rows of an image of `height` follow from the first `known` rows of a field of
// `field_height`.
int labelled_rows(int field_height, int height, int known);

}  // namespace vig
