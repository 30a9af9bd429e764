// The accuracy of a classifier on labelled images. Training's own validation and `vig eval` count
// with the same code.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace vig {

// What happened to one class. A share of nothing is NaN.
struct ClassMetrics {
  int64_t count = 0;      // images that show it
  int64_t predicted = 0;  // images it was predicted for
  int64_t correct = 0;    // both

  double precision() const;  // correct / predicted
  double recall() const;     // correct / count
  // 2 correct / (count + predicted): the harmonic mean of both.
  double f1() const;

  bool operator==(const ClassMetrics&) const = default;
};

// Sums, so that those of several processes add up. Everything but the loss is exact; the loss
// depends on the order of adding in its last bits.
struct ClassificationMetrics {
  int classes = 0;
  int64_t count = 0;
  int64_t top1_hits = 0;
  int64_t top5_hits = 0;  // with fewer than 5 classes every image is one
  double loss_sum = 0;    // cross-entropy, natural logarithm
  // (label, prediction) to the number of images; pairs that never occurred are absent, because a
  // full table of many thousand classes would not fit the memory.
  std::map<std::pair<int, int>, int64_t> confusion;

  ClassificationMetrics() = default;
  explicit ClassificationMetrics(int class_count) : classes(class_count) {}

  // One image: a logit per class, and the class it shows. The best logit is the prediction, of
  // equal ones the smaller index, as in decode_classes. Throws, and counts nothing, when a logit is
  // not finite or the sizes do not fit.
  void add(std::span<const float> logits, int label);

  // Of nothing: NaN.
  double top1() const;
  double top5() const;
  double loss() const;
  // Every class counts the same, however many images show it.
  double balanced_accuracy() const;  // mean recall of the classes that images show
  double macro_f1() const;           // mean F1 of the classes that images or predictions name
  // With up to five classes all five best are always all of them.
  bool has_top5() const { return classes > 5; }
  // One entry per class.
  std::vector<ClassMetrics> per_class() const;
  int64_t confused(int label, int predicted) const;

  bool operator==(const ClassificationMetrics&) const = default;
};

}  // namespace vig
