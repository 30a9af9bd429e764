#include "vig/kernels/nms.h"

#include "vig/kernels/nms_order.h"

namespace vig {
namespace {

// A few boxes of one cell, side by side.
struct Block {
  static constexpr int kBoxes = 4;
  float x1[kBoxes], y1[kBoxes], x2[kBoxes], y2[kBoxes];
  int count = 0;
  int next = -1;  // the block before it in its cell

  void add(const float* box) {
    x1[count] = box[0];
    y1[count] = box[1];
    x2[count] = box[2];
    y2[count] = box[3];
    // Lanes without a box repeat the last one.
    for (int i = ++count; i < kBoxes; ++i) {
      x1[i] = box[0];
      y1[i] = box[1];
      x2[i] = box[2];
      y2[i] = box[3];
    }
  }
  bool any_above(const float* box, float threshold) const {
    bool above = false;
    for (int i = 0; i < kBoxes; ++i) {
      const float other[4] = {x1[i], y1[i], x2[i], y2[i]};
      above |= overlap_above(box, other, threshold);
    }
    return above;
  }
};

// Kept boxes, found by size and position. Where the overlap over union of two boxes is above t,
// both ratios of their sides are above t, and their centres are apart by less than (1 - t) times
// the larger side, on both axes: with o the overlap on the x axis and w >= w' the widths, the
// measure is at most o / w <= w' / w, and centres are apart by at most (w + w') / 2 - o where the
// boxes overlap in part, (w - w') / 2 where one holds the other.
//
// Boxes of one class have sides in [2^a, 2^(a + 1)) by [2^b, 2^(b + 1)) and lie in cells of 2^a by
// 2^b by their centres. A box is compared with those of classes and cells near enough.
class KeptBoxes {
 public:
  KeptBoxes(const float* boxes, int64_t count, float threshold)
      : boxes_(boxes),
        threshold_(threshold),
        // A little less: the measure is rounded.
        least_(threshold * 0.9999) {
    size_t size = 64;
    while (size < 2 * static_cast<size_t>(count)) size *= 2;
    cells_.resize(size);
  }

  // Boxes outside of this bound are compared with all: those with values far
  // from any image's, and all where the threshold lets boxes of too many sizes meet.
  bool is_ordinary(const float* box) const {
    constexpr float kLargest = 1e6f, kSmallest = 1e-2f, kLeastThreshold = 0.2f;
    for (int i = 0; i < 4; ++i) {
      if (!(std::fabs(box[i]) <= kLargest)) return false;
    }
    return threshold_ >= kLeastThreshold && box[2] - box[0] >= kSmallest &&
           box[3] - box[1] >= kSmallest;
  }

  bool suppresses(const float* box) const {
    const auto is_above = [&](int other) {
      return overlap_above(box, boxes_ + 4 * other, threshold_);
    };
    if (std::any_of(odd_.begin(), odd_.end(), is_above)) return true;
    if (!is_ordinary(box)) return std::any_of(ordinary_.begin(), ordinary_.end(), is_above);
    const Extent extent(box);
    for (const auto& [class_x, class_y] : classes_) {
      const Range columns(extent.x, extent.width, class_x, least_);
      if (columns.first > columns.last) continue;
      const Range rows(extent.y, extent.height, class_y, least_);
      for (int64_t row = rows.first; row <= rows.last; ++row) {
        for (int64_t column = columns.first; column <= columns.last; ++column) {
          int block = cells_[slot({class_x, class_y, column, row})].head;
          for (; block >= 0; block = blocks_[static_cast<size_t>(block)].next) {
            if (blocks_[static_cast<size_t>(block)].any_above(box, threshold_)) return true;
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
    const Extent extent(box);
    const std::pair size{extent.class_x, extent.class_y};
    if (std::find(classes_.begin(), classes_.end(), size) == classes_.end()) {
      classes_.push_back(size);
    }
    const Key key{extent.class_x, extent.class_y, cell_of(extent.x, extent.class_x),
                  cell_of(extent.y, extent.class_y)};
    Cell& cell = cells_[slot(key)];
    if (cell.head < 0 || blocks_[static_cast<size_t>(cell.head)].count == Block::kBoxes) {
      blocks_.emplace_back().next = cell.head;
      cell = {key, static_cast<int>(blocks_.size()) - 1};
    }
    blocks_[static_cast<size_t>(cell.head)].add(box);
  }

 private:
  struct Key {
    int class_x = 0, class_y = 0;
    int64_t column = 0, row = 0;
    bool operator==(const Key&) const = default;
  };
  struct Cell {
    Key key;
    int head = -1;  // the latest block; -1: free
  };

  struct Extent {
    explicit Extent(const float* box)
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
    return static_cast<int64_t>(std::floor(std::ldexp(centre, -size_class)));
  }

  // The cells of a class with centres near enough; none where no side of the class is.
  struct Range {
    Range(double centre, double side, int size_class, double least) {
      const double smallest = std::ldexp(1.0, size_class), largest = 2 * smallest;
      if (largest < least * side || smallest * least > side) return;
      const double reach = (1.0 - least) * std::max(side, std::min(largest, side / least));
      first = cell_of(centre - reach, size_class);
      last = cell_of(centre + reach, size_class);
    }
    int64_t first = 0, last = -1;
  };

  // Where a cell is, or a free slot for it.
  size_t slot(const Key& key) const {
    uint64_t hash = static_cast<uint64_t>(key.column) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ (hash >> 29) ^ static_cast<uint64_t>(key.row)) * 0xBF58476D1CE4E5B9u;
    hash = (hash ^ (hash >> 32) ^ static_cast<uint64_t>(key.class_x * 64 + key.class_y)) *
           0x94D049BB133111EBu;
    size_t at = static_cast<size_t>(hash >> 20) & (cells_.size() - 1);
    while (cells_[at].head >= 0 && cells_[at].key != key) at = (at + 1) & (cells_.size() - 1);
    return at;
  }

  const float* boxes_;
  float threshold_;
  double least_;
  std::vector<std::pair<int, int>> classes_;
  std::vector<Cell> cells_;
  std::vector<Block> blocks_;
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
  const float shift = largest + 1.0f;
  for (size_t i = 0; i < moved.size(); ++i) moved[i] += static_cast<float>(labels[i / 4]) * shift;
  return nms(moved.data(), scores, count, threshold);
}

}  // namespace vig
