#include "onnx/onnx_operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace vig::test {
namespace {

// Planes of values [batch, channels, height, width]; sequences [.., T] are planes of one row.
struct Map {
  int64_t batch, channels, height, width;
  bool line;
  explicit Map(const Tensor& x)
      : batch(x.dims[0]),
        channels(x.dims[1]),
        height(x.dims.size() == 3 ? 1 : x.dims[2]),
        width(x.dims.back()),
        line(x.dims.size() == 3) {}
  const double* plane(const Tensor& x, int64_t b, int64_t c) const {
    return x.values.data() + (b * channels + c) * height * width;
  }
};

// Where windows lie along one axis.
struct Windows {
  int64_t kernel = 1, stride = 1, begin = 0, count = 1;
};

struct WindowPositions {
  Windows y, x;

  WindowPositions(const OnnxAttributes& of, const Map& map) {
    const size_t axes = map.line ? 1 : 2;
    const Dims kernels = of.integers("kernel_shape", {}),
               pads = of.integers("pads", Dims(2 * axes));
    const Dims strides = of.integers("strides", Dims(axes, 1));
    const bool same = of.text("auto_pad", "NOTSET") == "SAME_UPPER";
    const auto windows = [&](size_t axis, int64_t size) {
      Windows made{kernels[axis], strides[axis], pads[axis], 0};
      made.count = (size + pads[axis] + pads[axes + axis] - made.kernel) / made.stride + 1;
      if (same) {
        made.count = (size + made.stride - 1) / made.stride;
        const int64_t missing = (made.count - 1) * made.stride + made.kernel - size;
        made.begin = std::max<int64_t>(0, missing) / 2;
      }
      return made;
    };
    if (!map.line) y = windows(0, map.height);
    x = windows(axes - 1, map.width);
  }
  Dims dims(const Map& map, int64_t channels) const {
    return map.line ? Dims{map.batch, channels, x.count}
                    : Dims{map.batch, channels, y.count, x.count};
  }
};

// The value of a plane between its pixels; what lies outside is 0, or the nearest pixel.
double sample(const double* plane, const Map& map, double y, double x, bool clamp) {
  double sum = 0;
  const double top = std::floor(y), left = std::floor(x);
  for (int i = 0; i < 4; ++i) {
    double row = top + i / 2, column = left + i % 2;
    const double share =
        (i / 2 == 0 ? top + 1 - y : y - top) * (i % 2 == 0 ? left + 1 - x : x - left);
    if (clamp) {
      row = std::clamp(row, 0.0, static_cast<double>(map.height - 1));
      column = std::clamp(column, 0.0, static_cast<double>(map.width - 1));
    }
    if (row < 0 || column < 0 || row >= static_cast<double>(map.height) ||
        column >= static_cast<double>(map.width)) {
      continue;
    }
    sum += share * plane[static_cast<int64_t>(row) * map.width + static_cast<int64_t>(column)];
  }
  return sum;
}

}  // namespace

Tensor conv(const OnnxAttributes& of, const Tensor& x, const Tensor& weight, const Tensor* bias) {
  const Map map(x);
  const WindowPositions positions(of, map);
  const int64_t groups = of.number("group", 1), outputs = weight.dims[0], inputs = weight.dims[1];
  Tensor result(positions.dims(map, outputs));
  double* to = result.values.data();
  for (int64_t b = 0; b < map.batch; ++b) {
    for (int64_t n = 0; n < outputs; ++n) {
      for (int64_t y = 0; y < positions.y.count; ++y) {
        for (int64_t p = 0; p < positions.x.count; ++p) {
          double sum = bias == nullptr ? 0 : bias->values[static_cast<size_t>(n)];
          for (int64_t c = 0; c < inputs; ++c) {
            const double* plane = map.plane(x, b, n / (outputs / groups) * inputs + c);
            const double* filter =
                weight.values.data() + (n * inputs + c) * positions.y.kernel * positions.x.kernel;
            for (int64_t i = 0; i < positions.y.kernel; ++i) {
              const int64_t row = y * positions.y.stride - positions.y.begin + i;
              if (row < 0 || row >= map.height) continue;
              for (int64_t j = 0; j < positions.x.kernel; ++j) {
                const int64_t column = p * positions.x.stride - positions.x.begin + j;
                if (column < 0 || column >= map.width) continue;
                sum += plane[row * map.width + column] * filter[i * positions.x.kernel + j];
              }
            }
          }
          *to++ = sum;
        }
      }
    }
  }
  return result;
}

Tensor max_pool(const OnnxAttributes& of, const Tensor& x) {
  const Map map(x);
  const WindowPositions positions(of, map);
  Tensor result(positions.dims(map, map.channels));
  double* to = result.values.data();
  for (int64_t c = 0; c < map.batch * map.channels; ++c) {
    for (int64_t y = 0; y < positions.y.count; ++y) {
      for (int64_t p = 0; p < positions.x.count; ++p) {
        double most = -std::numeric_limits<double>::infinity();
        for (int64_t i = 0; i < positions.y.kernel * positions.x.kernel; ++i) {
          const int64_t row = y * positions.y.stride - positions.y.begin + i / positions.x.kernel;
          const int64_t column =
              p * positions.x.stride - positions.x.begin + i % positions.x.kernel;
          if (row < 0 || row >= map.height || column < 0 || column >= map.width) continue;
          most = std::max(most, map.plane(x, 0, c)[row * map.width + column]);
        }
        *to++ = most;
      }
    }
  }
  return result;
}

Tensor conv_transpose(const OnnxAttributes& of, const Tensor& x, const Tensor& weight,
                      const Tensor& bias) {
  const Map map(x);
  const Dims kernel = of.integers("kernel_shape", {}), stride = of.integers("strides", {1, 1});
  const int64_t outputs = weight.dims[1], height = (map.height - 1) * stride[0] + kernel[0],
                width = (map.width - 1) * stride[1] + kernel[1];
  Tensor result({map.batch, outputs, height, width});
  for (int64_t i = 0; i < map.batch * outputs; ++i) {
    const int64_t b = i / outputs, n = i % outputs;
    double* const to = result.values.data() + i * height * width;
    std::fill_n(to, height * width, bias.values[static_cast<size_t>(n)]);
    for (int64_t c = 0; c < map.channels; ++c) {
      const double* filter = weight.values.data() + (c * outputs + n) * kernel[0] * kernel[1];
      for (int64_t p = 0; p < map.height * map.width; ++p) {
        for (int64_t k = 0; k < kernel[0] * kernel[1]; ++k) {
          const int64_t row = p / map.width * stride[0] + k / kernel[1];
          const int64_t column = p % map.width * stride[1] + k % kernel[1];
          to[row * width + column] += map.plane(x, b, c)[p] * filter[k];
        }
      }
    }
  }
  return result;
}

Tensor resize(const OnnxAttributes& of, const Tensor& x, const Dims& sizes) {
  if (of.text("mode", "nearest") != "linear" ||
      of.text("coordinate_transformation_mode", "half_pixel") != "half_pixel") {
    throw std::runtime_error("Resize in another mode");
  }
  const Map map(x);
  Tensor result(sizes);
  const int64_t height = sizes[2], width = sizes[3];
  for (int64_t i = 0; i < static_cast<int64_t>(result.values.size()); ++i) {
    const auto position = [](int64_t at, int64_t from, int64_t to) {
      return (static_cast<double>(at) + 0.5) * static_cast<double>(from) / static_cast<double>(to) -
             0.5;
    };
    result.values[static_cast<size_t>(i)] = sample(map.plane(x, 0, i / (height * width)), map,
                                                   position(i / width % height, map.height, height),
                                                   position(i % width, map.width, width), true);
  }
  return result;
}

Tensor grid_sample(const OnnxAttributes& of, const Tensor& x, const Tensor& positions) {
  if (of.text("mode", "bilinear") != "bilinear" || of.text("padding_mode", "zeros") != "zeros") {
    throw std::runtime_error("GridSample in another mode");
  }
  const Map map(x);
  const bool corners = of.number("align_corners", 0) != 0;
  const int64_t rows = positions.dims[1], columns = positions.dims[2];
  Tensor result({map.batch, map.channels, rows, columns});
  for (int64_t i = 0; i < static_cast<int64_t>(result.values.size()); ++i) {
    const int64_t b = i / (map.channels * rows * columns), position = i % (rows * columns);
    const double* at = positions.values.data() + 2 * (b * rows * columns + position);
    const auto pixel = [&](double part, int64_t size) {
      const auto side = static_cast<double>(size);
      return corners ? (part + 1) / 2 * (side - 1) : ((part + 1) * side - 1) / 2;
    };
    result.values[static_cast<size_t>(i)] =
        sample(map.plane(x, 0, i / (rows * columns)), map, pixel(at[1], map.height),
               pixel(at[0], map.width), false);
  }
  return result;
}

Tensor layer_norm(const OnnxAttributes& of, const Tensor& x, const Tensor& scale,
                  const Tensor& bias) {
  if (of.number("axis", -1) != -1) throw std::runtime_error("LayerNormalization of another axis");
  const size_t channels = static_cast<size_t>(x.dims.back());
  Tensor result = x;
  for (size_t row = 0; row < x.values.size(); row += channels) {
    double* const to = result.values.data() + row;
    const double mean = std::accumulate(to, to + channels, 0.0) / static_cast<double>(channels);
    double squares = 0;
    for (size_t c = 0; c < channels; ++c) squares += (to[c] - mean) * (to[c] - mean);
    const double root =
        std::sqrt(squares / static_cast<double>(channels) + of.real("epsilon", 1e-5f));
    for (size_t c = 0; c < channels; ++c) {
      to[c] = (to[c] - mean) / root * scale.values[c] + bias.values[c];
    }
  }
  return result;
}

std::vector<Tensor> dynamic_quantize(const Tensor& x) {
  constexpr double kMost = 255;
  double least = 0, most = 0;
  for (const double value : x.values) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  Tensor codes(x.dims), scale, zero;
  const auto range = static_cast<float>((most - least) / kMost);
  scale.values = {range > 0 ? range : 1.0};
  zero.values = {std::clamp(std::nearbyint(-least / scale.values[0]), 0.0, kMost)};
  for (size_t i = 0; i < x.values.size(); ++i) {
    const double code = std::nearbyint(x.values[i] / scale.values[0]) + zero.values[0];
    codes.values[i] = std::clamp(code, 0.0, kMost);
  }
  return {codes, scale, zero};
}

Tensor softmax(const Tensor& x) {
  const auto width = static_cast<size_t>(x.dims.back());
  Tensor result = x;
  for (size_t row = 0; row < x.values.size(); row += width) {
    double* const to = result.values.data() + row;
    const double most = *std::max_element(to, to + width);
    double sum = 0;
    for (size_t i = 0; i < width; ++i) sum += to[i] = std::exp(to[i] - most);
    for (size_t i = 0; i < width; ++i) to[i] /= sum;
  }
  return result;
}

std::vector<Tensor> linear_attention(const OnnxAttributes& of, const std::vector<Tensor>& in) {
  if (of.text("update_rule", "linear") != "gated") throw std::runtime_error("another update rule");
  const int64_t heads = of.number("q_num_heads", 0), batch = in[0].dims[0], tokens = in[0].dims[1];
  if (of.number("kv_num_heads", 0) != heads) throw std::runtime_error("heads that differ");
  const int64_t keys = in[0].dims[2] / heads, values = in[2].dims[2] / heads;
  const double scale = of.real("scale", 0);
  Tensor result({batch, tokens, heads * values}), state({batch, heads, keys, values});
  for (int64_t i = 0; i < batch * heads; ++i) {
    double* const s = state.values.data() + i * keys * values;
    for (int64_t t = 0; t < tokens; ++t) {
      const int64_t row = (i / heads * tokens + t) * heads + i % heads;
      const double *q = in[0].values.data() + row * keys, *k = in[1].values.data() + row * keys;
      const double *v = in[2].values.data() + row * values, *g = in[4].values.data() + row * keys;
      for (int64_t a = 0; a < keys; ++a) {
        for (int64_t b = 0; b < values; ++b) {
          double& one = s[a * values + b];
          one = std::exp(g[a]) * one + k[a] * v[b];
          result.values[static_cast<size_t>(row * values + b)] += scale * q[a] * one;
        }
      }
    }
  }
  return {result, state};
}

}  // namespace vig::test
