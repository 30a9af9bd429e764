// Channels that training drops.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "vig/graph/builder.h"
#include "vig/torch/forward.h"

namespace vig::test {
namespace {

constexpr double kRate = 0.3;
constexpr int64_t kImages = 20, kChannels = 40;

Graph two_drops() {
  Builder b;
  const Value x = b.input("map", {3, 2, kChannels});
  b.output("first", b.drop_channels(x, static_cast<float>(kRate)));
  b.output("second", b.drop_channels(x, static_cast<float>(kRate)));
  return std::move(b).finish();
}

train::ForwardOptions dropping(uint64_t seed) {
  train::ForwardOptions options;
  options.drop_branches = true;
  options.seed = seed;
  return options;
}

std::vector<at::Tensor> run(const at::Tensor& maps, const train::ForwardOptions& options) {
  const Graph graph = two_drops();
  const std::vector<at::Tensor> values = train::forward(graph, {}, {maps}, options);
  return {values[static_cast<size_t>(graph.find_output("first"))],
          values[static_cast<size_t>(graph.find_output("second"))]};
}

at::Tensor maps_of_ones(int64_t count) { return at::ones({count, 3, 2, kChannels}, at::kFloat); }

TEST(DropChannels, ZeroesWholeChannelsOfAImage) {
  for (const bool kernels : {true, false}) {
    train::ForwardOptions options = dropping(7);
    options.kernels = kernels;
    for (const at::Tensor& y : run(maps_of_ones(kImages), options)) {
      const at::Tensor channels = y.flatten(1, 2).select(1, 0);  // of one position
      EXPECT_TRUE(at::equal(y, channels.view({kImages, 1, 1, kChannels}).expand_as(y)));
      const double dropped = channels.eq(0).sum().item<double>(), all = kImages * kChannels;
      // Three deviations of the count; the others are enlarged.
      EXPECT_NEAR(dropped, all * kRate, 3 * std::sqrt(all * kRate * (1 - kRate)));
      EXPECT_NEAR(channels.max().item<double>(), 1 / (1 - kRate), 1e-6);
      EXPECT_NEAR(channels.sum().item<double>(), (all - dropped) / (1 - kRate), 1e-2);
    }
  }
}

// Draws belong to the seed, the image and the operation: not to the batch it comes in.
TEST(DropChannels, DrawsBelongToTheImage) {
  const std::vector<at::Tensor> all = run(maps_of_ones(kImages), dropping(7));
  train::ForwardOptions options = dropping(7);
  options.first_image = 1;
  options.deal = {1, 2};  // the odd ones
  const std::vector<at::Tensor> some = run(maps_of_ones(4), options);
  for (size_t i = 0; i < 2; ++i) {
    for (int64_t n = 0; n < 4; ++n) EXPECT_TRUE(at::equal(some[i][n], all[i][3 + 2 * n])) << n;
  }
  EXPECT_FALSE(at::equal(all[0], all[1]));
  EXPECT_FALSE(at::equal(all[0][0], all[0][1]));
  EXPECT_FALSE(at::equal(all[0], run(maps_of_ones(kImages), dropping(8))[0]));
}

TEST(DropChannels, NothingIsDroppedOtherwise) {
  const at::Tensor maps = maps_of_ones(2);
  for (const at::Tensor& y : run(maps, {})) EXPECT_TRUE(at::equal(y, maps));
}

// A dropped channel gives no gradient back, the others an enlarged one.
TEST(DropChannels, GradientsAreDroppedAlike) {
  const at::Tensor maps = maps_of_ones(3).requires_grad_();
  const at::Tensor y = run(maps, dropping(7))[0];
  y.sum().backward();
  EXPECT_TRUE(at::equal(maps.grad(), y.detach()));
}

}  // namespace
}  // namespace vig::test
