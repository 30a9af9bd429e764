#include "vig/kernels/backward/gemm.h"

#include <algorithm>
#include <array>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/gemm.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

constexpr size_t kLanes = hn::MaxLanes(RowTag());
constexpr size_t kPanel = 2 * kLanes;  // columns of x worked on together
constexpr size_t kBlock = 256;         // rows of x and dy worked on together

// Accumulators: strip x 2 vectors, beside two of x and one broadcast.
#if HWY_MAX_BYTES == 64 || HWY_ARCH_ARM_A64
constexpr int kStrip = 14;
#else
constexpr int kStrip = 6;
#endif

// kColumns columns of dy against one panel of x: sums [kColumns, kPanel], rows `lds` apart.
template <int kColumns>
HWY_NOINLINE void strip(const float* HWY_RESTRICT dy, size_t ldy, const float* HWY_RESTRICT x,
                        size_t ldx, size_t rows, bool add, float* sums, size_t lds) {
  const RowTag d;
  RowVec acc[kColumns][2];
  for (int c = 0; c < kColumns; ++c) {
    for (size_t v = 0; v < 2; ++v) {
      acc[c][v] =
          add ? hn::LoadU(d, sums + static_cast<size_t>(c) * lds + v * kLanes) : hn::Zero(d);
    }
  }
#pragma GCC unroll 2
  for (size_t r = 0; r < rows; ++r) {
    const RowVec x0 = hn::LoadU(d, x), x1 = hn::LoadU(d, x + kLanes);
#pragma GCC unroll 16
    for (int c = 0; c < kColumns; ++c) {
      const RowVec g = hn::Set(d, dy[c]);
      acc[c][0] = hn::MulAdd(g, x0, acc[c][0]);
      acc[c][1] = hn::MulAdd(g, x1, acc[c][1]);
    }
    x += ldx;
    dy += ldy;
  }
  for (int c = 0; c < kColumns; ++c) {
    for (size_t v = 0; v < 2; ++v) {
      hn::StoreU(acc[c][v], d, sums + static_cast<size_t>(c) * lds + v * kLanes);
    }
  }
}

using StripFn = void (*)(const float*, size_t, const float*, size_t, size_t, bool, float*, size_t);

template <int... kColumns>
constexpr auto strip_table(std::integer_sequence<int, kColumns...>) {
  return std::array<StripFn, sizeof...(kColumns)>{strip<kColumns + 1>...};
}
constexpr auto kStrips = strip_table(std::make_integer_sequence<int, kStrip>());

void weight_gradient(const GemmBackwardArgs& args) {
  const size_t n = static_cast<size_t>(args.n), k = static_cast<size_t>(args.k);
  const size_t rows = static_cast<size_t>(args.rows);
  const size_t ldw = static_cast<size_t>(args.ldw);
  const size_t strips = (n + kStrip - 1) / kStrip;
  if (rows == 0 && !args.add) {
    for (size_t i = 0; i < n; ++i) std::fill_n(args.dw + i * ldw, k, 0.0f);
  }
  HWY_ALIGN float part[kBlock * kPanel];  // columns of x that do not fill a panel
  HWY_ALIGN float sums[kStrip * kPanel];
  for (size_t block = 0; block < rows; block += kBlock) {
    const size_t count = std::min(kBlock, rows - block);
    const bool add = args.add || block > 0;
    for (size_t column = 0; column < k; column += kPanel) {
      const size_t present = std::min(kPanel, k - column);
      const float* x = args.x + block * static_cast<size_t>(args.ldx) + column;
      size_t ldx = static_cast<size_t>(args.ldx);
      if (present < kPanel) {
        for (size_t r = 0; r < count; ++r) {
          std::copy_n(x + r * ldx, present, part + r * kPanel);
          std::fill_n(part + r * kPanel + present, kPanel - present, 0.0f);
        }
        x = part;
        ldx = kPanel;
      }
      for (size_t s = 0, first = 0; s < strips; ++s) {
        const size_t width = (n - first) / (strips - s);  // as even as they get
        const float* dy = args.dy + block * static_cast<size_t>(args.ldy) + first;
        float* to = args.dw + first * ldw + column;
        const StripFn fn = kStrips[width - 1];
        if (present == kPanel) {
          fn(dy, static_cast<size_t>(args.ldy), x, ldx, count, add, to, ldw);
        } else {
          for (size_t c = 0; add && c < width; ++c) {
            std::copy_n(to + c * ldw, present, sums + c * kPanel);
            std::fill_n(sums + c * kPanel + present, kPanel - present, 0.0f);
          }
          fn(dy, static_cast<size_t>(args.ldy), x, ldx, count, add, sums, kPanel);
          for (size_t c = 0; c < width; ++c) {
            std::copy_n(sums + c * kPanel, present, to + c * ldw);
          }
        }
        first += width;
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(weight_gradient);

void gemm_backward(const GemmBackwardArgs& args) { HWY_DYNAMIC_DISPATCH(weight_gradient)(args); }

}  // namespace vig
#endif  // HWY_ONCE
