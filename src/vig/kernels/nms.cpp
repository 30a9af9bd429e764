#include "vig/kernels/nms.h"

#include "vig/kernels/nms_order.h"

namespace vig {
namespace {

// Kept boxes, found by size and place. Where the overlap over union of two boxes is above t, both
// ratios of their sides are above t, and their centres are apart by less than (1 - t) times the
// larger side, on both axes: with o the overlap on the x axis and w >= w' the widths, the measure
// is at most o / w <= w' / w, and centres are apart by at most (w + w') / 2 - o where the boxes
// overlap in part, (w - w') / 2 where one holds the other.
//
// Boxes of one class have sides within a factor of two of each other on both axes, and lie in cells
// as large as the largest of them. A box is compared with those of classes and cells near enough.
class KeptBoxes {
 public:
  KeptBoxes(const float* boxes, int64_t count, float threshold)
      : boxes_(boxes),
        threshold_(threshold),
        // A little less: the measure is rounded.
        slack_(threshold * 0.9999),
        reach_(static_cast<int>(std::ceil(std::log2(1.0 / std::max(slack_, 1e-3))))),
        next_(static_cast<size_t>(count), -1) {
    size_t size = 64;
    while (size < 2 * static_cast<size_t>(count)) size *= 2;
    cells_.resize(size);
  }

  // Boxes of which the above cannot be counted on are compared with all: those with numbers far
  // from any picture's, and all where the threshold lets boxes of too many sizes meet.
  bool is_ordinary(const float* box) const {
    constexpr float kLargest = 1e6f, kSmallest = 1e-2f, kLeastThreshold = 0.2f;
    for (int i = 0; i < 4; ++i) {
      if (!(std::fabs(box[i]) <= kLargest)) return false;
    }
    return threshold_ >= kLeastThreshold && box[2] - box[0] >= kSmallest &&
           box[3] - box[1] >= kSmallest;
  }

  bool suppresses(const float* box) const {
    for (const int other : odd_) {
      if (overlap_above(box, boxes_ + 4 * other, threshold_)) return true;
    }
    if (!is_ordinary(box)) {
      return std::any_of(ordinary_.begin(), ordinary_.end(), [&](int other) {
        return overlap_above(box, boxes_ + 4 * other, threshold_);
      });
    }
    const Place place(box);
    for (const auto& [class_x, class_y] : classes_) {
      if (std::abs(class_x - place.class_x) > reach_ ||
          std::abs(class_y - place.class_y) > reach_) {
        continue;
      }
      const Range columns(place.x, place.width, class_x, slack_);
      const Range rows(place.y, place.height, class_y, slack_);
      for (int64_t row = rows.first; row <= rows.last; ++row) {
        for (int64_t column = columns.first; column <= columns.last; ++column) {
          for (int other = find({class_x, class_y, column, row}); other >= 0;
               other = next_[static_cast<size_t>(other)]) {
            if (overlap_above(box, boxes_ + 4 * other, threshold_)) return true;
          }
        }
      }
    }
    return false;
  }

  void add(int number) {
    const float* box = boxes_ + 4 * number;
    if (!is_ordinary(box)) {
      odd_.push_back(number);
      return;
    }
    ordinary_.push_back(number);
    const Place place(box);
    const std::pair size{place.class_x, place.class_y};
    if (std::find(classes_.begin(), classes_.end(), size) == classes_.end()) {
      classes_.push_back(size);
    }
    const Key key{place.class_x, place.class_y, cell_of(place.x, place.class_x),
                  cell_of(place.y, place.class_y)};
    Cell& cell = cells_[slot(key)];
    next_[static_cast<size_t>(number)] = cell.head;
    cell = {key, number};
  }

 private:
  struct Key {
    int class_x = 0, class_y = 0;
    int64_t column = 0, row = 0;
    bool operator==(const Key&) const = default;
  };
  struct Cell {
    Key key;
    int head = -1;  // the latest box; -1: free
  };

  struct Place {
    explicit Place(const float* box)
        : width(static_cast<double>(box[2]) - box[0]),
          height(static_cast<double>(box[3]) - box[1]),
          x(box[0] + width / 2),
          y(box[1] + height / 2),
          class_x(std::ilogb(width)),
          class_y(std::ilogb(height)) {}
    double width, height, x, y;
    int class_x, class_y;
  };
  static int64_t cell_of(double centre, int size_class) {
    return static_cast<int64_t>(std::floor(std::ldexp(centre, -size_class - 1)));
  }

  // The cells of a class that hold the centres near enough.
  struct Range {
    Range(double centre, double side, int size_class, double threshold) {
      const double reach = (1.0 - threshold) * std::max(side, std::ldexp(1.0, size_class + 1));
      first = cell_of(centre - reach, size_class);
      last = cell_of(centre + reach, size_class);
    }
    int64_t first, last;
  };

  size_t slot(const Key& key) const {
    uint64_t hash = static_cast<uint64_t>(key.column) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ (hash >> 29) ^ static_cast<uint64_t>(key.row)) * 0xBF58476D1CE4E5B9u;
    hash = (hash ^ (hash >> 32) ^ static_cast<uint64_t>(key.class_x * 64 + key.class_y)) *
           0x94D049BB133111EBu;
    size_t at = static_cast<size_t>(hash >> 20) & (cells_.size() - 1);
    while (cells_[at].head >= 0 && cells_[at].key != key) at = (at + 1) & (cells_.size() - 1);
    return at;
  }
  int find(const Key& key) const { return cells_[slot(key)].head; }

  const float* boxes_;
  float threshold_;
  double slack_;
  int reach_;
  std::vector<std::pair<int, int>> classes_;
  std::vector<Cell> cells_;
  std::vector<int> next_;  // of each box: the one before it in its cell
  std::vector<int> ordinary_, odd_;
};

}  // namespace

std::vector<int> nms(const float* boxes, const float* scores, int64_t count, float threshold) {
  std::vector<int> result;
  KeptBoxes kept(boxes, count, threshold);
  for (const int i : by_descending_score(scores, count)) {
    const bool overlaps = can_overlap(boxes + 4 * i);
    if (overlaps && kept.suppresses(boxes + 4 * i)) continue;
    result.push_back(i);
    if (overlaps) kept.add(i);
  }
  return result;
}

std::vector<int> nms_by_class(const float* boxes, const float* scores, const int* labels,
                              int64_t count, float threshold) {
  std::vector<float> moved(boxes, boxes + 4 * count);
  float largest = 0.0f;
  for (const float x : moved) {
    if (std::isfinite(x)) largest = std::max(largest, x);
  }
  const float step = largest + 1.0f;
  for (size_t i = 0; i < moved.size(); ++i) moved[i] += static_cast<float>(labels[i / 4]) * step;
  return nms(moved.data(), scores, count, threshold);
}

}  // namespace vig
