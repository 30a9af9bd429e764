// Parameters that learn, and shards of them.
#include "vig/torch/parameters.h"

#include <gtest/gtest.h>

namespace vig::test {
namespace {

using train::Parameters;

Parameters three_parameters() {
  const std::vector<ParamSpec> specs = {
      {"a", {2, 3}, ones_init()}, {"b", {17}, ones_init()}, {"c", {1}, ones_init()}};
  return Parameters(specs, *random_weights(specs, 1), at::kCPU);
}

TEST(Parameters, OfAShardAreTheSameValuesWithGradientsOfTheirOwn) {
  Parameters first = three_parameters();
  first.freeze(1);
  const Parameters shard = first.shard();
  (shard[0].sum() + 2 * shard[1].sum() + 3 * shard[2].sum()).backward();
  EXPECT_EQ(first.gradients().abs().sum().item<double>(), 0) << "they are the shard's";
  EXPECT_TRUE(shard[0].grad().eq(1).all().item<bool>());
  EXPECT_TRUE(shard[2].grad().eq(3).all().item<bool>());
  // What is frozen is frozen in every shard, or its gradient would count in the norm that clips.
  EXPECT_FALSE(shard[1].requires_grad());
  EXPECT_TRUE(shard[1].grad().eq(0).all().item<bool>());
  first.values().fill_(7);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(shard[i].eq(7).all().item<bool>()) << i;
}

TEST(Parameters, GradientsOfAllLieInOneTensor) {
  Parameters parameters = three_parameters();
  (parameters[1].sum() * 5).backward();
  EXPECT_EQ(parameters.gradients().sum().item<double>(), 5 * 17);
  EXPECT_TRUE(parameters.gradients().narrow(0, parameters.begin(1), 17).eq(5).all().item<bool>());
  EXPECT_EQ(parameters.end(1), parameters.begin(1) + 17);
  parameters.zero_gradients();
  EXPECT_TRUE(parameters[1].grad().eq(0).all().item<bool>());
}

}  // namespace
}  // namespace vig::test
