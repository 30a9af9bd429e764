#include "vig/kernels/dot_strips.h"

#include <array>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_neon.h>
#include <sys/auxv.h>
#endif

namespace vig {
namespace {

bool allowed_here = true;

template <class Strip, int... kRows>
constexpr auto table(std::integer_sequence<int, kRows...>) {
  return std::array<DotStrip, sizeof...(kRows)>{Strip::template run<kRows + 1>...};
}

int32_t four_codes(const uint8_t* from) {
  int32_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

}  // namespace

void allow_dot_strips(bool allowed) { allowed_here = allowed; }

#if defined(__x86_64__)
namespace {

// The strip of a set of instructions. A macro, because every function must name its instructions.
#define VIG_DOT_STRIP(NAME, TARGET, BITS, VECTOR, LOAD, SET, DOT, STORE)                          \
  template <int kVectors>                                                                         \
  struct NAME {                                                                                   \
    template <int kRows>                                                                          \
    __attribute__((target(TARGET), noinline)) static void run(const DotArgs& args) {              \
      constexpr size_t kLanes = BITS / 32;                                                        \
      VECTOR acc[kRows][kVectors];                                                                \
      _Pragma("GCC unroll 2") for (int v = 0; v < kVectors; ++v) {                                \
        const VECTOR start = LOAD(reinterpret_cast<const VECTOR*>(args.start + v * kLanes));      \
        _Pragma("GCC unroll 16") for (int r = 0; r < kRows; ++r) acc[r][v] = start;               \
      }                                                                                           \
      const int8_t* w = args.weight;                                                              \
      const uint8_t* a = args.a;                                                                  \
      const char* ahead = args.ahead;                                                             \
      const size_t lda = args.lda, step = args.ahead_step;                                        \
      _Pragma("GCC unroll 4") for (size_t i = 0; i < args.groups; ++i, a += 4) {                  \
        __builtin_prefetch(ahead, 0, 2);                                                          \
        ahead += step;                                                                            \
        VECTOR weight[kVectors];                                                                  \
        _Pragma("GCC unroll 2") for (int v = 0; v < kVectors; ++v) {                              \
          weight[v] = LOAD(reinterpret_cast<const VECTOR*>(w + v * (BITS / 8)));                  \
        }                                                                                         \
        w += 2 * (BITS / 8);                                                                      \
        _Pragma("GCC unroll 16") for (int r = 0; r < kRows; ++r) {                                \
          const VECTOR x = SET(four_codes(a + static_cast<size_t>(r) * lda));                     \
          _Pragma("GCC unroll 2") for (int v = 0; v < kVectors; ++v) {                            \
            acc[r][v] = DOT(acc[r][v], x, weight[v]);                                             \
          }                                                                                       \
        }                                                                                         \
      }                                                                                           \
      _Pragma("GCC unroll 16") for (int r = 0; r < kRows; ++r) {                                  \
        _Pragma("GCC unroll 2") for (int v = 0; v < kVectors; ++v) {                              \
          STORE(reinterpret_cast<VECTOR*>(args.sums + (static_cast<size_t>(r) * 2 + v) * kLanes), \
                acc[r][v]);                                                                       \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
  };

VIG_DOT_STRIP(Vnni512, "avx512f,avx512vnni", 512, __m512i, _mm512_load_si512, _mm512_set1_epi32,
              _mm512_dpbusd_epi32, _mm512_store_si512)
VIG_DOT_STRIP(Vnni256, "avx2,avxvnni", 256, __m256i, _mm256_load_si256, _mm256_set1_epi32,
              _mm256_dpbusd_avx_epi32, _mm256_store_si256)
#undef VIG_DOT_STRIP

template <template <int> class Strip, int kRows>
DotStrips strips() {
  static constexpr auto kNarrow = table<Strip<1>>(std::make_integer_sequence<int, kRows>());
  static constexpr auto kWide = table<Strip<2>>(std::make_integer_sequence<int, kRows>());
  return {kNarrow.data(), kWide.data()};
}

// Clang 14 does not know the name of the feature.
bool has_avx_vnni() {
  constexpr unsigned kLeaf = 7, kPart = 1, kBit = 1U << 4;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("avx2") && __get_cpuid_count(kLeaf, kPart, &a, &b, &c, &d) != 0 &&
         (a & kBit) != 0;
}

}  // namespace

DotStrips vnni512_strips() {
  static const bool present = __builtin_cpu_supports("avx512vnni");
  return present && allowed_here ? strips<Vnni512, 14>() : DotStrips{};
}
DotStrips vnni256_strips() {
  static const bool present = has_avx_vnni();
  return present && allowed_here ? strips<Vnni256, 6>() : DotStrips{};
}
DotStrips sdot_strips() { return {}; }

#elif defined(__aarch64__) && defined(__linux__)
namespace {

constexpr unsigned long kDotProducts = 1UL << 20;  // HWCAP_ASIMDDP

template <int kVectors>
struct Sdot {
  template <int kRows>
  __attribute__((target("arch=armv8.2-a+dotprod"), noinline)) static void run(const DotArgs& args) {
    // Signed by signed: codes without their offset, and sums that start from zero.
    const int8x16_t offset = vdupq_n_s8(static_cast<int8_t>(-128));
    int32x4_t acc[kRows][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) acc[r][v] = vdupq_n_s32(0);
    }
    const int8_t* w = args.weight;
    const uint8_t* a = args.a;
    const char* ahead = args.ahead;
    for (size_t i = 0; i < args.groups; ++i, a += 4, w += 32) {
      __builtin_prefetch(ahead, 0, 2);
      ahead += args.ahead_step;
      int8x16_t weight[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) weight[v] = vld1q_s8(w + 16 * v);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const int8x16_t codes =
            vreinterpretq_s8_s32(vdupq_n_s32(four_codes(a + static_cast<size_t>(r) * args.lda)));
        const int8x16_t x = veorq_s8(codes, offset);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) acc[r][v] = vdotq_s32(acc[r][v], x, weight[v]);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) vst1q_s32(args.sums + (r * 2 + v) * 4, acc[r][v]);
    }
  }
};

}  // namespace

DotStrips vnni512_strips() { return {}; }
DotStrips vnni256_strips() { return {}; }
DotStrips sdot_strips() {
  static constexpr auto kNarrow = table<Sdot<1>>(std::make_integer_sequence<int, 14>());
  static constexpr auto kWide = table<Sdot<2>>(std::make_integer_sequence<int, 14>());
  static const bool present = (getauxval(AT_HWCAP) & kDotProducts) != 0;
  return present && allowed_here ? DotStrips{kNarrow.data(), kWide.data()} : DotStrips{};
}

#else

DotStrips vnni512_strips() { return {}; }
DotStrips vnni256_strips() { return {}; }
DotStrips sdot_strips() { return {}; }

#endif

}  // namespace vig
