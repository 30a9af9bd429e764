// The taps of an S4 layer: the response of a linear state space, in double.
//
// Channel h has a step size dt = exp(inv_dt[h]) and the system of row h mod S. All vectors are
// completed by their conjugates to N = 2 `pairs` states. With lambda = -exp(A_real) - i A_imag,
//   A = diag(lambda) - P P^H,  dA = (I - dt/2 A)^-1 (I + dt/2 A),  dB = dt (I - dt/2 A)^-1 B,
//   K[r, h, j] = sum over n of Co[r, h, n] (dA^j dB)[n]
// Co is C where l_kernel is 0. Where it is l > 0, a published layer holds (I - dA^l)^T Co instead,
// and there are l taps.
//
// Nothing of size N x N is made. The generating function F(x) = sum over j of K[j] x^j is
//   dt (s(B, C) - k s(P, C) s(B, conj P) / (1 + k s(P, conj P))),   k = (1 + x) dt / 2,
//   s(b, c) = sum over n of b_n c_n / ((1 - x) - (1 + x) dt lambda_n / 2)
// and is evaluated on a circle, from which the taps follow by a discrete Fourier transform. For
// l > 0 the l-th roots of unity give exactly the l taps. For l_kernel 0 the circle has 2 L nodes
// and a radius below 1, at which what comes after tap 2 L has decayed by 1e-10.
#pragma once

#include <cstdint>
#include <vector>

namespace vig {

// Most taps, and the largest l_kernel.
inline constexpr int64_t kMostS4Taps = 4096;
// l_kernel of a checkpoint as a number; throws where it is none of 0 to kMostS4Taps.
int64_t s4_kernel_length(float l_kernel);

// Nodes in the upper half of the circle, and what makes taps of F there:
// K[j] = sum over q of real[q, j] Re F(x_q) + imag[q, j] Im F(x_q).
struct S4Nodes {
  std::vector<double> x_real, x_imag;  // [nodes]
  std::vector<double> real, imag;      // [nodes, length]

  int64_t count() const { return static_cast<int64_t>(x_real.size()); }
};
S4Nodes s4_nodes(int64_t l_kernel, int64_t length);

struct S4TapsArgs {
  int64_t channels = 0;           // d
  int64_t rows = 0;               // of C
  int64_t pairs = 0;              // N / 2
  int64_t systems = 1;            // S
  const float* inv_dt = nullptr;  // [d]
  const float* a_real = nullptr;  // [S, pairs]
  const float* a_imag = nullptr;  // [S, pairs]
  const float* b = nullptr;       // [S, pairs, 2]: real and imaginary part
  const float* p = nullptr;       // the same
  const float* c = nullptr;       // [rows, d, pairs, 2]
  int64_t l_kernel = 0;
  int64_t length = 0;     // L
  float* taps = nullptr;  // [rows, L, d]
};

void s4_taps(const S4TapsArgs& args);

}  // namespace vig
