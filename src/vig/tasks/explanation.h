// Why a network predicts as it does: two exact views, neither an approximation.
//
// Evidence: where a classifier is linear in the mean of the last tokens, the logit of a class is
// the mean over the tokens of what each contributes, w f_t + b. Attention: what the mixing of one
// layer and head takes from every token for a chosen one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vig/image/preprocess.h"
#include "vig/tasks/results.h"

namespace vig {

// values[t] = weight . features[t] + bias, of features [height, width, channels]: their mean is the
// logit of the class with this row of the classifier. `channels` is the size of `weight`.
TokenMap evidence_map(const float* features, int height, int width, std::span<const float> weight,
                      float bias);
TokenMap difference(const TokenMap& a, const TokenMap& b);  // of one grid

// Tokens of one head of gated linear attention. Rows of q, k and v begin `stride` floats apart;
// those of the gate logits `gate_stride`. A direction without gates is not there.
struct GlaTokens {
  int64_t tokens = 0, key_dim = 0, value_dim = 0;
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  int64_t stride = 0;
  const float* forward_gates = nullptr;
  const float* backward_gates = nullptr;
  int64_t gate_stride = 0;
};
// The factors of every v_j in the result of token `query`, so that o = sum over j of weights[j]
// v_j, in time and memory linear in the tokens:
//   forward, j <= i:   q_i diag(alpha_{j+1} ... alpha_i) k_j / sqrt(K)
//   backward, j >= i:  q_i diag(alpha_i ... alpha_{j-1}) k_j / sqrt(K), and half of both together.
std::vector<float> gla_weights(const GlaTokens& tokens, int64_t query);

// The same of softmax attention: weights[j] = softmax over j of q_i k_j / sqrt(D).
struct SoftmaxTokens {
  int64_t tokens = 0, head_dim = 0;
  const float* q = nullptr;
  const float* k = nullptr;
  int64_t stride = 0;
};
std::vector<float> softmax_weights(const SoftmaxTokens& tokens, int64_t query);

// weights[j] * |v_j|: how much each token gives, where tokens give vectors of different length.
void scale_by_norms(std::span<float> weights, const float* v, int64_t dim, int64_t stride);

// The part of an image that the network saw: [x, x + width) by [y, y + height) in pixels.
struct SeenPart {
  double x = 0, y = 0, width = 0, height = 0;
};
SeenPart seen_part(const Placement& placement);
// A map over the image in grey, of the image's size. Red is for, blue is against; the strongest of
// the map covers the image by `opacity`. What the network did not see is dark.
Image draw_map(const Image& image, const SeenPart& seen, const TokenMap& map, double opacity);
// The same with a colour bar below it, which runs from 0 to the strongest value, or from minus to
// plus that value where the map has values below 0. Small images are enlarged as in
// tasks/overlay.h.
Image draw_explanation(const Image& image, const SeenPart& seen, const TokenMap& map,
                       double opacity);

// Drawings of one height side by side, with a gap between them.
Image side_by_side(std::span<const Image> drawings);

}  // namespace vig
