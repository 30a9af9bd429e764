#include "vig/tasks/segmentation_metrics.h"

#include <cmath>
#include <limits>

#include "vig/base/error.h"

namespace vig {
namespace {

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole)
                   : std::numeric_limits<double>::quiet_NaN();
}

template <class Share>
double mean_over(const std::vector<ClassOverlap>& classes, const Share& share_of) {
  double sum = 0;
  int64_t count = 0;
  for (const ClassOverlap& overlap : classes) {
    const double value = share_of(overlap);
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double ClassOverlap::iou() const { return share(both, predicted + labelled - both); }
double ClassOverlap::accuracy() const { return share(both, labelled); }

SegmentationMetrics::SegmentationMetrics(int classes) : classes_(classes) {
  if (classes < 1 || classes > kNoLabel) {
    fail_usage("[metrics] {} classes, expected 1 to {}", classes, kNoLabel);
  }
  confusion_.resize(static_cast<size_t>(classes) * static_cast<size_t>(classes));
}

void SegmentationMetrics::add(const LabelMap& prediction, const LabelMap& truth) {
  if (prediction.width != truth.width || prediction.height != truth.height ||
      prediction.labels.size() != truth.labels.size()) {
    fail("[metrics] a prediction of {}x{} pixels for labels of {}x{}", prediction.width,
         prediction.height, truth.width, truth.height);
  }
  // Pairs of bytes first, which need no check.
  std::vector<int64_t> pairs(256 * 256);
  for (size_t i = 0; i < truth.labels.size(); ++i) {
    ++pairs[size_t{truth.labels[i]} * 256 + prediction.labels[i]];
  }
  const auto classes = static_cast<size_t>(classes_);
  for (size_t label = 0; label < kNoLabel; ++label) {
    for (size_t predicted = 0; predicted < 256; ++predicted) {
      if (pairs[label * 256 + predicted] == 0 || (label < classes && predicted < classes)) continue;
      fail("[metrics] pixels labelled {} and predicted {}, expected classes below {}", label,
           predicted, classes);
    }
  }
  for (size_t label = 0; label < classes; ++label) {
    for (size_t predicted = 0; predicted < classes; ++predicted) {
      confusion_[label * classes + predicted] += pairs[label * 256 + predicted];
    }
  }
  ++images_;
}

void SegmentationMetrics::merge(const SegmentationMetrics& other) {
  if (other.classes_ != classes_) {
    fail_usage("[metrics] sums of {} and {} classes do not add up", classes_, other.classes_);
  }
  images_ += other.images_;
  for (size_t i = 0; i < confusion_.size(); ++i) confusion_[i] += other.confusion_[i];
}

int64_t SegmentationMetrics::pixels() const {
  int64_t sum = 0;
  for (const int64_t count : confusion_) sum += count;
  return sum;
}

int64_t SegmentationMetrics::confused(int label, int predicted) const {
  if (label < 0 || label >= classes_ || predicted < 0 || predicted >= classes_) {
    fail_usage("[metrics] the pair {}, {} is asked for of {} classes", label, predicted, classes_);
  }
  return confusion_[static_cast<size_t>(label) * static_cast<size_t>(classes_) +
                    static_cast<size_t>(predicted)];
}

std::vector<ClassOverlap> SegmentationMetrics::per_class() const {
  std::vector<ClassOverlap> result(static_cast<size_t>(classes_));
  for (size_t label = 0; label < result.size(); ++label) {
    for (size_t predicted = 0; predicted < result.size(); ++predicted) {
      const int64_t count = confusion_[label * result.size() + predicted];
      result[label].labelled += count;
      result[predicted].predicted += count;
      if (label == predicted) result[label].both = count;
    }
  }
  return result;
}

double SegmentationMetrics::mean_iou() const {
  return mean_over(per_class(), [](const ClassOverlap& overlap) { return overlap.iou(); });
}

double SegmentationMetrics::mean_accuracy() const {
  return mean_over(per_class(), [](const ClassOverlap& overlap) { return overlap.accuracy(); });
}

double SegmentationMetrics::pixel_accuracy() const {
  int64_t both = 0;
  for (const ClassOverlap& overlap : per_class()) both += overlap.both;
  return share(both, pixels());
}

std::vector<double> SegmentationMetrics::sums() const {
  std::vector<double> values = {static_cast<double>(images_)};
  for (const int64_t count : confusion_) values.push_back(static_cast<double>(count));
  return values;
}

void SegmentationMetrics::set_sums(const std::vector<double>& sums) {
  if (sums.size() != confusion_.size() + 1) {
    fail_usage("[metrics] {} sums for {} classes", sums.size(), classes_);
  }
  images_ = static_cast<int64_t>(sums[0]);
  for (size_t i = 0; i < confusion_.size(); ++i) {
    confusion_[i] = static_cast<int64_t>(sums[i + 1]);
  }
}

}  // namespace vig
