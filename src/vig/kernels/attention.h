// Softmax attention of one head: o = softmax(scale q k^T + bias + mask) v.
//
// T tokens, D head width. Keys come in blocks of at most attention_key_block(); a running maximum m
// and sum l of each query row carry the softmax from block to block (s the logits of a block):
//   m' = max(m, max s),  p = e^(s - m'),  l' = e^(m - m') l + sum p,  o' = e^(m - m') o + p v
// and o / l is the result, so that no T x T matrix is stored. Key blocks depend on T alone, and a
// query row is computed alike whichever rows come with it: the bits depend neither on how rows are
// split into calls nor on threads. See docs/attention.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vig {

// One head of one image or window. Where `rows` is null, token t is row t of q, k, v and o.
struct AttentionArgs {
  int64_t tokens = 0;    // T >= 1
  int64_t head_dim = 0;  // D >= 1, the same for q, k and v
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  int64_t qkv_stride = 0;  // between the rows of q, of k and of v
  float scale = 1.0f;
  // The tokens of a window in a map: token t is row rows[t] of q, k, v and o. A negative one is a
  // padded token: its k and v are `pad_k` and `pad_v` [D], and as a query it is left out.
  const int32_t* rows = nullptr;
  const float* pad_k = nullptr;
  const float* pad_v = nullptr;
  const float* bias = nullptr;  // [T, T], query rows `bias_stride` apart; may be null
  int64_t bias_stride = 0;
  // [T]: kLabelPenalty is added to the logit of two tokens with different labels; may be null.
  const int32_t* labels = nullptr;
  float* o = nullptr;  // overwritten; may not overlap the inputs
  int64_t o_stride = 0;
  float* lse = nullptr;  // [T]: log of the sum of e^logit, for the gradient; may be null.
  // Queries to compute, for work split over them; attention_query_block() at a time waste least.
  int64_t first_query = 0;
  int64_t last_query = -1;   // -1: to the end
  float* packed = nullptr;   // of attention_packed_floats, filled by attention_pack
  float* scratch = nullptr;  // of attention_scratch_floats; both aligned to 64 bytes
};

constexpr float kLabelPenalty = -100.0f;

// Keys and values of a head, rearranged: linear in T. Calls that compute queries of the same head
// may share it.
size_t attention_packed_floats(int64_t tokens, int64_t head_dim);
// What one call needs beside it: independent of T beyond a few hundred tokens.
size_t attention_scratch_floats(int64_t tokens, int64_t head_dim);

// Reads k, v, rows and labels; writes `packed`.
void attention_pack(const AttentionArgs& args);
// Reads q and `packed`; the keys, values and labels have been packed. Allocates nothing.
void attention(const AttentionArgs& args);

int64_t attention_query_block(int64_t tokens);
int64_t attention_key_block(int64_t tokens);

// The same result up to rounding by the textbook's three passes over the matrix of logits
// [queries, T], which is stored whole: what attention costs without tiling.
void attention_materialised(const AttentionArgs& args);
size_t attention_materialised_scratch_floats(int64_t queries, int64_t tokens, int64_t head_dim);

// The middle pass by itself: out = softmax(scale logits) of each of `rows` rows of `count` logits.
void softmax_rows(const float* logits, int64_t rows, int64_t count, float scale, float* out);

}  // namespace vig
