// Loops over LibTorch's threads. Which thread does what never changes a result: every output is
// computed by one chain of operations, and sums over rows go through a number of partial sums that
// depends on the problem alone.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace vig::train {

// work(i) for each of `count` pieces of work; a thread that is done takes the next one, because
// threads that share their processor with others are not equally fast.
template <class Work>
void parallel_each(int64_t count, const Work& work) {
  const int64_t threads = std::min<int64_t>(at::get_num_threads(), count);
  if (threads <= 1 || at::in_parallel_region()) {
    for (int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::atomic<int64_t> next{0};
  at::parallel_for(0, threads, 1, [&](int64_t first, int64_t last) {
    for (int64_t thread = first; thread < last; ++thread) {
      for (int64_t i = next++; i < count; i = next++) work(i);
    }
  });
}

// work(first, last) on parts of [0, count), cut at multiples of `grain`.
template <class Work>
void parallel_parts(int64_t count, int64_t grain, const Work& work) {
  constexpr int64_t kPartsPerThread = 4;
  const int64_t most = kPartsPerThread * at::get_num_threads();
  const int64_t grains = (count + grain - 1) / grain;
  const int64_t part = (grains + most - 1) / most * grain;
  parallel_each((count + part - 1) / std::max<int64_t>(1, part),
                [&](int64_t i) { work(i * part, std::min(count, (i + 1) * part)); });
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
