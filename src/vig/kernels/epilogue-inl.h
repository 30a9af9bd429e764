// What follows a sum of products, and the size of the block of sums that is kept in registers, for
// matrix products and convolutions to inline. Per-target header.
#if defined(VIG_KERNELS_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIG_KERNELS_EPILOGUE_INL_H_
#undef VIG_KERNELS_EPILOGUE_INL_H_
#else
#define VIG_KERNELS_EPILOGUE_INL_H_
#endif

#include <hwy/highway.h>

#include "vig/base/elementwise.h"
#include "vig/kernels/math-inl.h"
#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

constexpr size_t kLanes = hn::MaxLanes(RowTag());
constexpr size_t kPanel = 2 * kLanes;  // columns of a panel

// Accumulators of a strip: rows x 2 vectors, beside two of weights and one broadcast. 32 registers
// hold 14 rows, 16 hold 6.
#if HWY_MAX_BYTES == 64 || HWY_ARCH_ARM_A64
constexpr int kStrip = 14;
#else
constexpr int kStrip = 6;
#endif

// Sums of a strip as floats: vector v of row r.
struct FloatSums {
  const float* sums;  // aligned, rows a panel apart
  HWY_INLINE RowVec operator()(size_t r, size_t v) const {
    return hn::Load(RowTag(), sums + r * kPanel + v * kLanes);
  }
};

// Turns `rows` x one panel of sums into results: f(sums, paired sums). `columns` of them exist in
// the output.
template <class Sums, class F>
HWY_INLINE void finish_rows(const Sums& sums, size_t rows, size_t columns, float* c, size_t ldc,
                            const F& f) {
  const RowTag d;
  size_t r = 0;
  if (columns == kLanes) {
    for (; r < rows; ++r) hn::StoreU(f(sums(r, 0), sums(r, 1)), d, c + r * ldc);
  } else if (columns == kPanel) {
    for (; r + 2 <= rows; r += 2) {
      const Four v = {{sums(r, 0), sums(r, 1)}, {sums(r + 1, 0), sums(r + 1, 1)}};
      const Four y = f(v, v);
      store_pair(y.low, c + r * ldc);
      store_pair(y.high, c + (r + 1) * ldc);
    }
  }
  for (; r < rows; ++r) {
    for_each_vector(columns, [&](size_t i, const auto&, const auto& store) HWY_ATTR {
      // The second of a pair is there for single vectors alone.
      store(f(sums(r, i / kLanes), sums(r, 1)), c + r * ldc + i);
    });
  }
}

struct Epilogue {
  Elementwise function = Elementwise::kIdentity;
  bool paired = false;
  const float* residual = nullptr;  // of these rows and columns, or null
  size_t ldr = 0;
};

// c = f(sums + residual), or f(first vector) * second vector of paired sums.
template <class Sums>
HWY_INLINE void finish(const Sums& sums, size_t rows, size_t columns, const Epilogue& epilogue,
                       float* c, size_t ldc) {
  const float* residual = epilogue.residual;
  const size_t ldr = epilogue.ldr;
  with_function(epilogue.function, [&](auto function) HWY_ATTR {
    using F = decltype(function);
    if (epilogue.paired) {
      return finish_rows(sums, rows, columns, c, ldc,
                         [](auto v, auto pair) HWY_ATTR { return mul(F::value(v), pair); });
    }
    if (residual == nullptr) {
      return finish_rows(sums, rows, columns, c, ldc,
                         [](auto v, auto) HWY_ATTR { return F::value(v); });
    }
    for (size_t r = 0; r < rows; ++r) {
      for_each_vector(columns, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
        const RowVec sum = sums(r, i / kLanes);
        store(F::value(hn::Add(sum, load(residual + r * ldr + i))), c + r * ldc + i);
      });
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#endif  // VIG_KERNELS_EPILOGUE_INL_H_
