#include "vig/kernels/reference/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vig::reference {
namespace {

using Doubles = std::vector<double>;

bool padded(const AttentionArgs& args, int64_t t) {
  return args.rows != nullptr && args.rows[t] < 0;
}

int64_t row_of(const AttentionArgs& args, int64_t t) {
  return args.rows == nullptr ? t : args.rows[t];
}

const float* token(const AttentionArgs& args, const float* map, const float* pad, int64_t t) {
  return padded(args, t) ? pad : map + row_of(args, t) * args.qkv_stride;
}

double dot(const float* a, const float* b, int64_t n) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// Softmax of the logits of query i, and the log of the sum of their exponentials.
struct Row {
  Row(const AttentionArgs& args, int64_t i) : p(static_cast<size_t>(args.tokens)) {
    const float* q = token(args, args.q, nullptr, i);
    for (int64_t j = 0; j < args.tokens; ++j) {
      double& s = p[static_cast<size_t>(j)];
      s = args.scale * dot(q, token(args, args.k, args.pad_k, j), args.head_dim);
      if (args.bias != nullptr) s += args.bias[i * args.bias_stride + j];
      if (args.labels != nullptr && args.labels[i] != args.labels[j]) {
        s += static_cast<double>(kLabelPenalty);
      }
    }
    const double most = *std::max_element(p.begin(), p.end());
    double sum = 0.0;
    for (double& s : p) sum += s = std::exp(s - most);
    for (double& s : p) s /= sum;
    lse = most + std::log(sum);
  }
  Doubles p;
  double lse;
};

void store(const Doubles& from, int64_t t, int64_t width, float* to) {
  for (int64_t c = 0; c < width; ++c) {
    to[c] = static_cast<float>(from[static_cast<size_t>(t * width + c)]);
  }
}

}  // namespace

void attention(const AttentionArgs& args) {
  const int64_t last = args.last_query < 0 ? args.tokens : args.last_query;
  for (int64_t i = args.first_query; i < last; ++i) {
    if (padded(args, i)) continue;
    const Row row(args, i);
    Doubles o(static_cast<size_t>(args.head_dim), 0.0);
    for (int64_t j = 0; j < args.tokens; ++j) {
      const float* v = token(args, args.v, args.pad_v, j);
      for (size_t c = 0; c < o.size(); ++c) o[c] += row.p[static_cast<size_t>(j)] * v[c];
    }
    store(o, 0, args.head_dim, args.o + row_of(args, i) * args.o_stride);
    if (args.lse != nullptr) args.lse[i] = static_cast<float>(row.lse);
  }
}

void attention_backward(const AttentionBackwardArgs& args) {
  const AttentionArgs& forward = args.forward;
  const int64_t tokens = forward.tokens, width = forward.head_dim;
  const size_t size = static_cast<size_t>(tokens * width);
  Doubles dq(size, 0.0), dk(size, 0.0), dv(size, 0.0);
  for (int64_t i = 0; i < tokens; ++i) {
    if (padded(forward, i)) continue;
    const Row row(forward, i);
    const float* q = token(forward, forward.q, nullptr, i);
    const float* grad_o = args.grad_o + row_of(forward, i) * args.grad_o_stride;
    Doubles dp(static_cast<size_t>(tokens));
    double delta = 0.0;  // do_i . o_i = sum_j P_ij dP_ij
    for (int64_t j = 0; j < tokens; ++j) {
      const size_t at = static_cast<size_t>(j);
      dp[at] = dot(grad_o, token(forward, forward.v, forward.pad_v, j), width);
      delta += row.p[at] * dp[at];
    }
    for (int64_t j = 0; j < tokens; ++j) {
      const double p = row.p[static_cast<size_t>(j)];
      const double ds = p * (dp[static_cast<size_t>(j)] - delta);
      const float* k = token(forward, forward.k, forward.pad_k, j);
      for (int64_t c = 0; c < width; ++c) {
        dq[static_cast<size_t>(i * width + c)] += forward.scale * ds * k[c];
        dk[static_cast<size_t>(j * width + c)] += forward.scale * ds * q[c];
        dv[static_cast<size_t>(j * width + c)] += p * grad_o[c];
      }
      if (args.dbias != nullptr) args.dbias[i * args.dbias_stride + j] += static_cast<float>(ds);
    }
  }
  Doubles pad_k(static_cast<size_t>(width), 0.0), pad_v(pad_k);
  for (int64_t t = 0; t < tokens; ++t) {
    if (padded(forward, t)) {
      for (int64_t c = 0; c < width; ++c) {
        pad_k[static_cast<size_t>(c)] += dk[static_cast<size_t>(t * width + c)];
        pad_v[static_cast<size_t>(c)] += dv[static_cast<size_t>(t * width + c)];
      }
      continue;
    }
    const int64_t row = row_of(forward, t) * args.dqkv_stride;
    store(dq, t, width, args.dq + row);
    store(dk, t, width, args.dk + row);
    store(dv, t, width, args.dv + row);
  }
  if (args.dpad_k != nullptr) store(pad_k, 0, width, args.dpad_k);
  if (args.dpad_v != nullptr) store(pad_v, 0, width, args.dpad_v);
}

}  // namespace vig::reference
