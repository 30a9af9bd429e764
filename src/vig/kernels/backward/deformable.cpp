#include "vig/kernels/backward/deformable.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/deformable.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/deformable-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// One sample: adds to the gradients of its four pixels, and gives the products of each pixel with
// the gradient of the result.
HWY_INLINE void run_sample(const DeformableBackwardArgs& args, const SampleBlock<true>& block,
                           size_t s, float weight, const float* values, const float* grad,
                           float* dvalues, float* products) {
  const RowTag d;
  const float* pixel[4];
  float* dpixel[4];
  RowVec share[4], dot[4];
#pragma GCC unroll 4
  for (size_t k = 0; k < 4; ++k) {
    pixel[k] = values + block.row[k][s] * args.forward.values_stride;
    dpixel[k] = dvalues + block.row[k][s] * args.dvalues_stride;
    share[k] = hn::Set(d, weight * block.coefficient[k][s]);
    dot[k] = hn::Zero(d);
  }
  for_each_vector(static_cast<size_t>(args.forward.head_dim),
                  [&](size_t c, const auto& load, const auto& store) HWY_ATTR {
                    const RowVec g = load(grad + c);
    // In turn: clamped pixels may be the same one.
#pragma GCC unroll 4
                    for (size_t k = 0; k < 4; ++k) {
                      dot[k] = hn::MulAdd(g, load(pixel[k] + c), dot[k]);
                      store(hn::MulAdd(share[k], g, load(dpixel[k] + c)), dpixel[k] + c);
                    }
                  });
  sum_each<4>(dot, products);
}

HWY_INLINE void run_query(const DeformableBackwardArgs& args, QueryPosition& position,
                          SampleBlock<true>& block, int64_t query, int64_t head) {
  const DeformableArgs& forward = args.forward;
  const size_t samples = static_cast<size_t>(forward.level_count * forward.points);
  const size_t at = static_cast<size_t>(head) * samples;
  const float* const logits = forward.logits + query * forward.logits_stride + at;
  const float* const offsets = forward.offsets + query * forward.offsets_stride + 2 * at;
  const float* const values = forward.values + head * forward.head_dim;
  const float* const grad = args.grad_out + query * args.grad_out_stride + head * forward.head_dim;
  float* const dvalues = args.dvalues + head * forward.head_dim;
  float* const doffsets = args.doffsets + query * args.doffsets_stride + 2 * at;
  float* const dlogits = args.dlogits + query * args.dlogits_stride + at;

  HWY_ALIGN float weights[kSampleBlock];
  HWY_ALIGN float products[4 * kRowLanes];
  const float largest = largest_of(logits, samples);
  float sum = 0.0f;
  const auto for_each_block = [&](const auto& f) HWY_ATTR {
    for (size_t first = 0; first < samples; first += kSampleBlock) {
      const size_t count = std::min(kSampleBlock, samples - first);
      const float part = exponentials(logits + first, count, largest, weights);
      f(first, count, part);
    }
  };
  for_each_block([&](size_t, size_t, float part) HWY_ATTR { sum += part; });
  const float factor = 1.0f / sum;
  float mean = 0.0f;  // of the gradients of the weights, which wait in dlogits
  for_each_block([&](size_t first, size_t count, float) HWY_ATTR {
    position.set(query, first, count);
    block.locate(position, offsets + 2 * first, count);
    for (size_t s = 0; s < count; ++s) {
      const float weight = weights[s] * factor;
      run_sample(args, block, s, weight, values, grad, dvalues, products);
      float dweight = 0.0f, dx = 0.0f, dy = 0.0f;
      for (size_t k = 0; k < 4; ++k) {
        dweight += block.coefficient[k][s] * products[k];
        dx += block.slope_x[k][s] * products[k];
        dy += block.slope_y[k][s] * products[k];
      }
      doffsets[2 * (first + s)] = weight * dx;
      doffsets[2 * (first + s) + 1] = weight * dy;
      dlogits[first + s] = dweight;
      mean += weight * dweight;
    }
  });
  for_each_block([&](size_t first, size_t count, float) HWY_ATTR {
    for (size_t s = 0; s < count; ++s) {
      dlogits[first + s] = weights[s] * factor * (dlogits[first + s] - mean);
    }
  });
}

}  // namespace

void run_deformable_back(const DeformableBackwardArgs& args) {
  QueryPosition position(args.forward);
  SampleBlock<true> block;
  const int64_t last_head = args.last_head < 0 ? args.forward.heads : args.last_head;
  for (int64_t query = args.forward.first_query; query < args.forward.last_query; ++query) {
    for (int64_t head = args.first_head; head < last_head; ++head) {
      run_query(args, position, block, query, head);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(run_deformable_back);

void deformable_backward(const DeformableBackwardArgs& args) {
  HWY_DYNAMIC_DISPATCH(run_deformable_back)(args);
}

}  // namespace vig
#endif  // HWY_ONCE
