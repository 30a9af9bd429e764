#include "vig/kernels/gemm_int8.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "vig/kernels/dot_strips.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/gemm_int8.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// A panel: for each column where its sum starts, its scale and its bias; then for every four k the
// weights of all columns.
constexpr size_t kHeadBytes = 3 * kPanel * sizeof(float);
constexpr size_t kGroupBytes = kPanel * kCodeGroup;

size_t panel_bytes(int64_t k) {
  return kHeadBytes + static_cast<size_t>(code_bytes(k) / kCodeGroup) * kGroupBytes;
}

int64_t int8_panel_columns(bool paired) { return paired ? kLanes : kPanel; }

int64_t count_int8_panels(int64_t n, bool paired) {
  const int64_t out = paired ? n / 2 : n;
  const int64_t width = int8_panel_columns(paired);
  return (out + width - 1) / width;
}

size_t int8_packed_bytes(int64_t n, int64_t k, bool paired) {
  return static_cast<size_t>(count_int8_panels(n, paired)) * panel_bytes(k);
}

void pack_int8(const int8_t* codes, const float* scales, const float* bias, int64_t n, int64_t k,
               bool paired, std::byte* panels) {
  const int64_t half = n / 2, end = paired ? half : n;
  std::memset(panels, 0, int8_packed_bytes(n, k, paired));
  for (int64_t p = 0; p < count_int8_panels(n, paired); ++p, panels += panel_bytes(k)) {
    auto* start = reinterpret_cast<int32_t*>(panels);
    auto* scale = reinterpret_cast<float*>(start + kPanel);
    auto* to_bias = scale + kPanel;
    auto* weight = reinterpret_cast<int8_t*>(to_bias + kPanel);
    for (size_t j = 0; j < kPanel; ++j) {
      const bool second = paired && j >= kLanes;
      const int64_t column =
          p * int8_panel_columns(paired) + static_cast<int64_t>(second ? j - kLanes : j);
      if (column >= end) continue;
      const int64_t row = column + (second ? half : 0);
      scale[j] = scales[row];
      to_bias[j] = bias == nullptr ? 0.0f : bias[row];
      const int8_t* from = codes + row * k;
      int8_t* to = weight + j * kCodeGroup;
      int64_t i = 0;
      for (; i + kCodeGroup <= k; i += kCodeGroup, to += kGroupBytes) {
        std::memcpy(to, from + i, kCodeGroup);
      }
      std::copy(from + i, from + k, to);
      const int32_t sum = std::accumulate(from, from + k, int32_t{0});
      start[j] = -kCodeZero * sum;
    }
  }
}

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

using IntTag = hn::RebindToSigned<RowTag>;
using IntVec = hn::Vec<IntTag>;

// acc + the four products of each lane. The 16-bit sums of two products cannot overflow: see
// kMostWeight.
HWY_INLINE IntVec add_dots(IntVec acc, IntVec a, IntVec w) {
#if HWY_TARGET == HWY_AVX3
  const __m512i pairs = _mm512_maddubs_epi16(a.raw, w.raw);
  return IntVec{_mm512_add_epi32(acc.raw, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))};
#elif HWY_TARGET == HWY_AVX2
  const __m256i pairs = _mm256_maddubs_epi16(a.raw, w.raw);
  return IntVec{_mm256_add_epi32(acc.raw, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))};
#elif HWY_TARGET == HWY_SSE4
  const __m128i pairs = _mm_maddubs_epi16(a.raw, w.raw);
  return IntVec{_mm_add_epi32(acc.raw, _mm_madd_epi16(pairs, _mm_set1_epi16(1)))};
#else  // SSE2: the even bytes and the odd ones of each pair, in 16 bits
  const __m128i low = _mm_set1_epi16(0xff);
  const __m128i even =
      _mm_madd_epi16(_mm_and_si128(a.raw, low), _mm_srai_epi16(_mm_slli_epi16(w.raw, 8), 8));
  const __m128i odd = _mm_madd_epi16(_mm_srli_epi16(a.raw, 8), _mm_srai_epi16(w.raw, 8));
  return IntVec{_mm_add_epi32(acc.raw, _mm_add_epi32(even, odd))};
#endif
}

template <int kRows, int kVectors>
HWY_NOINLINE void int8_strip(const DotArgs& args) {
  const IntTag d;
  IntVec acc[kRows][kVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const IntVec start = hn::Load(d, args.start + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) acc[r][v] = start;
  }
  const int8_t* HWY_RESTRICT w = args.weight;
  const uint8_t* HWY_RESTRICT a = args.a;
  const char* ahead = args.ahead;
  const size_t lda = args.lda, step = args.ahead_step;
#pragma GCC unroll 2
  for (size_t i = 0; i < args.groups; ++i, a += kCodeGroup) {
    __builtin_prefetch(ahead, 0, 2);
    ahead += step;
    IntVec weight[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      weight[v] = hn::Load(d, reinterpret_cast<const int32_t*>(w) + v * kLanes);
    }
    w += kGroupBytes;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      int32_t codes;
      std::memcpy(&codes, a + static_cast<size_t>(r) * lda, sizeof codes);
      const IntVec x = hn::Set(d, codes);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) acc[r][v] = add_dots(acc[r][v], x, weight[v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(acc[r][v], d, args.sums + static_cast<size_t>(r) * kPanel + v * kLanes);
    }
  }
}

#else

// For compilers to vectorise.
template <int kRows, int kVectors>
void int8_strip(const DotArgs& args) {
  constexpr size_t kColumns = kVectors * kLanes;
  for (int r = 0; r < kRows; ++r) {
    int32_t sums[kColumns];
    std::copy_n(args.start, kColumns, sums);
    const uint8_t* a = args.a + static_cast<size_t>(r) * args.lda;
    const int8_t* w = args.weight;
    for (size_t i = 0; i < args.groups; ++i, a += kCodeGroup, w += kGroupBytes) {
      for (size_t j = 0; j < kColumns; ++j) {
        int32_t dot = 0;
        for (size_t q = 0; q < kCodeGroup; ++q) dot += a[q] * w[j * kCodeGroup + q];
        sums[j] += dot;
      }
    }
    std::copy_n(sums, kColumns, args.sums + static_cast<size_t>(r) * kPanel);
  }
}

#endif

template <int kVectors, int... kRows>
constexpr auto int8_strip_table(std::integer_sequence<int, kRows...>) {
  return std::array<DotStrip, sizeof...(kRows)>{int8_strip<kRows + 1, kVectors>...};
}
constexpr auto kNarrowInt8 = int8_strip_table<1>(std::make_integer_sequence<int, kStrip>());
constexpr auto kWideInt8 = int8_strip_table<2>(std::make_integer_sequence<int, kStrip>());

DotStrips strips_here() {
#if HWY_TARGET == HWY_AVX3
  const DotStrips strips = vnni512_strips();
#elif HWY_TARGET == HWY_AVX2
  const DotStrips strips = vnni256_strips();
#elif HWY_TARGET == HWY_NEON
  const DotStrips strips = sdot_strips();
#else
  const DotStrips strips;
#endif
  return strips.wide != nullptr ? strips : DotStrips{kNarrowInt8.data(), kWideInt8.data()};
}

// Sums of a strip as floats: sum * (row scale * column scale) + bias.
struct ScaledSums {
  const int32_t* sums;  // aligned, rows a panel apart
  const float* scale;   // of the columns
  const float* bias;
  const uint8_t* row_scales;  // lda bytes apart
  size_t lda;
  HWY_INLINE RowVec operator()(size_t r, size_t v) const {
    const RowTag d;
    const hn::RebindToSigned<RowTag> di;
    float of_row;
    std::memcpy(&of_row, row_scales + r * lda, sizeof of_row);
    const RowVec sum = hn::ConvertTo(d, hn::Load(di, sums + r * kPanel + v * kLanes));
    const RowVec times = hn::Mul(hn::Set(d, of_row), hn::Load(d, scale + v * kLanes));
    return hn::MulAdd(sum, times, hn::Load(d, bias + v * kLanes));
  }
};

void multiply_int8(const Int8GemmArgs& args) {
  const Int8Matrix& w = args.weight;
  const size_t rows = static_cast<size_t>(args.rows);
  if (rows == 0) return;
  const int64_t columns = w.paired ? w.n / 2 : w.n;
  const int64_t width = int8_panel_columns(w.paired);
  const int64_t last = args.last_panel < 0 ? count_int8_panels(w.n, w.paired) : args.last_panel;
  const size_t strips = (rows + kStrip - 1) / kStrip;
  const size_t lda = static_cast<size_t>(args.lda), ldc = static_cast<size_t>(args.ldc);
  const size_t ldr = static_cast<size_t>(args.ldr);
  const DotStrips dots = strips_here();
  const size_t bytes = panel_bytes(w.k), share = bytes / strips;
  const size_t scale_at = static_cast<size_t>(code_bytes(w.k));
  HWY_ALIGN int32_t sums[kStrip * kPanel];
  DotArgs dot;
  dot.lda = lda;
  dot.groups = scale_at / kCodeGroup;
  dot.ahead_step = share / dot.groups;
  dot.sums = sums;

  for (int64_t p = args.first_panel; p < last; ++p) {
    const std::byte* panel = w.panels + static_cast<size_t>(p) * bytes;
    const auto* start = reinterpret_cast<const int32_t*>(panel);
    const auto* scale = reinterpret_cast<const float*>(start + kPanel);
    const auto* bias = scale + kPanel;
    const size_t first = static_cast<size_t>(p * width);
    const size_t present = static_cast<size_t>(std::min<int64_t>(width, columns - p * width));
    const bool narrow = !w.paired && present <= kLanes;
    dot.start = start;
    dot.weight = reinterpret_cast<const int8_t*>(bias + kPanel);
    dot.ahead = reinterpret_cast<const char*>(panel + bytes);  // each strip its share
    for (size_t s = 0, row = 0; s < strips; ++s, dot.ahead += share) {
      const size_t count = (rows - row) / (strips - s);  // as even as they get
      dot.a = args.a + row * lda;
      (narrow ? dots.narrow : dots.wide)[count - 1](dot);
      float* c = args.c + row * ldc + first;
      const float* res = args.residual == nullptr ? nullptr : args.residual + row * ldr + first;
      finish(ScaledSums{sums, scale, bias, dot.a + scale_at, lda}, count, present,
             {args.function, w.paired, res, ldr}, c, ldc);
      row += count;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(int8_packed_bytes);
HWY_EXPORT(pack_int8);
HWY_EXPORT(multiply_int8);
HWY_EXPORT(count_int8_panels);

size_t gemm_int8_packed_bytes(int64_t n, int64_t k, bool paired) {
  return HWY_DYNAMIC_DISPATCH(int8_packed_bytes)(n, k, paired);
}

Int8Matrix gemm_int8_pack(const int8_t* codes, const float* scales, const float* bias, int64_t n,
                          int64_t k, bool paired, std::byte* panels) {
  HWY_DYNAMIC_DISPATCH(pack_int8)(codes, scales, bias, n, k, paired, panels);
  return {panels, n, k, paired};
}

void gemm_int8(const Int8GemmArgs& args) { HWY_DYNAMIC_DISPATCH(multiply_int8)(args); }

int64_t gemm_int8_panels(const Int8Matrix& weight) {
  return HWY_DYNAMIC_DISPATCH(count_int8_panels)(weight.n, weight.paired);
}

}  // namespace vig
#endif  // HWY_ONCE
