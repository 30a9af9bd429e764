#include "vig/kernels/reference/pointwise_backward.h"

#include <cmath>
#include <vector>

#include "vig/kernels/reference/activations.h"
#include "vig/kernels/reference/norm.h"
#include "vig/kernels/reference/norm_backward.h"

namespace vig::reference {
namespace {

struct Slopes {
  double a, b;
};

Slopes slopes(Pointwise kind, double a, double b) {
  switch (kind.combine) {
    case Combine::kNone:
      return {slope(kind.function, a), 0.0};
    case Combine::kAdd:
      return {slope(kind.function, a), 1.0};
    case Combine::kMul:
      return {slope(kind.function, a) * b, apply(kind.function, a)};
  }
  return {0.0, 0.0};
}

// One operand of the gated mix in one head of a row: its norm, and the gradient of that.
class Operand {
 public:
  Operand(const float* x, const float* weight, int64_t width, double eps)
      : x_(x), weight_(weight), eps_(eps) {
    root_ = weight == nullptr ? 1.0 : rms_root(x, width, eps);
  }
  double value(int64_t c) const { return x_[c] / root_ * (weight_ == nullptr ? 1.0 : weight_[c]); }
  // From the gradient of value: dx overwritten, dweight added to.
  void backward(const std::vector<double>& gradient, float* dx,
                std::vector<double>& dweight) const {
    std::vector<double> result = gradient;
    if (weight_ != nullptr) {
      for (size_t c = 0; c < gradient.size(); ++c) {
        dweight[c] += gradient[c] * x_[c] / root_;
        result[c] *= weight_[c];
      }
      result = rms_gradient(x_, result, eps_);
    }
    for (size_t c = 0; c < result.size(); ++c) dx[c] = static_cast<float>(result[c]);
  }

 private:
  const float* x_;
  const float* weight_;
  double eps_;
  double root_;
};

}  // namespace

void pointwise_backward(const PointwiseBackwardArgs& args) {
  for (int64_t r = 0; r < args.rows; ++r) {
    for (int64_t c = 0; c < args.channels; ++c) {
      const double a = args.a.data[r * args.a.stride + c];
      const double b = args.b.data == nullptr ? 0.0 : args.b.data[r * args.b.stride + c];
      const double dy = args.dy.data[r * args.dy.stride + c];
      const Slopes slope = slopes(args.kind, a, b);
      args.da[r * args.da_stride + c] = static_cast<float>(dy * slope.a);
      if (args.db != nullptr) args.db[r * args.db_stride + c] = static_cast<float>(dy * slope.b);
    }
  }
}

void scale_backward(const ScaleBackwardArgs& args) {
  for (int64_t c = 0; c < args.channels; ++c) {
    double dweight = 0.0;
    for (int64_t r = 0; r < args.rows; ++r) {
      const double dy = args.dy.data[r * args.dy.stride + c];
      dweight += dy * args.x.data[r * args.x.stride + c];
      args.dx[r * args.dx_stride + c] = static_cast<float>(dy * args.weight[c]);
    }
    args.dweight[c] = static_cast<float>(args.dweight[c] + dweight);
  }
}

void add_column_sums(const float* rows, int64_t stride, int64_t count, int64_t channels,
                     float* sums) {
  for (int64_t c = 0; c < channels; ++c) {
    double sum = sums[c];
    for (int64_t r = 0; r < count; ++r) sum += rows[r * stride + c];
    sums[c] = static_cast<float>(sum);
  }
}

void gated_mix_backward(const GatedMixBackwardArgs& args) {
  const int64_t width = args.channels / args.heads;
  const size_t n = static_cast<size_t>(width);
  std::vector<double> do_weight(n), dlocal_weight(n);
  for (int64_t r = 0; r < args.rows; ++r) {
    for (int64_t at = 0; at < args.channels; at += width) {
      const Operand o(args.o.data + r * args.o.stride + at, args.o_weight, width, args.eps);
      const Operand local(args.local.data + r * args.local.stride + at, args.local_weight, width,
                          args.eps);
      std::vector<double> d_a(n), d_b(n);
      for (int64_t c = 0; c < width; ++c) {
        const double gate = args.gate.data[r * args.gate.stride + at + c];
        const double g = sigmoid(gate), rest = sigmoid(-gate);
        const double a = o.value(c), b = local.value(c);
        double dy = args.dy.data[r * args.dy.stride + at + c];
        if (args.silu) dy *= slope(Elementwise::kSilu, g * a + rest * b);
        d_a[static_cast<size_t>(c)] = dy * g;
        d_b[static_cast<size_t>(c)] = dy * rest;
        args.dgate[r * args.dgate_stride + at + c] = static_cast<float>(dy * (a - b) * g * rest);
      }
      o.backward(d_a, args.d_o + r * args.d_o_stride + at, do_weight);
      local.backward(d_b, args.dlocal + r * args.dlocal_stride + at, dlocal_weight);
    }
  }
  for (size_t c = 0; c < n; ++c) {
    if (args.o_weight != nullptr) {
      args.do_weight[c] = static_cast<float>(args.do_weight[c] + do_weight[c]);
    }
    if (args.local_weight != nullptr) {
      args.dlocal_weight[c] = static_cast<float>(args.dlocal_weight[c] + dlocal_weight[c]);
    }
  }
}

}  // namespace vig::reference
