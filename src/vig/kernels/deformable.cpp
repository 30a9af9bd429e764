#include "vig/kernels/deformable.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/deformable.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/deformable-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// Adds the samples of a block to kCount vectors of channels; load acts on those that exist.
template <size_t kCount, class Load>
HWY_INLINE void add_samples(const SampleBlock<false>& block, const float* weights, size_t count,
                            const float* values, int64_t stride, const Load& load, RowVec* sums) {
  const RowTag d;
  for (size_t s = 0; s < count; ++s) {
    const float* pixel[4];
    RowVec coefficient[4];
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; ++k) {
      pixel[k] = values + block.row[k][s] * stride;
      coefficient[k] = hn::Set(d, block.coefficient[k][s]);
    }
    const RowVec weight = hn::Set(d, weights[s]);
#pragma GCC unroll 4
    for (size_t u = 0; u < kCount; ++u) {
      // A sample by itself first, so that samples do not wait for each other.
      RowVec sample = hn::Mul(coefficient[0], load(pixel[0] + u * kRowLanes));
      sample = hn::MulAdd(coefficient[1], load(pixel[1] + u * kRowLanes), sample);
      sample = hn::MulAdd(coefficient[2], load(pixel[2] + u * kRowLanes), sample);
      sample = hn::MulAdd(coefficient[3], load(pixel[3] + u * kRowLanes), sample);
      sums[u] = hn::MulAdd(weight, sample, sums[u]);
    }
  }
}

// The first block stores its sum, others add to it; the last one divides by the sum of weights.
struct Finish {
  bool first, last;
  float factor;
};

template <size_t kCount, class Load, class Store>
HWY_INLINE void run_channels(const SampleBlock<false>& block, const float* weights, size_t count,
                             const float* values, int64_t stride, const Finish& finish, float* out,
                             const Load& load, const Store& store) {
  const RowTag d;
  RowVec sums[kCount];
#pragma GCC unroll 4
  for (size_t u = 0; u < kCount; ++u) {
    sums[u] = finish.first ? hn::Zero(d) : load(out + u * kRowLanes);
  }
  add_samples<kCount>(block, weights, count, values, stride, load, sums);
#pragma GCC unroll 4
  for (size_t u = 0; u < kCount; ++u) {
    if (finish.last) sums[u] = hn::Mul(sums[u], hn::Set(d, finish.factor));
    store(sums[u], out + u * kRowLanes);
  }
}

// The channels of a head, four vectors at a time, then one, then what is left.
HWY_INLINE void run_head(const SampleBlock<false>& block, const float* weights, size_t count,
                         const float* values, int64_t stride, const Finish& finish, size_t channels,
                         float* out) {
  const auto load = [](const float* p) HWY_ATTR { return hn::LoadU(RowTag(), p); };
  const auto store = [](RowVec v, float* p) HWY_ATTR { hn::StoreU(v, RowTag(), p); };
  size_t c = 0;
  for (; c + 4 * kRowLanes <= channels; c += 4 * kRowLanes) {
    run_channels<4>(block, weights, count, values + c, stride, finish, out + c, load, store);
  }
  for (; c + 2 * kRowLanes <= channels; c += 2 * kRowLanes) {
    run_channels<2>(block, weights, count, values + c, stride, finish, out + c, load, store);
  }
  for (; c + kRowLanes <= channels; c += kRowLanes) {
    run_channels<1>(block, weights, count, values + c, stride, finish, out + c, load, store);
  }
  if (c < channels) {
    const size_t rest = channels - c;
    run_channels<1>(
        block, weights, count, values + c, stride, finish, out + c,
        [rest](const float* p) HWY_ATTR { return load_part(p, rest); },
        [rest](RowVec v, float* p) HWY_ATTR { store_part(v, p, rest); });
  }
}

}  // namespace

void run_deformable(const DeformableArgs& args) {
  const size_t samples = static_cast<size_t>(args.level_count * args.points);
  QueryPosition position(args);
  SampleBlock<false> block;
  HWY_ALIGN float weights[kSampleBlock];
  for (int64_t query = args.first_query; query < args.last_query; ++query) {
    for (int64_t head = 0; head < args.heads; ++head) {
      const size_t at = static_cast<size_t>(head) * samples;
      const float* const logits = args.logits + query * args.logits_stride + at;
      const float* const offsets = args.offsets + query * args.offsets_stride + 2 * at;
      const float* const values = args.values + head * args.head_dim;
      float* const out = args.out + query * args.out_stride + head * args.head_dim;
      const float largest = largest_of(logits, samples);
      float sum = 0.0f;
      for (size_t first = 0; first < samples; first += kSampleBlock) {
        const size_t count = std::min(kSampleBlock, samples - first);
        position.set(query, first, count);
        block.locate(position, offsets + 2 * first, count);
        sum += exponentials(logits + first, count, largest, weights);
        const Finish finish{first == 0, first + count == samples, 1.0f / sum};
        run_head(block, weights, count, values, args.values_stride, finish,
                 static_cast<size_t>(args.head_dim), out);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(run_deformable);

void deformable(const DeformableArgs& args) { HWY_DYNAMIC_DISPATCH(run_deformable)(args); }

}  // namespace vig
#endif  // HWY_ONCE
