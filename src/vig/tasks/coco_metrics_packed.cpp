// CocoMetrics as a list of values: classes, shape, limits and images; for each image its
// number and classes; for each class its label, positives and detections; for each detection its
// score, what was found and what is ignored. All but scores are whole and below 2^53.
#include <cmath>

#include "vig/base/error.h"
#include "vig/tasks/coco_metrics.h"

namespace vig {
namespace {

double pack_sets(const std::array<uint16_t, kCocoAreas>& sets) {
  uint64_t bits = 0;
  for (const uint16_t set : sets) bits = bits << kCocoThresholds | set;
  return static_cast<double>(bits);
}

class PackedReader {
 public:
  explicit PackedReader(std::span<const double> values) : values_(values) {}

  bool done() const { return at_ == values_.size(); }
  double next() {
    if (done()) bad();
    return values_[at_++];
  }
  int64_t whole(int64_t least, int64_t most) {
    const double number = next();
    if (!(number >= static_cast<double>(least) && number <= static_cast<double>(most)) ||
        number != std::floor(number)) {
      bad();
    }
    return static_cast<int64_t>(number);
  }
  std::array<uint16_t, kCocoAreas> sets() {
    std::array<uint16_t, kCocoAreas> sets = {};
    uint64_t bits =
        static_cast<uint64_t>(whole(0, (int64_t{1} << (kCocoThresholds * kCocoAreas)) - 1));
    for (size_t i = sets.size(); i-- > 0; bits >>= kCocoThresholds) {
      sets[i] = static_cast<uint16_t>(bits & ((1 << kCocoThresholds) - 1));
    }
    return sets;
  }
  [[noreturn]] static void bad() { fail_usage("[metrics] values that are no packed metrics"); }

 private:
  std::span<const double> values_;
  size_t at_ = 0;
};

constexpr int64_t kMaxPacked = int64_t{1} << 53;

}  // namespace

std::vector<double> CocoMetrics::packed() const {
  std::vector<double> values = {static_cast<double>(classes_), static_cast<double>(shape_)};
  for (const int limit : limits_) values.push_back(limit);
  values.push_back(static_cast<double>(images_.size()));
  for (const auto& [image, by_label] : images_) {
    values.push_back(static_cast<double>(image));
    values.push_back(static_cast<double>(by_label.size()));
    for (const auto& [label, matched] : by_label) {
      values.push_back(label);
      for (const int64_t count : matched.positives) values.push_back(static_cast<double>(count));
      values.push_back(static_cast<double>(matched.matches.size()));
      for (const Match& match : matched.matches) {
        values.push_back(match.score);
        values.push_back(pack_sets(match.found));
        values.push_back(pack_sets(match.ignored));
      }
    }
  }
  return values;
}

void CocoMetrics::merge_packed(std::span<const double> values) {
  PackedReader from(values);
  const bool same =
      from.whole(0, kMaxPacked) == classes_ && from.whole(0, 1) == static_cast<int64_t>(shape_) &&
      from.whole(0, kMaxPacked) == limits_[0] && from.whole(0, kMaxPacked) == limits_[1] &&
      from.whole(0, kMaxPacked) == limits_[2];
  if (!same) {
    fail_usage("[metrics] sums of different classes, shapes or limits do not add up");
  }
  std::map<int64_t, std::map<int, LabelMatches>> images;
  for (int64_t left = from.whole(0, kMaxPacked); left > 0; --left) {
    std::map<int, LabelMatches>& by_label = images[from.whole(-kMaxPacked, kMaxPacked)];
    for (int64_t labels = from.whole(0, classes_); labels > 0; --labels) {
      LabelMatches& matched = by_label[static_cast<int>(from.whole(0, classes_ - 1))];
      for (int64_t& count : matched.positives) count = from.whole(0, kMaxPacked);
      for (int64_t detections = from.whole(0, limits_[2]); detections > 0; --detections) {
        Match& match = matched.matches.emplace_back();
        match.score = from.next();
        match.found = from.sets();
        match.ignored = from.sets();
      }
    }
  }
  if (!from.done()) PackedReader::bad();
  images_.merge(images);
}

}  // namespace vig
