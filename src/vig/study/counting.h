// Methods of papers to count the multiply-adds of a network, beside the true count.
#pragma once

#include "vig/graph/graph.h"

namespace vig::study {

struct Counts {
  MacCount all;  // every multiply-add, once
  // Without the second matrix of the FFN of plain ViG models: the released code computes it inside
  // a function that a FLOP counter does not see. The other networks lose nothing.
  int64_t without_down_proj = 0;
  // With 9 N + 1 instead of 4 N + 2 for a token and channel of a selective scan, and 29 instead of
  // 11 for bi-WKV, as the baselines' own papers have it.
  int64_t baselines_way = 0;
};

Counts count_ways(const Graph& graph);

// The backbone of a network of dense prediction, up to its four maps.
struct BackboneCounts {
  // As the counter of the paper's detection and segmentation tables has it: biases of convolutions,
  // 2 for each element of a LayerNorm and 1 of a ReLU and of a max pool's input besides; without
  // the scans, the deformable sampling, attention's products, the second matrix of a plain ViG's
  // FFN and the patch embedding's norms.
  int64_t as_the_paper = 0;
  // As the same tables have it for the baselines with an adapter: with attention's products, 27 for
  // each element of bi-WKV and 660 for each of the tokens, which stands for the sampling. The two
  // numbers were found by fitting the printed figures.
  int64_t as_the_paper_baselines = 0;
  // As as_the_paper with scans, sampling, attention and second matrices.
  int64_t with_what_it_misses = 0;
  int64_t multiply_adds = 0;  // every one, and nothing else
};
BackboneCounts count_backbone(const Graph& graph);

}  // namespace vig::study
