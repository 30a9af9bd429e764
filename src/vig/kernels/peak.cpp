#include "vig/kernels/peak.h"

#include <chrono>
#include <cstddef>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/peak.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/base/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Ten chains cover the latency (4 or 5 cycles) of two units. Returns the multiply-adds done; the
// sum goes to `sink` so that none of them can be left out.
size_t fma_chains(size_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, 0.999f), shift = hn::Set(d, 0.001f);
  auto a = hn::Iota(d, 1.0f);
  auto b = hn::Add(a, shift), c = hn::Add(b, shift), e = hn::Add(c, shift), f = hn::Add(e, shift);
  auto g = hn::Add(f, shift), h = hn::Add(g, shift), i = hn::Add(h, shift), j = hn::Add(i, shift);
  auto k = hn::Add(j, shift);
  for (size_t n = 0; n < rounds; ++n) {
    a = hn::MulAdd(a, scale, shift);
    b = hn::MulAdd(b, scale, shift);
    c = hn::MulAdd(c, scale, shift);
    e = hn::MulAdd(e, scale, shift);
    f = hn::MulAdd(f, scale, shift);
    g = hn::MulAdd(g, scale, shift);
    h = hn::MulAdd(h, scale, shift);
    i = hn::MulAdd(i, scale, shift);
    j = hn::MulAdd(j, scale, shift);
    k = hn::MulAdd(k, scale, shift);
  }
  auto sum = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, i)));
  sum = hn::Add(sum, hn::Add(j, k));
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(sum, d, lanes);
  for (size_t n = 0; n < hn::Lanes(d); ++n) *sink += lanes[n];
  return rounds * 10 * hn::Lanes(d);
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(fma_chains);

double measure_fma_peak(int threads, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kRounds = 20000;
  const auto chains = HWY_DYNAMIC_DISPATCH(fma_chains);
  ThreadPool pool(threads);
  std::vector<double> rates(static_cast<size_t>(threads), 0.0);
  pool.run([&](int worker) {
    float sink = 0.0f;
    pool.barrier();
    const auto start = Clock::now();
    size_t done = 0;
    double elapsed = 0.0;
    do {
      done += chains(kRounds, &sink);
      elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    } while (elapsed < seconds);
    volatile float keep = sink;
    (void)keep;
    rates[static_cast<size_t>(worker)] = 2.0 * static_cast<double>(done) / elapsed * 1e-9;
  });
  double sum = 0.0;
  for (double rate : rates) sum += rate;
  return sum;
}

}  // namespace vig
#endif  // HWY_ONCE
