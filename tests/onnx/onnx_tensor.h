// Tensors for evaluator.h: values of any type as double, row by row, and what only moves them.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <vector>

namespace vig::test {

using Dims = std::vector<int64_t>;

struct Tensor {
  Dims dims;
  std::vector<double> values;

  Tensor() = default;
  explicit Tensor(Dims sizes);  // of zeros
};

Tensor stored_tensor(const ::onnx::TensorProto& tensor);

// The part of `all` at this index of its first axis, and the opposite.
Tensor row_of(const Tensor& all, int64_t index);
void append_row(Tensor& all, const Tensor& row);

// A size of 0 is that of x, -1 what remains.
Tensor reshaped(Tensor x, Dims dims);
Tensor squeezed(Tensor x, const Dims& axes);
Tensor unsqueezed(Tensor x, const Dims& axes);
Tensor transposed(const Tensor& x, const Dims& order);
// Axes of one index, and missing ones in front, are repeated.
Tensor expanded(const Tensor& x, const Dims& dims);
Tensor sliced(const Tensor& x, const Dims& starts, const Dims& ends, const Dims& axes,
              const Dims& strides_of_slice);
Tensor gathered(const Tensor& x, int64_t axis, const Dims& indices);
Tensor concatenated(const std::vector<Tensor>& parts, int64_t axis);
std::vector<Tensor> split(const Tensor& x, int64_t axis, const Dims& sizes);
// Zeros: before each axis, then behind each.
Tensor padded(const Tensor& x, const Dims& pads);

Tensor combined(const Tensor& a, const Tensor& b, double (*function)(double, double));
// Of the last two axes; those before them are broadcast.
Tensor product(const Tensor& a, const Tensor& b);
enum class Reduction { kSum, kMean, kMax };
Tensor reduced(const Tensor& x, const Dims& axes, bool keep, Reduction reduction);

}  // namespace vig::test
