// The accuracy of labelled pixels. Training's own validation and `vig eval` count with the same
// code.
#pragma once

#include <cstdint>
#include <vector>

#include "vig/image/image.h"

namespace vig {

// The pixels of one class, over labelled pixels alone. A share of nothing is NaN.
struct ClassOverlap {
  int64_t both = 0;       // labelled so and predicted so
  int64_t predicted = 0;  // the class was predicted for
  int64_t labelled = 0;   // show it

  double iou() const;       // both / (predicted + labelled - both)
  double accuracy() const;  // both / labelled
  bool operator==(const ClassOverlap&) const = default;
};

// Counts of pixels, so that those of several processes and images add up exactly; shares are
// taken of the sums, not image by image.
class SegmentationMetrics {
 public:
  SegmentationMetrics() = default;
  explicit SegmentationMetrics(int classes);  // 1 to 255

  // One image. Pixels whose truth is kNoLabel do not count. Throws Error, and counts nothing,
  // when the sizes differ or a label that counts is none of the classes.
  void add(const LabelMap& prediction, const LabelMap& truth);
  void merge(const SegmentationMetrics& other);  // of as many classes

  int classes() const { return classes_; }
  int64_t images() const { return images_; }
  int64_t pixels() const;  // labelled ones
  // Pixels labelled `label` that were predicted as `predicted`.
  int64_t confused(int label, int predicted) const;
  std::vector<ClassOverlap> per_class() const;

  // Means over the classes whose share is not NaN: a class that is predicted but never labelled
  // counts as IoU 0, one that is neither is left out. Of nothing: NaN.
  double mean_iou() const;
  double mean_accuracy() const;
  double pixel_accuracy() const;  // all pixels alike

  // The counts as a list to be summed over processes: exact up to 2^53 pixels. The images,
  // then label by label the pixels of each prediction.
  std::vector<double> sums() const;
  void set_sums(const std::vector<double>& sums);

  bool operator==(const SegmentationMetrics&) const = default;

 private:
  int classes_ = 0;
  int64_t images_ = 0;
  std::vector<int64_t> confusion_;  // [label * classes + predicted]
};

}  // namespace vig
