// The scan by itself, for checking it against tensors from elsewhere. Networks run it through a
// Session, which calls the same kernel.
#pragma once

#include <cstdint>
#include <vector>

namespace vig {

// B sequences of T tokens, H heads, K key and V value width; rows are [B, T, H, width].
struct ScanInput {
  int64_t batch = 0;
  int64_t tokens = 0;
  int64_t heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  // Logits z of the gates alpha = exp(logsigmoid(z) / 16).
  const float* gate_forward = nullptr;
  const float* gate_backward = nullptr;
};

// (forward + backward) / 2 * K^-1/2, [B, T, H, V].
std::vector<float> bidirectional_scan(const ScanInput& input);

}  // namespace vig
