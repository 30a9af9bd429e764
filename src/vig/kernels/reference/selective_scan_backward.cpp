#include "vig/kernels/reference/selective_scan_backward.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "vig/kernels/reference/selective_scan.h"

namespace vig::reference {
namespace {

double at(const float* row, int64_t i) { return row == nullptr ? 0.0 : row[i]; }

void add(double value, float* row, int64_t i) {
  if (row != nullptr) row[i] = static_cast<float>(row[i] + value);
}

}  // namespace

void selective_scan_backward(const SelectiveScanBackwardArgs& args) {
  const SelectiveScanArgs& scan = args.scan;
  const int64_t tokens = scan.tokens, channels = scan.channels, states = scan.states;
  const auto zeros = [](int64_t count) {
    return std::vector<double>(static_cast<size_t>(count), 0.0);
  };
  std::vector<double> db = zeros(tokens * states), dc = zeros(tokens * states);
  const auto b_at = [&](int64_t n, int64_t i) {
    const float* added = scan.b_added.data == nullptr ? nullptr : scan.b_added.row(n);
    return at(scan.b.row(n), i) + at(added, i);
  };
  for (int64_t e = 0; e < channels; ++e) {
    std::vector<double> du = zeros(tokens), ddt = zeros(tokens), dt = zeros(tokens);
    for (int64_t n = 0; n < tokens; ++n) {
      dt[static_cast<size_t>(n)] = softplus(at(scan.raw.row(n), e) + at(scan.bias, e));
    }
    double dbias = 0.0, dd = 0.0;
    for (int64_t i = 0; i < states; ++i) {
      const double a = scan.rates[i * scan.rates_stride + e] * std::numbers::ln2;
      std::vector<double> h = zeros(tokens + 1);  // h[n + 1] is the state after token n
      for (int64_t n = 0; n < tokens; ++n) {
        const size_t s = static_cast<size_t>(n);
        h[s + 1] = std::exp(dt[s] * a) * h[s] + dt[s] * at(scan.u.row(n), e) * b_at(n, i);
      }
      double gradient = 0.0, dlog = 0.0;
      for (int64_t n = tokens - 1; n >= 0; --n) {
        const size_t s = static_cast<size_t>(n), si = static_cast<size_t>(n * states + i);
        const double dy = at(args.dy.row(n), e), u = at(scan.u.row(n), e);
        const double g = dy * at(scan.c.row(n), i) + gradient;
        dc[si] += dy * h[s + 1];
        db[si] += dt[s] * u * g;
        gradient = std::exp(dt[s] * a) * g;
        const double q = gradient * h[s], dfed = b_at(n, i) * g;
        ddt[s] += u * dfed + a * q;
        du[s] += dt[s] * dfed;
        dlog += dt[s] * a * q;
      }
      add(dlog, args.da_log + i * args.da_log_stride, e);
    }
    for (int64_t n = 0; n < tokens; ++n) {
      const size_t s = static_cast<size_t>(n);
      const double dy = at(args.dy.row(n), e);
      add(du[s] + at(scan.d, e) * dy, args.du.row(n), e);
      const double draw = ddt[s] * sigmoid(at(scan.raw.row(n), e) + at(scan.bias, e));
      add(draw, args.draw.row(n), e);
      dbias += draw;
      dd += dy * at(scan.u.row(n), e);
    }
    if (args.dbias != nullptr) add(dbias, args.dbias, e);
    if (args.dd != nullptr) add(dd, args.dd, e);
  }
  for (int64_t n = 0; n < tokens; ++n) {
    for (int64_t i = 0; i < states; ++i) {
      const size_t si = static_cast<size_t>(n * states + i);
      add(db[si], args.db.row(n), i);
      add(dc[si], args.dc.row(n), i);
      if (args.db_added.data != nullptr) add(db[si], args.db_added.row(n), i);
    }
  }
}

}  // namespace vig::reference
