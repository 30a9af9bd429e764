#include "vig/kernels/gemm.h"

#include <algorithm>
#include <array>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/gemm.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// What is asked for while this panel is worked on: one address per k, `step` bytes apart.
struct Ahead {
  const char* next = nullptr;
  size_t step = 0;
};

// acc = bias + A W^T for kRows rows and the first kVectors vectors of a panel, written to `out`
// (rows `ldo` apart) plus the residual if there is one.
template <int kRows, int kVectors>
HWY_NOINLINE void strip(const float* HWY_RESTRICT a, size_t lda, const float* HWY_RESTRICT panel,
                        size_t k, const float* residual, size_t ldr, float* out, size_t ldo,
                        Ahead ahead) {
  const RowTag d;
  RowVec acc[kRows][kVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const RowVec bias = hn::Load(d, panel + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) acc[r][v] = bias;
  }
  const float* HWY_RESTRICT w = panel + kPanel;
#pragma GCC unroll 4
  for (size_t i = 0; i < k; ++i) {
    __builtin_prefetch(ahead.next, 0, 2);
    ahead.next += ahead.step;
    RowVec weight[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) weight[v] = hn::Load(d, w + v * kLanes);
    w += kPanel;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const RowVec x = hn::Set(d, a[static_cast<size_t>(r) * lda + i]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::MulAdd(x, weight[v], acc[r][v]);
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

using StripFn = void (*)(const float*, size_t, const float*, size_t, const float*, size_t, float*,
                         size_t, Ahead);

// By rows - 1: one vector wide, for a last panel of few columns, and two.
template <int kVectors, int... kRows>
constexpr auto strip_table(std::integer_sequence<int, kRows...>) {
  return std::array<StripFn, sizeof...(kRows)>{strip<kRows + 1, kVectors>...};
}
constexpr auto kNarrowStrips = strip_table<1>(std::make_integer_sequence<int, kStrip>());
constexpr auto kStrips = strip_table<2>(std::make_integer_sequence<int, kStrip>());

int64_t panel_columns(bool paired) { return paired ? kLanes : kPanel; }

int64_t count_panels(int64_t n, bool paired) {
  const int64_t out = paired ? n / 2 : n;
  const int64_t width = panel_columns(paired);
  return (out + width - 1) / width;
}

size_t packed_floats(int64_t n, int64_t k, bool paired) {
  return static_cast<size_t>(count_panels(n, paired) * (k + 1)) * kPanel;
}

// Bytes of a panel: its bias, then the weights.
template <class T>
size_t packed_panel_bytes(int64_t k) {
  return kPanel * (sizeof(float) + static_cast<size_t>(k) * sizeof(T));
}

size_t packed_half_bytes(int64_t n, int64_t k, bool paired) {
  return static_cast<size_t>(count_panels(n, paired)) * packed_panel_bytes<uint16_t>(k);
}

template <class T>
void pack_as(const T* weight, const float* bias, int64_t n, int64_t k, bool paired, void* panels) {
  const int64_t half = n / 2;
  const int64_t end = paired ? half : n;
  for (int64_t p = 0; p < count_panels(n, paired); ++p) {
    auto* panel = reinterpret_cast<float*>(static_cast<std::byte*>(panels) +
                                           static_cast<size_t>(p) * packed_panel_bytes<T>(k));
    for (size_t j = 0; j < kPanel; ++j) {
      const bool second = paired && j >= kLanes;
      const int64_t column = p * panel_columns(paired) + static_cast<int64_t>(j % kLanes) +
                             (!paired && j >= kLanes ? static_cast<int64_t>(kLanes) : 0);
      const bool exists = column < end;
      const int64_t row = column + (second ? half : 0);
      panel[j] = exists && bias != nullptr ? bias[row] : 0.0f;
      T* to = reinterpret_cast<T*>(panel + kPanel) + j;
      if (exists) {
        const T* from = weight + row * k;
        for (int64_t i = 0; i < k; ++i) to[static_cast<size_t>(i) * kPanel] = from[i];
      } else {
        for (int64_t i = 0; i < k; ++i) to[static_cast<size_t>(i) * kPanel] = T{0};
      }
    }
  }
}

void pack(const float* weight, const float* bias, int64_t n, int64_t k, bool paired,
          float* panels) {
  pack_as(weight, bias, n, k, paired, panels);
}

void pack_half(const uint16_t* weight, const float* bias, int64_t n, int64_t k, bool paired,
               float* panels) {
  pack_as(weight, bias, n, k, paired, panels);
}

void pack_transposed(const float* weight, int64_t n, int64_t k, float* panels) {
  for (int64_t first = 0; first < n; first += kPanel) {
    const size_t present = static_cast<size_t>(std::min<int64_t>(kPanel, n - first));
    std::fill_n(panels, kPanel, 0.0f);  // no bias
    panels += kPanel;
    for (int64_t i = 0; i < k; ++i, panels += kPanel) {
      std::copy_n(weight + i * n + first, present, panels);
      std::fill_n(panels + present, kPanel - present, 0.0f);
    }
  }
}

// A panel of 16-bit weights as floats.
template <class Half>
HWY_INLINE void widen(const float* HWY_RESTRICT panel, size_t k, float* HWY_RESTRICT to) {
  const RowTag d;
  const hn::Rebind<Half, RowTag> dh;
  std::copy_n(panel, kPanel, to);
  const auto* from = reinterpret_cast<const Half*>(panel + kPanel);
  to += kPanel;
  for (size_t i = 0; i < k * kPanel; i += kLanes) {
    hn::Store(hn::PromoteTo(d, hn::LoadU(dh, from + i)), d, to + i);
  }
}

// `read(panel)` gives a panel as floats, which are `bytes` in memory.
template <class Read>
HWY_INLINE void multiply_panels(const GemmArgs& args, size_t bytes, const Read& read) {
  const PackedMatrix& w = args.weight;
  const size_t k = static_cast<size_t>(w.k);
  const int64_t columns = w.paired ? w.n / 2 : w.n;
  const int64_t width = panel_columns(w.paired);
  const int64_t last = args.last_panel < 0 ? count_panels(w.n, w.paired) : args.last_panel;
  const size_t rows = static_cast<size_t>(args.rows);
  if (rows == 0) return;
  const size_t strips = (rows + kStrip - 1) / kStrip;
  const size_t lda = static_cast<size_t>(args.lda), ldc = static_cast<size_t>(args.ldc);
  const size_t ldr = static_cast<size_t>(args.ldr);
  const bool direct = args.function == Elementwise::kIdentity && !w.paired;
  HWY_ALIGN float sums[kStrip * kPanel];

  for (int64_t p = args.first_panel; p < last; ++p) {
    const auto* stored =
        reinterpret_cast<const std::byte*>(w.panels) + static_cast<size_t>(p) * bytes;
    const float* panel = read(reinterpret_cast<const float*>(stored));
    const size_t first = static_cast<size_t>(p * width);
    const size_t present = static_cast<size_t>(std::min<int64_t>(width, columns - p * width));
    const bool narrow = !w.paired && present <= kLanes;
    // Each strip fetches its share of the next panel. After the last one that is the first panel of
    // the matrix packed next, which is most often the one needed next.
    const size_t share = bytes / strips;
    const char* next = reinterpret_cast<const char*>(stored + bytes);
    for (size_t s = 0, row = 0; s < strips; ++s) {
      const size_t count = (rows - row) / (strips - s);  // as even as they get
      const float* a = args.a + row * lda;
      float* c = args.c + row * ldc + first;
      const float* res = args.residual == nullptr ? nullptr : args.residual + row * ldr + first;
      const Ahead ahead{next + s * share, share / k};
      const StripFn fn = narrow ? kNarrowStrips[count - 1] : kStrips[count - 1];
      if (direct && present == kPanel) {
        fn(a, lda, panel, k, res, ldr, c, ldc, ahead);
      } else {
        fn(a, lda, panel, k, nullptr, 0, sums, kPanel, ahead);
        finish(FloatSums{sums}, count, present, {args.function, w.paired, res, ldr}, c, ldc);
      }
      row += count;
    }
  }
}

// Apart, because it needs much of the stack.
HWY_NOINLINE void multiply_half(const GemmArgs& args) {
  const size_t k = static_cast<size_t>(args.weight.k);
  HWY_ALIGN float wide[(kMostHalfTaps + 1) * kPanel];
  multiply_panels(args, packed_panel_bytes<uint16_t>(args.weight.k),
                  [&](const float* panel) HWY_ATTR {
                    if (args.weight.type == PanelType::kF16) {
                      widen<hwy::float16_t>(panel, k, wide);
                    } else {
                      widen<hwy::bfloat16_t>(panel, k, wide);
                    }
                    return static_cast<const float*>(wide);
                  });
}

void multiply(const GemmArgs& args) {
  if (args.weight.type != PanelType::kF32) return multiply_half(args);
  multiply_panels(args, packed_panel_bytes<float>(args.weight.k),
                  [](const float* panel) HWY_ATTR { return panel; });
}

int64_t strip_rows() { return kStrip; }

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(packed_floats);
HWY_EXPORT(pack);
HWY_EXPORT(pack_half);
HWY_EXPORT(packed_half_bytes);
HWY_EXPORT(pack_transposed);
HWY_EXPORT(multiply);
HWY_EXPORT(count_panels);
HWY_EXPORT(strip_rows);

size_t gemm_packed_floats(int64_t n, int64_t k, bool paired) {
  return HWY_DYNAMIC_DISPATCH(packed_floats)(n, k, paired);
}

PackedMatrix gemm_pack(const float* weight, const float* bias, int64_t n, int64_t k, bool paired,
                       float* panels) {
  HWY_DYNAMIC_DISPATCH(pack)(weight, bias, n, k, paired, panels);
  return {panels, n, k, paired, PanelType::kF32};
}

size_t gemm_packed_half_bytes(int64_t n, int64_t k, bool paired) {
  return HWY_DYNAMIC_DISPATCH(packed_half_bytes)(n, k, paired);
}

PackedMatrix gemm_pack_half(const uint16_t* weight, const float* bias, int64_t n, int64_t k,
                            bool paired, PanelType type, float* panels) {
  HWY_DYNAMIC_DISPATCH(pack_half)(weight, bias, n, k, paired, panels);
  return {panels, n, k, paired, type};
}

PackedMatrix gemm_pack_transposed(const float* weight, int64_t n, int64_t k, float* panels) {
  HWY_DYNAMIC_DISPATCH(pack_transposed)(weight, n, k, panels);
  return {panels, n, k, false, PanelType::kF32};
}

void gemm(const GemmArgs& args) { HWY_DYNAMIC_DISPATCH(multiply)(args); }

int64_t gemm_panels(const PackedMatrix& weight) {
  return HWY_DYNAMIC_DISPATCH(count_panels)(weight.n, weight.paired);
}

int64_t gemm_strip_rows() { return HWY_DYNAMIC_DISPATCH(strip_rows)(); }

}  // namespace vig
#endif  // HWY_ONCE
