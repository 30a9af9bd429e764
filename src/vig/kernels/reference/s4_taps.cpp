#include "vig/kernels/reference/s4_taps.h"

#include <cmath>
#include <complex>
#include <utility>

namespace vig::reference {
namespace {

using Number = std::complex<double>;
using Vector = std::vector<Number>;
using Matrix = std::vector<Vector>;

Matrix identity(size_t n) {
  Matrix made(n, Vector(n));
  for (size_t i = 0; i < n; ++i) made[i][i] = 1.0;
  return made;
}

Vector product(const Matrix& m, const Vector& v) {
  Vector made(m.size());
  for (size_t i = 0; i < m.size(); ++i) {
    for (size_t j = 0; j < v.size(); ++j) made[i] += m[i][j] * v[j];
  }
  return made;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix made(a.size(), Vector(b[0].size()));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < b.size(); ++k) {
      for (size_t j = 0; j < b[0].size(); ++j) made[i][j] += a[i][k] * b[k][j];
    }
  }
  return made;
}

// x of m x = columns, by elimination with pivots.
Matrix solve(Matrix m, Matrix columns) {
  const size_t n = m.size();
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t k = i; k < n; ++k) {
      if (std::abs(m[k][i]) > std::abs(m[pivot][i])) pivot = k;
    }
    std::swap(m[i], m[pivot]);
    std::swap(columns[i], columns[pivot]);
    for (size_t k = 0; k < n; ++k) {
      if (k == i) continue;
      const Number factor = m[k][i] / m[i][i];
      for (size_t j = i; j < n; ++j) m[k][j] -= factor * m[i][j];
      for (size_t j = 0; j < columns[k].size(); ++j) columns[k][j] -= factor * columns[i][j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (Number& value : columns[i]) value /= m[i][i];
  }
  return columns;
}

// From real and imaginary parts, completed by the conjugates.
Vector completed(const float* parts, int64_t pairs) {
  Vector made;
  for (int64_t n = 0; n < pairs; ++n) made.emplace_back(parts[2 * n], parts[2 * n + 1]);
  for (int64_t n = 0; n < pairs; ++n) made.push_back(std::conj(made[static_cast<size_t>(n)]));
  return made;
}

Matrix as_column(const Vector& v) {
  Matrix made;
  for (const Number& value : v) made.push_back({value});
  return made;
}

}  // namespace

void s4_taps(const S4TapsArgs& args) {
  const auto n = static_cast<size_t>(2 * args.pairs);
  for (int64_t h = 0; h < args.channels; ++h) {
    const int64_t system = h % args.systems * args.pairs;
    const double dt = std::exp(double{args.inv_dt[h]});
    const Vector b = completed(args.b + 2 * system, args.pairs);
    const Vector p = completed(args.p + 2 * system, args.pairs);
    Matrix minus = identity(n), plus = identity(n);  // I - dt/2 A and I + dt/2 A
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        Number a = -p[i] * std::conj(p[j]);
        if (i == j) {
          const int64_t at = system + static_cast<int64_t>(i) % args.pairs;
          const double turn = static_cast<int64_t>(i) < args.pairs ? -1.0 : 1.0;
          a += Number(-std::exp(double{args.a_real[at]}), turn * args.a_imag[at]);
        }
        minus[i][j] -= 0.5 * dt * a;
        plus[i][j] += 0.5 * dt * a;
      }
    }
    const Matrix da = solve(minus, plus);
    Vector scaled = b;
    for (Number& value : scaled) value *= dt;
    const Matrix db = solve(minus, as_column(scaled));
    Matrix rest = identity(n);  // I - dA^l, transposed
    if (args.l_kernel > 0) {
      Matrix power = identity(n);
      for (int64_t l = 0; l < args.l_kernel; ++l) power = product(power, da);
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) rest[i][j] -= power[j][i];
      }
    }
    for (int64_t r = 0; r < args.rows; ++r) {
      const Vector c = completed(args.c + 2 * (r * args.channels + h) * args.pairs, args.pairs);
      const Matrix co = solve(rest, as_column(c));
      Vector state(n);
      for (size_t i = 0; i < n; ++i) state[i] = db[i][0];
      for (int64_t j = 0; j < args.length; ++j) {
        Number sum = 0.0;
        for (size_t i = 0; i < n; ++i) sum += co[i][0] * state[i];
        const bool there = args.l_kernel == 0 || j < args.l_kernel;
        args.taps[(r * args.length + j) * args.channels + h] =
            there ? static_cast<float>(sum.real()) : 0.0f;
        state = product(da, state);
      }
    }
  }
}

}  // namespace vig::reference
