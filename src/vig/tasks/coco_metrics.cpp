#include "vig/tasks/coco_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "vig/base/error.h"

namespace vig {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// 2^-52: keeps a precision of nothing from being 0 / 0.
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Integers up to here are exact in double.
constexpr double kMaxWhole = 9007199254740992.0;

bool in_range(double area, size_t range) {
  return area >= kCocoAreaEnds[range][0] && area <= kCocoAreaEnds[range][1];
}

bool is_finite(const CocoBox& box) {
  return std::isfinite(box.x) && std::isfinite(box.y) && std::isfinite(box.width) &&
         std::isfinite(box.height);
}

// The mean of values that are not NaN; NaN of none.
class Mean {
 public:
  void add(double value) {
    if (std::isnan(value)) return;
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : kNone; }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

double overlap_of(const CocoDetection& detection, const CocoTruth& truth, CocoShape shape) {
  if (shape == CocoShape::kBox) return coco_box_iou(detection.box, truth.box, truth.crowd);
  if (detection.mask.runs.empty() || truth.mask.runs.empty()) return 0;
  return mask_iou(detection.mask, truth.mask, truth.crowd);
}

// Objects of one image and class in the order in which a detection is compared with them.
struct Candidates {
  std::vector<size_t> order;  // those that count first
  std::vector<uint8_t> ignored;
};

Candidates candidates(std::span<const CocoTruth* const> truths, size_t range) {
  Candidates result;
  result.ignored.resize(truths.size());
  for (size_t i = 0; i < truths.size(); ++i) {
    result.ignored[i] = truths[i]->crowd || !in_range(truths[i]->area, range);
  }
  result.order.resize(truths.size());
  std::iota(result.order.begin(), result.order.end(), size_t{0});
  std::ranges::stable_sort(result.order, {}, [&](size_t i) { return result.ignored[i]; });
  return result;
}

}  // namespace

// numpy.linspace(0.5, 0.95, 10) and (0, 1, 101), to the last bit.
double coco_threshold(int index) {
  const double spacing = (0.95 - 0.5) / (kCocoThresholds - 1);
  return index == kCocoThresholds - 1 ? 0.95 : index * spacing + 0.5;
}
double coco_recall(int index) { return index == kCocoRecalls - 1 ? 1.0 : index * (1.0 / 100); }

double coco_box_iou(const CocoBox& detection, const CocoBox& truth, bool crowd) {
  const double width = std::min(detection.width + detection.x, truth.width + truth.x) -
                       std::max(detection.x, truth.x);
  const double height = std::min(detection.height + detection.y, truth.height + truth.y) -
                        std::max(detection.y, truth.y);
  if (width <= 0 || height <= 0) return 0;
  const double overlap = width * height;
  const double area = detection.width * detection.height;
  return overlap / (crowd ? area : area + truth.width * truth.height - overlap);
}

std::array<double, 12> CocoFigures::all() const {
  return {ap,       ap50,      ap75,     ap_small, ap_medium, ap_large,
          ar_first, ar_second, ar_third, ar_small, ar_medium, ar_large};
}

CocoMetrics::CocoMetrics(int classes, CocoShape shape, const Limits& limits)
    : classes_(classes), shape_(shape), limits_(limits) {
  if (classes < 1) fail_usage("[metrics] {} classes, expected at least one", classes);
  if (limits[0] < 1 || limits[0] > limits[1] || limits[1] > limits[2]) {
    fail_usage("[metrics] limits of {}, {} and {} detections, expected ascending ones from 1 on",
               limits[0], limits[1], limits[2]);
  }
}

CocoMetrics::LabelMatches CocoMetrics::match(
    std::span<const CocoTruth* const> truths,
    std::span<const CocoDetection* const> detections) const {
  LabelMatches matched;
  matched.matches.resize(detections.size());
  std::vector<double> iou(detections.size() * truths.size());
  for (size_t i = 0; i < detections.size(); ++i) {
    for (size_t j = 0; j < truths.size(); ++j) {
      iou[i * truths.size() + j] = overlap_of(*detections[i], *truths[j], shape_);
    }
    matched.matches[i].score = detections[i]->score;
  }
  for (size_t range = 0; range < kCocoAreas; ++range) {
    const Candidates objects = candidates(truths, range);
    matched.positives[range] = std::ranges::count(objects.ignored, 0);
    for (int threshold = 0; threshold < kCocoThresholds; ++threshold) {
      const auto bit = static_cast<uint16_t>(1 << threshold);
      std::vector<uint8_t> taken(truths.size());
      for (size_t i = 0; i < detections.size(); ++i) {
        double best = std::min(coco_threshold(threshold), 1 - 1e-10);
        std::optional<size_t> found;
        for (const size_t j : objects.order) {
          if (taken[j] != 0 && !truths[j]->crowd) continue;
          if (found && objects.ignored[*found] == 0 && objects.ignored[j] != 0) break;
          const double overlap = iou[i * truths.size() + j];
          if (overlap < best) continue;
          best = overlap;
          found = j;
        }
        Match& match = matched.matches[i];
        if (found) {
          taken[*found] = 1;
          match.found[range] |= bit;
          if (objects.ignored[*found] != 0) match.ignored[range] |= bit;
          continue;
        }
        const double area = shape_ == CocoShape::kBox
                                ? detections[i]->box.width * detections[i]->box.height
                                : static_cast<double>(detections[i]->mask.area());
        if (!in_range(area, range)) match.ignored[range] |= bit;
      }
    }
  }
  return matched;
}

void CocoMetrics::check(std::span<const CocoTruth> truths,
                        std::span<const CocoDetection> detections) const {
  const Mask* first = nullptr;
  const auto check_one = [&](const char* what, const auto& object) {
    if (object.label < 0 || object.label >= classes_) {
      fail("[metrics] {} of class {}, expected classes below {}", what, object.label, classes_);
    }
    if (!is_finite(object.box)) fail("[metrics] {} whose box is not finite", what);
    if (shape_ == CocoShape::kBox || object.mask.runs.empty()) return;
    if (first == nullptr) first = &object.mask;
    if (object.mask.width != first->width || object.mask.height != first->height) {
      fail("[metrics] {} with a mask of {}x{} pixels, expected {}x{} as the others", what,
           object.mask.width, object.mask.height, first->width, first->height);
    }
  };
  for (const CocoTruth& truth : truths) {
    check_one("an object", truth);
    if (!std::isfinite(truth.area)) fail("[metrics] an object whose area is not finite");
  }
  for (const CocoDetection& detection : detections) {
    check_one("a detection", detection);
    if (!std::isfinite(detection.score)) fail("[metrics] a detection whose score is not finite");
  }
}

void CocoMetrics::add(int64_t image, std::span<const CocoTruth> truths,
                      std::span<const CocoDetection> detections) {
  check(truths, detections);
  if (std::abs(static_cast<double>(image)) > kMaxWhole) {
    fail("[metrics] the image number {}, expected at most 2^53", image);
  }
  if (images_.contains(image)) fail("[metrics] the image {} is added twice", image);
  std::map<int, std::pair<std::vector<const CocoTruth*>, std::vector<const CocoDetection*>>>
      by_class;
  for (const CocoTruth& truth : truths) by_class[truth.label].first.push_back(&truth);
  for (const CocoDetection& detection : detections)
    by_class[detection.label].second.push_back(&detection);
  std::map<int, LabelMatches> by_label;
  for (auto& [label, objects] : by_class) {
    auto& found = objects.second;
    std::ranges::stable_sort(found, std::greater<>(), &CocoDetection::score);
    if (found.size() > static_cast<size_t>(limits_[2])) {
      found.resize(static_cast<size_t>(limits_[2]));
    }
    by_label.emplace(label, match(objects.first, found));
  }
  images_.emplace(image, std::move(by_label));
}

void CocoMetrics::merge(const CocoMetrics& other) {
  if (other.classes_ != classes_ || other.shape_ != shape_ || other.limits_ != limits_) {
    fail_usage("[metrics] sums of different classes, shapes or limits do not add up");
  }
  for (const auto& [image, by_label] : other.images_) images_.emplace(image, by_label);
}

int64_t CocoMetrics::positives(int label, CocoArea area) const {
  int64_t sum = 0;
  for (const auto& [image, by_label] : images_) {
    const auto found = by_label.find(label);
    if (found != by_label.end()) sum += found->second.positives[static_cast<size_t>(area)];
  }
  return sum;
}

// The detections of one class over all images, the best first, of equal scores in the order of
// images and ranks.
std::vector<CocoMetrics::Ranked> CocoMetrics::ranked(int label) const {
  if (label < 0 || label >= classes_) {
    fail_usage("[metrics] class {} is asked for of {}", label, classes_);
  }
  std::vector<Ranked> all;
  for (const auto& [image, by_label] : images_) {
    const auto found = by_label.find(label);
    if (found == by_label.end()) continue;
    const std::vector<Match>& matches = found->second.matches;
    for (size_t rank = 0; rank < matches.size(); ++rank) {
      all.push_back({&matches[rank], static_cast<int>(rank)});
    }
  }
  std::ranges::stable_sort(all, std::greater<>(), [](const Ranked& r) { return r.match->score; });
  return all;
}

// AP itself is always that of 100 detections, independent of the limits of the other figures.
int CocoMetrics::main_limit() const {
  const auto found = std::ranges::find(limits_, 100);
  return found == limits_.end() ? 2 : static_cast<int>(found - limits_.begin());
}

CocoMetrics::Curve CocoMetrics::curve(std::span<const Ranked> detections, int64_t positives,
                                      int threshold, CocoArea area, int limit) const {
  Curve curve;
  curve.precision.fill(kNone);
  curve.recall = kNone;
  if (positives == 0) return curve;
  const auto range = static_cast<size_t>(area);
  const auto bit = static_cast<unsigned>(1 << threshold);
  std::vector<double> precision, recall;
  double right = 0, wrong = 0;
  for (const Ranked& detection : detections) {
    if (detection.rank >= limits_[static_cast<size_t>(limit)]) continue;
    if ((detection.match->ignored[range] & bit) == 0) {
      ((detection.match->found[range] & bit) != 0 ? right : wrong) += 1;
    }
    precision.push_back(right / (right + wrong + kEpsilon));
    recall.push_back(right / static_cast<double>(positives));
  }
  for (size_t i = precision.size(); i-- > 1;) {
    precision[i - 1] = std::max(precision[i - 1], precision[i]);
  }
  curve.recall = recall.empty() ? 0.0 : recall.back();
  for (int point = 0; point < kCocoRecalls; ++point) {
    const auto at = std::ranges::lower_bound(recall, coco_recall(point)) - recall.begin();
    curve.precision[static_cast<size_t>(point)] =
        static_cast<size_t>(at) < precision.size() ? precision[static_cast<size_t>(at)] : 0.0;
  }
  return curve;
}

std::array<double, kCocoRecalls> CocoMetrics::precision(int threshold, int label,
                                                        CocoArea area) const {
  return curve(ranked(label), positives(label, area), threshold, area, 2).precision;
}

double CocoMetrics::recall(int threshold, int label, CocoArea area, int limit) const {
  return curve(ranked(label), positives(label, area), threshold, area, limit).recall;
}

std::vector<double> CocoMetrics::class_ap() const {
  std::vector<double> result;
  for (int label = 0; label < classes_; ++label) {
    const std::vector<Ranked> detections = ranked(label);
    const int64_t count = positives(label);
    Mean mean;
    for (int t = 0; t < kCocoThresholds; ++t) {
      for (const double p : curve(detections, count, t, CocoArea::kAll, main_limit()).precision) {
        mean.add(p);
      };
    }
    result.push_back(mean.value());
  }
  return result;
}

CocoFigures CocoMetrics::figures() const {
  constexpr int kAt50 = 0, kAt75 = 5;
  std::array<Mean, kCocoAreas> ap, ar;
  Mean ap50, ap75, ar_first, ar_second;
  for (int label = 0; label < classes_; ++label) {
    const std::vector<Ranked> detections = ranked(label);
    for (size_t range = 0; range < kCocoAreas; ++range) {
      const auto area = static_cast<CocoArea>(range);
      const int64_t count = positives(label, area);
      if (count == 0) continue;
      for (int t = 0; t < kCocoThresholds; ++t) {
        const Curve all = curve(detections, count, t, area, 2);
        ar[range].add(all.recall);
        for (const double p : all.precision) {
          if (area != CocoArea::kAll) ap[range].add(p);
          if (area == CocoArea::kAll && t == kAt50) ap50.add(p);
          if (area == CocoArea::kAll && t == kAt75) ap75.add(p);
        }
        if (area != CocoArea::kAll) continue;
        for (const double p : curve(detections, count, t, area, main_limit()).precision)
          ap[0].add(p);
        ar_first.add(curve(detections, count, t, area, 0).recall);
        ar_second.add(curve(detections, count, t, area, 1).recall);
      }
    }
  }
  return {.ap = ap[0].value(),
          .ap50 = ap50.value(),
          .ap75 = ap75.value(),
          .ap_small = ap[1].value(),
          .ap_medium = ap[2].value(),
          .ap_large = ap[3].value(),
          .ar_first = ar_first.value(),
          .ar_second = ar_second.value(),
          .ar_third = ar[0].value(),
          .ar_small = ar[1].value(),
          .ar_medium = ar[2].value(),
          .ar_large = ar[3].value()};
}

}  // namespace vig
