#include "vig/kernels/conv_dense.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "vig/kernels/gemm.h"
#include "vig/kernels/grid_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/conv_dense.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// Rows that pass over a panel before the next one begins, whole strips.
constexpr size_t kTile = 112 / kStrip * kStrip;
constexpr size_t kMostTaps = 1152;      // of a block of the sum: its panel stays in a cache
constexpr size_t kMostRuns = 64;        // of pixels in a block of the sum
constexpr size_t kSumFloats = 1 << 16;  // of sums between blocks: of 512 outputs for a tile
constexpr size_t kPatchFloats = 1 << 14;
constexpr int64_t kShortRun = 16;  // fewer pixels side by side are copied
HWY_ALIGN constexpr float kOutside[kMostTaps] = {};

// A run of taps of one panel, with the pixels that a strip's rows have there.
struct Segment {
  const float* row[kStrip];
  size_t length;
};

// Where a block of a panel's sum begins and what it reads.
struct Sums {
  const float* weight;              // of its first tap
  const float* HWY_RESTRICT start;  // bias or what the block before has left, rows `step` apart
  size_t step;
  const char* ahead;  // what is asked for meanwhile, one address a tap, `ahead_step` apart
  size_t ahead_step;
};

// sums = start + pixels * weights for kRows rows and the first kVectors vectors of a panel, written
// to `out` (rows `ldo` apart) plus the residual if there is one.
template <int kRows, int kVectors>
HWY_NOINLINE void conv_strip(const Segment* HWY_RESTRICT segment, size_t segments, const Sums& sums,
                             const float* residual, size_t ldr, float* out, size_t ldo) {
  const RowTag d;
  RowVec acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      acc[r][v] = hn::Load(d, sums.start + static_cast<size_t>(r) * sums.step + v * kLanes);
    }
  }
  const float* HWY_RESTRICT w = sums.weight;
  const char* ahead = sums.ahead;
  const size_t ahead_step = sums.ahead_step;
  for (const Segment* end = segment + segments; segment != end; ++segment) {
    const float* HWY_RESTRICT row[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) row[r] = segment->row[r];
    const size_t length = segment->length;
#pragma GCC unroll 4
    for (size_t i = 0; i < length; ++i) {
      __builtin_prefetch(ahead, 0, 2);
      ahead += ahead_step;
      RowVec weight[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) weight[v] = hn::Load(d, w + v * kLanes);
      w += kPanel;
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const RowVec x = hn::Set(d, row[r][i]);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::MulAdd(x, weight[v], acc[r][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const size_t at = static_cast<size_t>(v) * kLanes;
      if (residual != nullptr) {
        acc[r][v] = hn::Add(acc[r][v], hn::LoadU(d, residual + static_cast<size_t>(r) * ldr + at));
      }
      hn::StoreU(acc[r][v], d, out + static_cast<size_t>(r) * ldo + at);
    }
  }
}

using ConvStrip = void (*)(const Segment*, size_t, const Sums&, const float*, size_t, float*,
                           size_t);

template <int kVectors, int... kRows>
constexpr auto conv_strips(std::integer_sequence<int, kRows...>) {
  return std::array<ConvStrip, sizeof...(kRows)>{conv_strip<kRows + 1, kVectors>...};
}
// By rows - 1: one vector wide, for a last panel of few columns, and two.
constexpr auto kNarrowConvStrips = conv_strips<1>(std::make_integer_sequence<int, kStrip>());
constexpr auto kConvStrips = conv_strips<2>(std::make_integer_sequence<int, kStrip>());

// A row of the output: the corner of what it sees, which may lie outside the map.
struct Spot {
  int64_t image, y, x;
  bool inside;  // all of it
};

// The rows of one tile, and what they read of one group's channels.
class Tile {
 public:
  Tile(const DenseConvArgs& args, int64_t first, size_t rows)
      : args_(args), rows_(rows), strips_((rows + kStrip - 1) / kStrip) {
    const ConvShape& s = args.shape;
    const Windows& w = s.windows;
    GridRow at(first, w.height, w.width);
    for (size_t r = 0; r < rows; ++r, at.next(1, w.height, w.width)) {
      Spot& spot = spots_[r];
      spot = {at.image, at.y * w.stride - w.top, at.x * w.stride - w.left, false};
      spot.inside = spot.y >= 0 && spot.y + w.kernel <= s.in.height && spot.x >= 0 &&
                    spot.x + w.kernel <= s.in.width;
    }
  }

  size_t rows() const { return rows_; }
  size_t strips() const { return strips_; }

  // Finds the pixels of the taps [begin, end).
  void read(int64_t group, int64_t begin, int64_t end) {
    used_ = 0;
    for (size_t s = 0, row = 0; s < strips_; ++s) {
      Strip& strip = parts_[s];
      strip = {row, (rows_ - row) / (strips_ - s), used_, 0};  // as even as they get
      const bool inside = std::all_of(spots_ + row, spots_ + row + strip.rows,
                                      [](const Spot& p) { return p.inside; });
      if (copies(args_.shape, inside)) {
        copy(strip, group, begin, end);
      } else {
        point(strip, inside, group, begin, end);
      }
      strip.segments = used_ - strip.first_segment;
      row += strip.rows;
    }
  }

  struct Strip {
    size_t first, rows;
    size_t first_segment, segments;
  };
  const Strip& strip(size_t s) const { return parts_[s]; }
  const Segment* segments(const Strip& strip) const { return segments_ + strip.first_segment; }

  // Rows of a tile, and taps of a block of the sum, that there is room for.
  static int64_t most_rows(const ConvShape& shape) {
    const int64_t fit = static_cast<int64_t>(kPatchFloats) / shape.taps() / kStrip * kStrip;
    return copies(shape, false) ? std::min<int64_t>(kTile, fit) : static_cast<int64_t>(kTile);
  }
  static int64_t most_taps(const ConvShape& shape) {
    // At the border, and of groups, a run is one tap; a block has no more than 50 of whole lines.
    const int64_t runs = static_cast<int64_t>(kMostRuns - 1) * shape.group_inputs();
    const bool lines = shape.groups == 1 && all_inside(shape);
    return lines || copies(shape, false) ? static_cast<int64_t>(kMostTaps)
                                         : std::min<int64_t>(kMostTaps, runs);
  }

 private:
  // Whether no window reaches beyond the map.
  static bool all_inside(const ConvShape& shape) {
    const Windows& w = shape.windows;
    const auto fits = [&](int64_t before, int64_t count, int64_t size) {
      return before <= 0 && (count - 1) * w.stride - before + w.kernel <= size;
    };
    return fits(w.top, w.height, shape.in.height) && fits(w.left, w.width, shape.in.width);
  }

  // Inside the map the pixels of a kernel's line lie side by side, unless groups part them.
  static int64_t run_length(const ConvShape& shape, bool inside) {
    return (inside && shape.groups == 1 ? shape.windows.kernel : 1) * shape.group_inputs();
  }
  static bool copies(const ConvShape& shape, bool inside) {
    return run_length(shape, inside) < kShortRun && shape.windows.kernel > 1 &&
           shape.taps() * kStrip <= static_cast<int64_t>(kPatchFloats);
  }

  // The group's channels at one tap; what is outside the map is zero.
  const float* at(const Spot& spot, int64_t ky, int64_t kx, int64_t group) const {
    const ConvGrid& g = args_.shape.in;
    const int64_t y = spot.y + ky, x = spot.x + kx;
    if (y < 0 || y >= g.height || x < 0 || x >= g.width) return kOutside;
    return args_.in + ((spot.image * g.height + y) * g.width + x) * g.channels +
           group * args_.shape.group_inputs();
  }

  void point(const Strip& strip, bool inside, int64_t group, int64_t begin, int64_t end) {
    const ConvShape& s = args_.shape;
    const int64_t length = run_length(s, inside), kernel = s.windows.kernel;
    const bool lines = length > s.group_inputs();
    for (int64_t run = begin / length; run * length < end; ++run) {
      const int64_t from = std::max(begin, run * length), to = std::min(end, (run + 1) * length);
      const int64_t ky = lines ? run : run / kernel, kx = lines ? 0 : run % kernel;
      Segment& segment = segments_[used_++];
      segment.length = static_cast<size_t>(to - from);
      for (size_t r = 0; r < strip.rows; ++r) {
        const float* pixel = at(spots_[strip.first + r], ky, kx, group);
        segment.row[r] = pixel == kOutside ? kOutside : pixel + (from - run * length);
      }
    }
  }

  // Few channels: copies what the rows see, since runs of a few taps would take too long.
  void copy(const Strip& strip, int64_t group, int64_t begin, int64_t end) {
    const ConvShape& s = args_.shape;
    const int64_t channels = s.group_inputs(), kernel = s.windows.kernel;
    Segment& segment = segments_[used_++];
    segment.length = static_cast<size_t>(end - begin);
    for (size_t r = 0; r < strip.rows; ++r) {
      const Spot& spot = spots_[strip.first + r];
      float* to = patches_ + (strip.first + r) * static_cast<size_t>(s.taps());
      segment.row[r] = to + begin;
      const int64_t line = spot.inside && s.groups == 1 ? kernel : 1;
      for (int64_t ky = 0; ky < kernel; ++ky) {
        for (int64_t kx = 0; kx < kernel; kx += line, to += line * channels) {
          copy_row(at(spot, ky, kx, group), static_cast<size_t>(line * channels), to);
        }
      }
    }
  }

  const DenseConvArgs& args_;
  size_t rows_, strips_, used_ = 0;
  Spot spots_[kTile];
  Strip parts_[(kTile + kStrip - 1) / kStrip];
  Segment segments_[(kTile + kStrip - 1) / kStrip * kMostRuns];
  float patches_[kPatchFloats];
};

int64_t group_panels(const ConvShape& shape) {
  const int64_t width = static_cast<int64_t>(kPanel);
  return (shape.group_outputs() + width - 1) / width;
}

// Panels [first, last) of one group on one tile, whose first row goes to `out` (and `residual`).
void conv_tile(const DenseConvArgs& args, Tile& tile, int64_t group, int64_t first, int64_t last,
               float* out, const float* residual) {
  const ConvShape& shape = args.shape;
  const int64_t taps = shape.taps(), width = static_cast<int64_t>(kPanel);
  const size_t ldc = static_cast<size_t>(args.out_stride);
  const size_t ldr = static_cast<size_t>(args.residual_stride);
  const int64_t most = Tile::most_taps(shape);
  const int64_t blocks = (taps + most - 1) / most;
  HWY_ALIGN float between[kSumFloats];
  HWY_ALIGN float sums[kStrip * kPanel];
  // As many panels go through the blocks of the sum together as there is room for between them.
  const int64_t together =
      blocks == 1 ? last - first : static_cast<int64_t>(kSumFloats / (tile.rows() * kPanel));
  const size_t panel_floats = static_cast<size_t>(taps + 1) * kPanel;
  for (int64_t begin = first; begin < last; begin += together) {
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t from = taps * block / blocks, to = taps * (block + 1) / blocks;
      tile.read(group, from, to);
      for (int64_t p = begin; p < std::min(last, begin + together); ++p) {
        const float* panel =
            args.panels + static_cast<size_t>(group * group_panels(shape) + p) * panel_floats;
        const size_t present =
            static_cast<size_t>(std::min(width, shape.group_outputs() - p * width));
        const size_t column = static_cast<size_t>(group * shape.group_outputs() + p * width);
        const auto& strips = present <= kLanes ? kNarrowConvStrips : kConvStrips;
        // Each strip fetches its share of the next panel.
        const size_t share =
            static_cast<size_t>(to - from) * kPanel * sizeof(float) / tile.strips();
        Sums sum;
        sum.weight = panel + static_cast<size_t>(from + 1) * kPanel;
        sum.ahead = reinterpret_cast<const char*>(sum.weight + panel_floats);
        sum.ahead_step = share / static_cast<size_t>(to - from);
        for (size_t s = 0; s < tile.strips(); ++s, sum.ahead += share) {
          const Tile::Strip& strip = tile.strip(s);
          const Segment* segments = tile.segments(strip);
          float* kept =
              between + (static_cast<size_t>(p - begin) * tile.rows() + strip.first) * kPanel;
          sum.start = block == 0 ? panel : kept;
          sum.step = block == 0 ? 0 : kPanel;
          const ConvStrip fn = strips[strip.rows - 1];
          float* c = out + strip.first * ldc + column;
          const float* res = residual == nullptr ? nullptr : residual + strip.first * ldr + column;
          if (block + 1 < blocks) {
            fn(segments, strip.segments, sum, nullptr, 0, kept, kPanel);
          } else if (args.function == Elementwise::kIdentity && present == kPanel) {
            fn(segments, strip.segments, sum, res, ldr, c, ldc);
          } else {
            fn(segments, strip.segments, sum, nullptr, 0, sums, kPanel);
            finish(FloatSums{sums}, strip.rows, present, {args.function, false, res, ldr}, c, ldc);
          }
        }
      }
    }
  }
}

void conv_rows(const DenseConvArgs& args) {
  const int64_t panels = group_panels(args.shape);
  const int64_t last = args.last_block < 0 ? panels * args.shape.groups : args.last_block;
  const int64_t most = Tile::most_rows(args.shape);
  for (int64_t row = args.first_row; row < args.last_row;) {
    // Equal tiles of whole strips.
    const int64_t left = args.last_row - row, tiles = (left + most - 1) / most;
    const int64_t strips = ((left + tiles - 1) / tiles + kStrip - 1) / kStrip;
    const int64_t count = std::min(left, strips * kStrip);
    Tile tile(args, row, static_cast<size_t>(count));
    const int64_t at = row - args.first_row;
    const float* residual =
        args.residual == nullptr ? nullptr : args.residual + at * args.residual_stride;
    for (int64_t p = args.first_block; p < last;) {
      const int64_t group = p / panels, end = std::min(last, (group + 1) * panels);
      conv_tile(args, tile, group, p - group * panels, end - group * panels,
                args.out + at * args.out_stride, residual);
      p = end;
    }
    row += count;
  }
}

int64_t count_conv_panels(const ConvShape& shape) { return group_panels(shape) * shape.groups; }

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(conv_rows);
HWY_EXPORT(count_conv_panels);

size_t conv_packed_floats(const ConvShape& shape) {
  return static_cast<size_t>(shape.groups) *
         gemm_packed_floats(shape.group_outputs(), shape.taps(), false);
}

void conv_pack(const ConvShape& shape, const float* weight, const float* bias, float* panels) {
  const int64_t outputs = shape.group_outputs(), taps = shape.taps();
  std::vector<float> ordered(static_cast<size_t>(outputs * taps));
  for (int64_t g = 0; g < shape.groups; ++g) {
    patch_weight(weight + g * outputs * taps, outputs, shape.group_inputs(), shape.windows.kernel,
                 ordered.data());
    gemm_pack(ordered.data(), bias == nullptr ? nullptr : bias + g * outputs, outputs, taps, false,
              panels);
    panels += gemm_packed_floats(outputs, taps, false);
  }
}

int64_t conv_blocks(const ConvShape& shape) {
  return HWY_DYNAMIC_DISPATCH(count_conv_panels)(shape);
}

void dense_conv(const DenseConvArgs& args) { HWY_DYNAMIC_DISPATCH(conv_rows)(args); }

}  // namespace vig
#endif  // HWY_ONCE
