// Attention's memory: linear in the tokens, except where the logits are to be stored.
#include <gtest/gtest.h>

#include "runtime/networks.h"

namespace vig::test {
namespace {

double bytes_at(const std::string& form, int size, int threads) {
  ModelSpec spec = find_model("test_deit");
  override_fields(spec, {{"attention", form}, {"patch_size", "4"}, {"depth", "1"}});
  const Graph graph = build_graph(spec, size, size);
  const auto packed = PackedModel::make(graph, random_weights(graph.params, 1));
  return static_cast<double>(Session(packed, graph, {.threads = threads}).bytes());
}

TEST(AttentionMemory, GrowsWithTheTokensAndNotWithTheirPairs) {
  for (const int threads : {1, 2}) {
    // 4096 and 16384 tokens.
    EXPECT_LT(bytes_at("tiled", 512, threads), 4.2 * bytes_at("tiled", 256, threads)) << threads;
    EXPECT_GT(bytes_at("materialised", 512, threads), 8 * bytes_at("materialised", 256, threads))
        << threads;
  }
}

// Logits and softmax of all heads: at least twice as many floats as pairs of tokens.
TEST(AttentionMemory, EagerAttentionStoresAllHeads) {
  const double heads = 3, pairs = 4097.0 * 4097.0;
  for (const int threads : {1, 2}) {
    EXPECT_GT(bytes_at("eager", 256, threads), 2 * 4 * heads * pairs) << threads;
    EXPECT_LT(bytes_at("eager", 256, threads),
              2 * 4 * heads * pairs + 2 * bytes_at("tiled", 256, threads))
        << threads;
  }
}

}  // namespace
}  // namespace vig::test
