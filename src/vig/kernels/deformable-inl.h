// Where the samples of deformable attention lie and how much they count, for the forward and the
// backward kernel. Per-target header.
#if defined(VIG_KERNELS_DEFORMABLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIG_KERNELS_DEFORMABLE_INL_H_
#undef VIG_KERNELS_DEFORMABLE_INL_H_
#else
#define VIG_KERNELS_DEFORMABLE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "vig/kernels/deformable.h"
#include "vig/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

using RowIntTag = hn::RebindToSigned<RowTag>;

// Samples of a head that are worked on at a time: whole vectors, and all of them in every network
// that is in use.
constexpr size_t kSampleBlock = 64;
static_assert(kSampleBlock % kRowLanes == 0);

// The position of one query on every sampled map, for a block of a head's samples. A coordinate is
// kept as a whole number and a fraction, so that a sample loses no digits far from the map's
// origin.
class QueryPosition {
 public:
  explicit QueryPosition(const DeformableArgs& args) : args_(args) {}

  // The query and the samples [first, first + count) of a head.
  void set(int64_t query, size_t first, size_t count) {
    if (query == query_ && first == first_) return;
    if (query != query_) find(query);
    query_ = query;
    first_ = first;
    const size_t points = static_cast<size_t>(args_.points);
    int64_t row = 0;  // of the values, the first of the level
    size_t level = 0;
    const auto skip_to = [&](size_t wanted) {
      for (; level < wanted; ++level) row += args_.levels[level].height * args_.levels[level].width;
    };
    for (size_t i = 0; i < count;) {
      skip_to((first + i) / points);
      const DeformableGrid& map = args_.levels[level];
      const Coordinate at_x(column_, grid_.width, map.width), at_y(row_, grid_.height, map.height);
      const size_t last = std::min(count, (level + 1) * points - first);
      for (; i < last; ++i) {
        x[i] = at_x.fraction;
        y[i] = at_y.fraction;
        whole_x[i] = at_x.whole;
        whole_y[i] = at_y.whole;
        width[i] = static_cast<int32_t>(map.width);
        height[i] = static_cast<int32_t>(map.height);
        first_row[i] = static_cast<int32_t>(row);
      }
    }
    // What fills up the last vector is some valid position.
    for (size_t i = count; i < round_up(count, kRowLanes); ++i) {
      x[i] = y[i] = 0.0f;
      whole_x[i] = whole_y[i] = first_row[i] = 0;
      width[i] = height[i] = 1;
    }
  }

  HWY_ALIGN float x[kSampleBlock], y[kSampleBlock];  // fractions
  HWY_ALIGN int32_t whole_x[kSampleBlock], whole_y[kSampleBlock];
  HWY_ALIGN int32_t width[kSampleBlock], height[kSampleBlock], first_row[kSampleBlock];

 private:
  // (i + 0.5) size / count - 0.5, exactly rounded.
  struct Coordinate {
    Coordinate(int64_t i, int64_t count, int64_t size) {
      const int64_t above = (2 * i + 1) * size - count, below = 2 * count;
      whole = static_cast<int32_t>(above < 0 ? -1 : above / below);  // not below -0.5
      fraction = static_cast<float>(static_cast<double>(above - whole * below) /
                                    static_cast<double>(below));
    }
    int32_t whole;
    float fraction;
  };

  void find(int64_t query) {
    const DeformableGrid* grid = args_.queries;
    for (; query >= grid->height * grid->width; ++grid) query -= grid->height * grid->width;
    grid_ = *grid;
    row_ = query / grid_.width;
    column_ = query % grid_.width;
  }

  const DeformableArgs& args_;
  DeformableGrid grid_;
  int64_t row_ = 0, column_ = 0;
  int64_t query_ = -1;
  size_t first_ = 0;
};

// One axis of a vector of samples: the two pixels around the position, clamped to the map, and what
// they count; `slope` is the derivative of that.
struct SampleAxis {
  RowVec near_weight, far_weight, near_slope, far_slope;
  hn::Vec<RowIntTag> near, far;

  HWY_INLINE SampleAxis(RowVec fraction, RowVec offset, hn::Vec<RowIntTag> whole,
                        hn::Vec<RowIntTag> size) {
    const RowTag d;
    const RowIntTag di;
    const auto zero = hn::Zero(di), one = hn::Set(di, 1);
    const RowVec unit = hn::Set(d, 1.0f);
    RowVec at = hn::Add(fraction, offset);
    // Between the pixel before the first one and the one behind the last one, both exclusive, in
    // numbers relative to `whole`. A position that is NaN is not.
    const auto low = hn::ConvertTo(d, hn::Sub(hn::Set(di, -1), whole));
    const auto high = hn::ConvertTo(d, hn::Sub(size, whole));
    const auto valid = hn::And(hn::Gt(at, low), hn::Lt(at, high));
    at = hn::IfThenElseZero(valid, at);
    const RowVec floor = hn::Floor(at);
    const RowVec rest = hn::Sub(at, floor);
    const auto before = hn::Add(hn::ConvertTo(di, floor), whole), behind = hn::Add(before, one);
    const auto near_inside = hn::And(valid, hn::RebindMask(d, hn::Gt(before, hn::Set(di, -1))));
    const auto far_inside = hn::And(valid, hn::RebindMask(d, hn::Lt(behind, size)));
    near_weight = hn::IfThenElseZero(near_inside, hn::Sub(unit, rest));
    far_weight = hn::IfThenElseZero(far_inside, rest);
    near_slope = hn::IfThenElseZero(near_inside, hn::Neg(unit));
    far_slope = hn::IfThenElseZero(far_inside, unit);
    near = hn::Max(before, zero);
    far = hn::Min(behind, hn::Sub(size, one));
  }
};

// A block of samples of one head: the rows of the values of their four pixels (above left, above
// right, below left, below right) and bilinear coefficients. With kSlopes also the derivatives of
// the coefficients with respect to x and y.
template <bool kSlopes>
struct SampleBlock {
  HWY_ALIGN int32_t row[4][kSampleBlock];
  HWY_ALIGN float coefficient[4][kSampleBlock];
  HWY_ALIGN float slope_x[4][kSlopes ? kSampleBlock : 1], slope_y[4][kSlopes ? kSampleBlock : 1];

  // offsets: [count, (x, y)].
  void locate(const QueryPosition& position, const float* offsets, size_t count) {
    const RowTag d;
    const RowIntTag di;
    HWY_ALIGN float copy[2 * kSampleBlock];
    copy_row(offsets, 2 * count, copy);
    std::fill(copy + 2 * count, copy + 2 * round_up(count, kRowLanes), 0.0f);
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {
      RowVec offset_x, offset_y;
      hn::LoadInterleaved2(d, copy + 2 * i, offset_x, offset_y);
      const auto width = hn::Load(di, position.width + i);
      const SampleAxis x(hn::Load(d, position.x + i), offset_x, hn::Load(di, position.whole_x + i),
                         width);
      const SampleAxis y(hn::Load(d, position.y + i), offset_y, hn::Load(di, position.whole_y + i),
                         hn::Load(di, position.height + i));
      const auto first = hn::Load(di, position.first_row + i);
      const auto above = hn::Add(first, hn::Mul(y.near, width));
      const auto below = hn::Add(first, hn::Mul(y.far, width));
      hn::Store(hn::Add(above, x.near), di, row[0] + i);
      hn::Store(hn::Add(above, x.far), di, row[1] + i);
      hn::Store(hn::Add(below, x.near), di, row[2] + i);
      hn::Store(hn::Add(below, x.far), di, row[3] + i);
      const auto store = [&](RowVec top, RowVec bottom, RowVec left, RowVec right,
                             float(*to)[kSampleBlock]) HWY_ATTR {
        hn::Store(hn::Mul(top, left), d, to[0] + i);
        hn::Store(hn::Mul(top, right), d, to[1] + i);
        hn::Store(hn::Mul(bottom, left), d, to[2] + i);
        hn::Store(hn::Mul(bottom, right), d, to[3] + i);
      };
      store(y.near_weight, y.far_weight, x.near_weight, x.far_weight, coefficient);
      if constexpr (kSlopes) {
        store(y.near_weight, y.far_weight, x.near_slope, x.far_slope, slope_x);
        store(y.near_slope, y.far_slope, x.near_weight, x.far_weight, slope_y);
      }
    }
  }
};

// The largest of n >= 1 logits. Those that are not a number may be left out: they show in the
// weights.
HWY_INLINE float largest_of(const float* logits, size_t n) {
  const hn::CappedTag<float, 4> d;
  const size_t lanes = hn::Lanes(d);
  float largest = logits[0];
  size_t i = 0;
  if (n >= lanes) {
    auto most = hn::LoadU(d, logits);
    for (i = lanes; i + lanes <= n; i += lanes) most = hn::Max(most, hn::LoadU(d, logits + i));
    largest = hn::GetLane(hn::MaxOfLanes(d, most));
  }
  for (; i < n; ++i) largest = std::max(largest, logits[i]);
  return largest;
}

// e^(logit - largest) of `count` samples, zero behind them up to a whole vector; gives their sum.
HWY_INLINE float exponentials(const float* logits, size_t count, float largest, float* weights) {
  const RowTag d;
  const size_t filled = round_up(count, kRowLanes);
  copy_row(logits, count, weights);
  const RowVec most = hn::Set(d, largest);
  for (size_t i = 0; i < filled; i += kRowLanes) {
    for (size_t k = std::max(i, count); k < i + kRowLanes; ++k) weights[k] = largest;
    const RowVec x = hn::Sub(hn::Load(d, weights + i), most);
    hn::Store(exp_clamped(x), d, weights + i);
  }
  std::fill(weights + count, weights + filled, 0.0f);
  RowVec sum = hn::Load(d, weights);
  for (size_t i = kRowLanes; i < filled; i += kRowLanes) {
    sum = hn::Add(sum, hn::Load(d, weights + i));
  }
  return sum_lanes(sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#endif  // VIG_KERNELS_DEFORMABLE_INL_H_
