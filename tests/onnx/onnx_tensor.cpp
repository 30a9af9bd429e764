#include "onnx/onnx_tensor.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace vig::test {
namespace {

int64_t elements(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0; step *= dims[i]) strides[i] = step;
  return strides;
}

size_t axis_of(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

// Calls visit(position) for every index of `dims`, in order, the position being first + index .
// strides.
template <typename Visit>
void for_each(const Dims& dims, int64_t first, const Dims& strides, const Visit& visit) {
  if (elements(dims) == 0) return;
  Dims index(dims.size());
  int64_t position = first;
  for (;;) {
    visit(position);
    size_t axis = dims.size();
    for (;;) {
      if (axis-- == 0) return;
      position += strides[axis];
      if (++index[axis] < dims[axis]) break;
      position -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
}

Tensor strided(const Tensor& x, const Dims& dims, int64_t first, const Dims& strides) {
  Tensor result(dims);
  double* to = result.values.data();
  for_each(dims, first, strides,
           [&](int64_t position) { *to++ = x.values[static_cast<size_t>(position)]; });
  return result;
}

Dims broadcast(const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (const Dims* one : {&a, &b}) {
    const size_t missing = dims.size() - one->size();
    for (size_t i = 0; i < one->size(); ++i) {
      int64_t& size = dims[missing + i];
      if ((*one)[i] != 1 && size != 1 && size != (*one)[i])
        throw std::runtime_error("sizes differ");
      if ((*one)[i] != 1) size = (*one)[i];
    }
  }
  return dims;
}

}  // namespace

Tensor::Tensor(Dims sizes)
    : dims(std::move(sizes)), values(static_cast<size_t>(elements(dims)), 0.0) {}

Tensor stored_tensor(const ::onnx::TensorProto& tensor) {
  Tensor result(Dims(tensor.dims().begin(), tensor.dims().end()));
  const auto copy = [&]<typename Number>(Number) {
    std::vector<Number> stored(result.values.size());
    if (tensor.raw_data().size() != stored.size() * sizeof(Number)) {
      throw std::runtime_error(tensor.name() + " has another size than its data");
    }
    std::memcpy(stored.data(), tensor.raw_data().data(), tensor.raw_data().size());
    std::transform(stored.begin(), stored.end(), result.values.begin(),
                   [](Number number) { return static_cast<double>(number); });
  };
  switch (tensor.data_type()) {
    case ::onnx::TensorProto::INT64:
      copy(int64_t{});
      break;
    case ::onnx::TensorProto::INT8:
      copy(int8_t{});
      break;
    default:
      copy(float{});
  }
  return result;
}

Tensor row_of(const Tensor& all, int64_t index) {
  Tensor row(Dims(all.dims.begin() + 1, all.dims.end()));
  const auto width = static_cast<int64_t>(row.values.size());
  std::copy_n(all.values.begin() + index * width, width, row.values.begin());
  return row;
}

void append_row(Tensor& all, const Tensor& row) {
  if (all.dims.empty()) {
    all.dims = row.dims;
    all.dims.insert(all.dims.begin(), 0);
  }
  ++all.dims[0];
  all.values.insert(all.values.end(), row.values.begin(), row.values.end());
}

Tensor reshaped(Tensor x, Dims dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) dims[i] = x.dims.at(i);
  }
  const auto rest = std::find(dims.begin(), dims.end(), -1);
  if (rest != dims.end()) *rest = static_cast<int64_t>(x.values.size()) / -elements(dims);
  if (elements(dims) != elements(x.dims)) throw std::runtime_error("Reshape to another size");
  x.dims = dims;
  return x;
}

Tensor squeezed(Tensor x, const Dims& axes) {
  const size_t rank = x.dims.size();
  for (const int64_t axis : axes) {
    int64_t& size = x.dims[axis_of(axis, rank)];
    if (size != 1) throw std::runtime_error("Squeeze of an axis of several");
    size = 0;
  }
  std::erase(x.dims, 0);
  return x;
}

Tensor unsqueezed(Tensor x, const Dims& axes) {
  const size_t rank = x.dims.size() + axes.size();
  std::vector<size_t> positions;
  for (const int64_t axis : axes) positions.push_back(axis_of(axis, rank));
  std::sort(positions.begin(), positions.end());
  for (const size_t position : positions) {
    x.dims.insert(x.dims.begin() + static_cast<std::ptrdiff_t>(position), 1);
  }
  return x;
}

Tensor transposed(const Tensor& x, const Dims& order) {
  const Dims from = strides_of(x.dims);
  Dims dims, strides;
  for (const int64_t axis : order) {
    dims.push_back(x.dims.at(static_cast<size_t>(axis)));
    strides.push_back(from[static_cast<size_t>(axis)]);
  }
  return strided(x, dims, 0, strides);
}

Tensor expanded(const Tensor& x, const Dims& wanted) {
  const Dims dims = broadcast(x.dims, wanted), from = strides_of(x.dims);
  if (dims == x.dims) return x;
  Dims strides(dims.size(), 0);
  const size_t missing = dims.size() - x.dims.size();
  for (size_t i = 0; i < x.dims.size(); ++i) strides[missing + i] = x.dims[i] == 1 ? 0 : from[i];
  return strided(x, dims, 0, strides);
}

Tensor sliced(const Tensor& x, const Dims& starts, const Dims& ends, const Dims& axes,
              const Dims& strides_of_slice) {
  Dims dims = x.dims, strides = strides_of(x.dims);
  int64_t first = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = axis_of(axes[i], dims.size());
    const int64_t size = x.dims[axis], step = strides_of_slice[i];
    const auto clamped = [&](int64_t at) {
      return std::clamp<int64_t>(at < 0 && at >= -size ? at + size : at, step < 0 ? -1 : 0,
                                 step < 0 ? size - 1 : size);
    };
    const int64_t start = clamped(starts[i]), end = clamped(ends[i]);
    const int64_t span = step < 0 ? start - end : end - start, pace = step < 0 ? -step : step;
    dims[axis] = std::max<int64_t>(0, (span + pace - 1) / pace);
    first += start * strides[axis];
    strides[axis] *= step;
  }
  return strided(x, dims, first, strides);
}

Tensor gathered(const Tensor& x, int64_t axis, const Dims& indices) {
  std::vector<Tensor> parts;
  const size_t along = axis_of(axis, x.dims.size());
  Dims dims = x.dims;
  dims[along] = static_cast<int64_t>(indices.size());
  const int64_t inner = strides_of(x.dims)[along],
                outer = elements(x.dims) / (inner * x.dims[along]);
  Tensor result(dims);
  auto to = result.values.begin();
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t index : indices) {
      if (index < 0 || index >= x.dims[along]) throw std::runtime_error("Gather outside of x");
      to = std::copy_n(x.values.begin() + (o * x.dims[along] + index) * inner, inner, to);
    }
  }
  return result;
}

Tensor concatenated(const std::vector<Tensor>& parts, int64_t axis) {
  const size_t along = axis_of(axis, parts[0].dims.size());
  Dims dims = parts[0].dims;
  dims[along] = 0;
  for (const Tensor& part : parts) dims[along] += part.dims[along];
  Tensor result(dims);
  auto to = result.values.begin();
  const int64_t inner = strides_of(dims)[along], outer = elements(dims) / (inner * dims[along]);
  for (int64_t o = 0; o < outer; ++o) {
    for (const Tensor& part : parts) {
      const int64_t width = part.dims[along] * inner;
      to = std::copy_n(part.values.begin() + o * width, width, to);
    }
  }
  return result;
}

std::vector<Tensor> split(const Tensor& x, int64_t axis, const Dims& sizes) {
  std::vector<Tensor> parts;
  int64_t first = 0;
  for (const int64_t size : sizes) {
    parts.push_back(sliced(x, {first}, {first + size}, {axis}, {1}));
    first += size;
  }
  if (first != x.dims[axis_of(axis, x.dims.size())]) throw std::runtime_error("Split of a part");
  return parts;
}

Tensor padded(const Tensor& x, const Dims& pads) {
  const size_t rank = x.dims.size();
  Dims dims = x.dims;
  for (size_t i = 0; i < rank; ++i) dims[i] += pads.at(i) + pads.at(rank + i);
  Tensor result(dims);
  const Dims strides = strides_of(dims);
  int64_t first = 0;
  for (size_t i = 0; i < rank; ++i) first += pads[i] * strides[i];
  auto from = x.values.begin();
  for_each(x.dims, first, strides,
           [&](int64_t position) { result.values[static_cast<size_t>(position)] = *from++; });
  return result;
}

Tensor combined(const Tensor& a, const Tensor& b, double (*function)(double, double)) {
  const Dims dims = broadcast(a.dims, b.dims);
  Tensor result = expanded(a, dims);
  const Tensor other = expanded(b, dims);
  std::transform(result.values.begin(), result.values.end(), other.values.begin(),
                 result.values.begin(), function);
  return result;
}

Tensor product(const Tensor& a, const Tensor& b) {
  const auto outer = [](const Tensor& x) { return Dims(x.dims.begin(), x.dims.end() - 2); };
  const Dims dims = broadcast(outer(a), outer(b));
  const int64_t rows = a.dims[a.dims.size() - 2], inner = a.dims.back(), columns = b.dims.back();
  if (b.dims[b.dims.size() - 2] != inner) throw std::runtime_error("MatMul of other sizes");
  const auto whole = [&dims](const Tensor& x) {
    Dims all = dims;
    all.insert(all.end(), x.dims.end() - 2, x.dims.end());
    return expanded(x, all);
  };
  const Tensor left = whole(a), right = whole(b);
  Dims all = dims;
  all.insert(all.end(), {rows, columns});
  Tensor result(all);
  for (int64_t row = 0; row < elements(dims) * rows; ++row) {
    double* const to = result.values.data() + row * columns;
    for (int64_t k = 0; k < inner; ++k) {
      const double factor = left.values[static_cast<size_t>(row * inner + k)];
      const double* from = right.values.data() + (row / rows * inner + k) * columns;
      for (int64_t j = 0; j < columns; ++j) to[j] += factor * from[j];
    }
  }
  return result;
}

Tensor reduced(const Tensor& x, const Dims& axes, bool keep, Reduction reduction) {
  Dims dims = x.dims, strides(x.dims.size(), 0);
  for (const int64_t axis : axes) dims[axis_of(axis, dims.size())] = 1;
  const Dims own = strides_of(dims);
  for (size_t i = 0; i < dims.size(); ++i) strides[i] = dims[i] == 1 ? 0 : own[i];
  Tensor result(dims);
  if (reduction == Reduction::kMax) {
    std::fill(result.values.begin(), result.values.end(), -std::numeric_limits<double>::infinity());
  }
  auto from = x.values.begin();
  for_each(x.dims, 0, strides, [&](int64_t position) {
    double& to = result.values[static_cast<size_t>(position)];
    to = reduction == Reduction::kMax ? std::max(to, *from) : to + *from;
    ++from;
  });
  if (reduction == Reduction::kMean) {
    const auto count = static_cast<double>(x.values.size() / result.values.size());
    for (double& value : result.values) value /= count;
  }
  return keep ? result : squeezed(std::move(result), axes);
}

}  // namespace vig::test
