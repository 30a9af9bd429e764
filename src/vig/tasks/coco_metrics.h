// Average precision and recall as COCO defines them, of boxes or of masks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "vig/image/mask.h"

namespace vig {

// The constants of COCO's evaluation. Areas are in pixels, both ends included.
inline constexpr int kCocoThresholds = 10;  // IoU 0.50, 0.55, .. 0.95
inline constexpr int kCocoRecalls = 101;    // 0, 0.01, .. 1
enum class CocoArea { kAll, kSmall, kMedium, kLarge };
inline constexpr int kCocoAreas = 4;
inline constexpr double kCocoAreaEnds[kCocoAreas][2] = {
    {0, 1e10}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e10}};
double coco_threshold(int index);
double coco_recall(int index);

// Position and size, in double since a threshold may be met exactly.
struct CocoBox {
  double x = 0, y = 0, width = 0, height = 0;

  CocoBox() = default;
  CocoBox(double left, double top, double w, double h) : x(left), y(top), width(w), height(h) {}
  explicit CocoBox(const Box& box)
      : x(box.x1),
        y(box.y1),
        width(static_cast<double>(box.x2) - box.x1),
        height(static_cast<double>(box.y2) - box.y1) {}
};
// Overlap over union; where `truth` is a crowd, over the area of `detection`.
double coco_box_iou(const CocoBox& detection, const CocoBox& truth, bool crowd);

// An object that an image shows.
struct CocoTruth {
  CocoBox box = {};
  int label = 0;
  bool crowd = false;  // ignored: neither to be found nor wrong to be found
  double area = 0;     // as annotated, which decides its range
  Mask mask = {};      // for CocoShape::kMask; without runs it overlaps nothing
};

// An object that a detector found.
struct CocoDetection {
  CocoBox box = {};
  int label = 0;
  double score = 0;
  Mask mask = {};
};

enum class CocoShape { kBox, kMask };

// What COCO's evaluator prints, in its order. NaN where there is nothing to find (it prints -1).
// AP allows 100 detections per image and class, where that is one of the limits; the other figures
// the largest limit.
struct CocoFigures {
  double ap = 0, ap50 = 0, ap75 = 0, ap_small = 0, ap_medium = 0, ap_large = 0;
  // Recall with at most limits[0], [1] and [2] detections per image and class, then by area.
  double ar_first = 0, ar_second = 0, ar_third = 0, ar_small = 0, ar_medium = 0, ar_large = 0;

  std::array<double, 12> all() const;
};

class CocoMetrics {
 public:
  using Limits = std::array<int, 3>;  // ascending

  CocoMetrics() = default;
  CocoMetrics(int classes, CocoShape shape, const Limits& limits = {1, 10, 100});

  // One image by its number, which decides the order of equal scores. The order of truths and
  // detections counts where IoU or scores are equal. Throws Error, and counts nothing, for a label
  // that is no class, a score that is not finite, a size that is not finite, masks of different
  // sizes, and a number that was added before.
  void add(int64_t image, std::span<const CocoTruth> truths,
           std::span<const CocoDetection> detections);
  // The images of `other` that are not here already.
  void merge(const CocoMetrics& other);

  int classes() const { return classes_; }
  CocoShape shape() const { return shape_; }
  const Limits& limits() const { return limits_; }
  size_t images() const { return images_.size(); }
  int64_t positives(int label, CocoArea area = CocoArea::kAll) const;  // objects to be found

  CocoFigures figures() const;
  // AP of each class over all thresholds and areas; NaN for classes with nothing to find.
  std::vector<double> class_ap() const;
  // Precision at each recall point, for a curve; NaN where there is nothing to find. `threshold`
  // counts from 0.
  std::array<double, kCocoRecalls> precision(int threshold, int label,
                                             CocoArea area = CocoArea::kAll) const;
  // The final recall with limits()[limit] detections.
  double recall(int threshold, int label, CocoArea area, int limit) const;

  // Serialises everything as a list, to be sent to other processes, and back. Throws Error (usage)
  // if it is no such list.
  std::vector<double> packed() const;
  void merge_packed(std::span<const double> values);

 private:
  // A detection after matching. Bit t of a set: at threshold t.
  struct Match {
    double score = 0;
    std::array<uint16_t, kCocoAreas> found = {};    // matched to an object
    std::array<uint16_t, kCocoAreas> ignored = {};  // neither right nor wrong
  };
  // What one image says of one class.
  struct LabelMatches {
    std::array<int64_t, kCocoAreas> positives = {};
    std::vector<Match> matches;  // the best first
  };
  struct Ranked {
    const Match* match;
    int rank;  // among the detections of its image and class
  };
  struct Curve {
    std::array<double, kCocoRecalls> precision;
    double recall;
  };

  void check(std::span<const CocoTruth> truths, std::span<const CocoDetection> detections) const;
  LabelMatches match(std::span<const CocoTruth* const> truths,
                     std::span<const CocoDetection* const> detections) const;
  std::vector<Ranked> ranked(int label) const;
  int main_limit() const;
  Curve curve(std::span<const Ranked> detections, int64_t positives, int threshold, CocoArea area,
              int limit) const;

  int classes_ = 0;
  CocoShape shape_ = CocoShape::kBox;
  Limits limits_ = {1, 10, 100};
  // By image and class, so that images of several processes stay apart.
  std::map<int64_t, std::map<int, LabelMatches>> images_;
};

}  // namespace vig
