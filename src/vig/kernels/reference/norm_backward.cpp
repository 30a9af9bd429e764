#include "vig/kernels/reference/norm_backward.h"

#include <cmath>

#include "vig/kernels/reference/norm.h"

namespace vig::reference {
namespace {

double residual_at(const NormBackwardArgs& args, int64_t row, int64_t column) {
  return args.residual == nullptr ? 0.0 : args.residual[row * args.residual_stride + column];
}

void add(const std::vector<double>& sums, float* to) {
  for (size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<float>(to[i] + sums[i]);
}

}  // namespace

void layer_norm_backward(const NormBackwardArgs& args) {
  const size_t n = static_cast<size_t>(args.channels);
  const double count = static_cast<double>(args.channels);
  std::vector<double> dweight(n), dbias(n);
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* x = args.in + r * args.in_stride;
    const float* dy = args.dy + r * args.dy_stride;
    double mean = 0.0, variance = 0.0;
    for (size_t i = 0; i < n; ++i) mean += x[i] / count;
    for (size_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean) / count;
    const double root = std::sqrt(variance + args.eps);
    std::vector<double> dx(n);
    for (size_t j = 0; j < n; ++j) {
      dweight[j] += dy[j] * (x[j] - mean) / root;
      dbias[j] += dy[j];
      for (size_t i = 0; i < n; ++i) {
        const double slope =
            ((i == j ? 1.0 : 0.0) - 1.0 / count) / root -
            (x[j] - mean) * (x[i] - mean) / (count * root * root * root);  // d xh[j] / d x[i]
        dx[i] += static_cast<double>(dy[j]) * args.weight[j] * slope;
      }
    }
    for (size_t i = 0; i < n; ++i) {
      const int64_t c = static_cast<int64_t>(i);
      args.dx[r * args.dx_stride + c] = static_cast<float>(dx[i] + residual_at(args, r, c));
    }
  }
  add(dweight, args.dweight);
  add(dbias, args.dbias);
}

void rms_norm_backward(const NormBackwardArgs& args) {
  const int64_t width = args.channels / args.groups;
  std::vector<double> dweight(static_cast<size_t>(width));
  for (int64_t r = 0; r < args.rows; ++r) {
    for (int64_t at = 0; at < args.channels; at += width) {
      const float* x = args.in + r * args.in_stride + at;
      const float* dy = args.dy + r * args.dy_stride + at;
      const double root = rms_root(x, width, args.eps);
      std::vector<double> g;
      for (int64_t c = 0; c < width; ++c) {
        dweight[static_cast<size_t>(c)] += dy[c] * x[c] / root;
        g.push_back(static_cast<double>(dy[c]) * args.weight[c]);
      }
      const std::vector<double> dx = rms_gradient(x, g, args.eps);
      for (int64_t c = 0; c < width; ++c) {
        args.dx[r * args.dx_stride + at + c] =
            static_cast<float>(dx[static_cast<size_t>(c)] + residual_at(args, r, at + c));
      }
    }
  }
  add(dweight, args.dweight);
}

std::vector<double> rms_gradient(const float* x, const std::vector<double>& g, double eps) {
  const size_t n = g.size();
  const double root = rms_root(x, static_cast<int64_t>(n), eps);
  std::vector<double> dx(n);
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = 0; i < n; ++i) {
      const double slope =
          (i == j ? 1.0 / root : 0.0) -
          static_cast<double>(x[j]) * x[i] / (static_cast<double>(n) * root * root * root);
      dx[i] += g[j] * slope;
    }
  }
  return dx;
}

}  // namespace vig::reference
