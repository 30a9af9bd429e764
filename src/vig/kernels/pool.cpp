#include "vig/kernels/pool.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/pool.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

void mean_of_rows(const MeanPartArgs& args) {
  constexpr int64_t kBlock = 128;
  const RowTag d;
  const bool begins = args.first == 0, ends = args.last == args.count;
  for_each_vector(static_cast<size_t>(args.channels),
                  [&](size_t c, const auto& load, const auto& store) HWY_ATTR {
                    RowVec total = begins ? hn::Zero(d) : load(args.sums + c);
                    RowVec sum = begins ? hn::Zero(d) : load(args.sums + args.channels + c);
                    const float* row = args.rows + c;
                    for (int64_t first = args.first; first < args.last;) {
                      const int64_t last = std::min(args.last, (first / kBlock + 1) * kBlock);
                      for (; first < last; ++first, row += args.stride)
                        sum = hn::Add(sum, load(row));
                      if (last % kBlock != 0 && last != args.count)
                        break;  // the next part continues it
                      total = hn::Add(total, sum);
                      sum = hn::Zero(d);
                    }
                    if (ends) {
                      const RowVec share = hn::Set(d, 1.0f / static_cast<float>(args.count));
                      store(hn::Mul(total, share), args.mean + c);
                    } else {
                      store(total, args.sums + c);
                      store(sum, args.sums + args.channels + c);
                    }
                  });
}

void max_of_windows(const MaxPoolArgs& args) {
  const RowTag d;
  const ConvGrid& g = args.grid;
  const Windows& w = args.windows;
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const float* image = args.in + row / (w.height * w.width) * g.height * g.width * g.channels;
    const int64_t top = row / w.width % w.height * w.stride - w.top;
    const int64_t left = row % w.width * w.stride - w.left;
    const int64_t y0 = std::max<int64_t>(0, top), y1 = std::min(g.height, top + w.kernel);
    const int64_t x0 = std::max<int64_t>(0, left), x1 = std::min(g.width, left + w.kernel);
    float* out = args.out + (row - args.first_row) * args.out_stride;
    for_each_vector(static_cast<size_t>(g.channels), [&](size_t c, const auto& load,
                                                         const auto& store) HWY_ATTR {
      RowVec largest = hn::Set(d, -std::numeric_limits<float>::infinity());
      for (int64_t y = y0; y < y1; ++y) {
        for (int64_t x = x0; x < x1; ++x) {
          const RowVec v = load(image + (y * g.width + x) * g.channels + static_cast<int64_t>(c));
          const auto wins = hn::Or(hn::Gt(v, largest), hn::IsNaN(v));
          largest = hn::IfThenElse(wins, v, largest);
        }
      }
      store(largest, out + c);
    });
  }
}

void mean_cells(const CellPoolArgs& args) {
  const RowTag d;
  const ConvGrid& g = args.grid;
  float* out = args.out;
  for (int64_t i = 0; i < args.cells; ++i) {
    const int64_t y0 = cell_begin(i, g.height, args.cells), y1 = cell_end(i, g.height, args.cells);
    for (int64_t j = 0; j < args.cells; ++j, out += args.out_stride) {
      const int64_t x0 = cell_begin(j, g.width, args.cells), x1 = cell_end(j, g.width, args.cells);
      const RowVec share = hn::Set(d, 1.0f / static_cast<float>((y1 - y0) * (x1 - x0)));
      for_each_vector(static_cast<size_t>(g.channels), [&](size_t c, const auto& load,
                                                           const auto& store) HWY_ATTR {
        RowVec total = hn::Zero(d);
        for (int64_t y = y0; y < y1; ++y) {
          RowVec sum = hn::Zero(d);
          for (int64_t x = x0; x < x1; ++x) {
            sum = hn::Add(sum, load(args.in + (y * g.width + x) * args.in_stride + c));
          }
          total = hn::Add(total, sum);
        }
        store(hn::Mul(total, share), out + c);
      });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(mean_of_rows);
HWY_EXPORT(max_of_windows);
HWY_EXPORT(mean_cells);

void mean_rows(const float* rows, int64_t stride, int64_t count, int64_t channels, float* mean) {
  mean_rows_part({rows, stride, 0, count, count, channels, nullptr, mean});
}

void mean_rows_part(const MeanPartArgs& args) { HWY_DYNAMIC_DISPATCH(mean_of_rows)(args); }

void max_pool(const MaxPoolArgs& args) { HWY_DYNAMIC_DISPATCH(max_of_windows)(args); }

void pool_cells(const CellPoolArgs& args) { HWY_DYNAMIC_DISPATCH(mean_cells)(args); }

}  // namespace vig
#endif  // HWY_ONCE
