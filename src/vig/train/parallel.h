// Loops over LibTorch's threads. Which thread does what never changes a result: every output is
// computed by one chain of operations, and sums over rows go through a number of partial sums that
// depends on the problem alone.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

namespace vig::train {

// work(first, last) on parts of [0, count), cut at multiples of `grain`.
template <class Work>
void parallel_parts(int64_t count, int64_t grain, const Work& work) {
  const int64_t parts = (count + grain - 1) / grain;
  at::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    work(first * grain, std::min(count, last * grain));
  });
}

// work(i) for each of a few large pieces of work.
template <class Work>
void parallel_each(int64_t count, const Work& work) {
  at::parallel_for(0, count, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) work(i);
  });
}

// Rows below which a sum over rows is one partial sum.
constexpr int64_t kSumRows = 256;

// Sums over `rows` rows: add(first, last, partial) adds its rows to `partial`, which begins as
// zeros of `like`'s shape; the partial sums are then added in order.
template <class Add>
at::Tensor sum_over_rows(int64_t rows, at::IntArrayRef shape, const at::TensorOptions& options,
                         const Add& add) {
  const int64_t parts = std::max<int64_t>(1, (rows + kSumRows - 1) / kSumRows);
  std::vector<int64_t> sizes{parts};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  at::Tensor partial = at::zeros(sizes, options);
  float* data = partial.data_ptr<float>();
  const int64_t stride = partial.numel() / parts;
  parallel_each(parts, [&](int64_t part) {
    add(part * kSumRows, std::min(rows, (part + 1) * kSumRows), data + part * stride);
  });
  at::Tensor sum = partial[0];
  for (int64_t part = 1; part < parts; ++part) sum.add_(partial[part]);
  return sum;
}

}  // namespace vig::train
