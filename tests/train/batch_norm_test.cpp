// Batch norm in training: its statistics, its gradients, and that neither depends on the threads.
#include "vig/torch/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "foreign/mini_resnet.h"
#include "runtime/networks.h"
#include "vig/base/random.h"
#include "vig/torch/forward.h"

namespace vig::test {
namespace {

using train::BatchNormTensors;
using train::BatchStatistics;
using train::Parameters;

constexpr int64_t kGroup = BatchStatistics::kGroup;

at::Tensor noise(at::IntArrayRef sizes, uint64_t seed) {
  at::Tensor x = at::empty(sizes, at::kFloat);
  RandomStream random(seed);
  for (int64_t i = 0; i < x.numel(); ++i) x.data_ptr<float>()[i] = random.uniform(-1.0f, 2.0f);
  return x;
}

BatchNormTensors tensors(int64_t channels) {
  return {noise({channels}, 1), noise({channels}, 2), noise({channels}, 3),
          noise({channels}, 4).abs() + 0.5};
}

// Against LibTorch's own, which knows one group.
TEST(BatchNorm, OfOneGroupIsTheUsualOne) {
  const BatchNormTensors t = tensors(5);
  at::Tensor x = noise({kGroup, 3, 4, 5}, 7).requires_grad_();
  at::Tensor same = x.detach().clone().requires_grad_();
  BatchStatistics::Groups groups;
  const at::Tensor y = train::batch_norm(x, t, 1e-3f, groups);
  at::Tensor mean = t.running_mean.clone(), var = t.running_var.clone();
  const at::Tensor expected = at::batch_norm(same.permute({0, 3, 1, 2}), t.weight, t.bias, mean,
                                             var, true, 1.0, 1e-3, false)
                                  .permute({0, 2, 3, 1});
  EXPECT_LE((y - expected).abs().max().item<float>(), 1e-5f);
  const at::Tensor dy = noise({kGroup, 3, 4, 5}, 8);
  y.backward(dy);
  expected.backward(dy);
  EXPECT_LE((x.grad() - same.grad()).abs().max().item<float>(), 1e-5f);
  // With momentum 1 the running statistics are those of the batch; the variance is unbiased.
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_LE((groups[0][0] - mean).abs().max().item<float>(), 1e-6f);
  EXPECT_LE((groups[0][1] - var).abs().max().item<float>(), 1e-5f);
}

TEST(BatchNorm, InEvaluationUsesTheRunningStatistics) {
  const BatchNormTensors t = tensors(5);
  const at::Tensor x = noise({2, 3, 4, 5}, 7);
  const at::Tensor y = train::batch_norm(x, t, 1e-3f);
  const at::Tensor expected =
      (x - t.running_mean) / (t.running_var + 1e-3).sqrt() * t.weight + t.bias;
  EXPECT_LE((y - expected).abs().max().item<float>(), 1e-5f);
}

// A thread has whole groups, and a group's statistics are its own.
TEST(BatchNorm, OfSeveralGroupsDoesNotDependOnWhoHasThem) {
  const Network network(network_case("mini_resnet"));
  const Parameters parameters(network.graph.params, *network.weights, at::kCPU);
  const int64_t images = 2 * kGroup + 3;
  const Grid& grid = network.graph.node(0).grid;
  const at::Tensor all = noise({images, grid.height, grid.width, 3}, 5);
  for (const bool kernels : {true, false}) {
    train::ForwardOptions options;
    options.kernels = kernels;
    const auto run = [&](int64_t threads, std::vector<double>& sums) {
      std::vector<BatchStatistics> statistics(static_cast<size_t>(threads));
      std::vector<at::Tensor> logits;
      for (int64_t i = 0; i < threads; ++i) {
        const int64_t first = train::run_begin(images, i, threads, kGroup);
        const int64_t last = train::run_begin(images, i + 1, threads, kGroup);
        if (first == last) continue;
        options.statistics = &statistics[static_cast<size_t>(i)];
        logits.push_back(train::forward_logits(network.graph, parameters.views(),
                                               all.narrow(0, first, last - first), options));
      }
      sums = train::statistic_sums({&network.graph, 1}, statistics);
      return at::cat(logits, 0);
    };
    std::vector<double> expected_sums, sums;
    const at::Tensor expected = run(1, expected_sums);
    EXPECT_EQ(expected_sums.back(), 3);
    for (const int64_t threads : {2, 3, 5}) {
      SCOPED_TRACE(threads);
      const at::Tensor logits = run(threads, sums);
      if (kernels) {
        EXPECT_TRUE(at::equal(logits, expected));
        EXPECT_EQ(sums, expected_sums);
      } else {  // LibTorch's convolutions round otherwise where more images come together
        EXPECT_LE((logits - expected).abs().max().item<float>(), 1e-4f);
      }
    }
  }
}

TEST(BatchNorm, RunsAreWholeGroups) {
  EXPECT_EQ(train::run_begin(40, 1, 2, 16), 16);
  EXPECT_EQ(train::run_begin(40, 2, 2, 16), 40);
  EXPECT_EQ(train::run_begin(7, 1, 2, 1), 3);  // any image where there are no batch norms
  EXPECT_EQ(train::run_begin(7, 1, 2, 16), 0);
  EXPECT_EQ(train::run_begin(0, 1, 2, 16), 0);
  const Graph resnet = make_mini_resnet(64, 64), vig = network_case("test_vig").graph();
  EXPECT_EQ(train::inseparable_images({&resnet, 1}), kGroup);
  EXPECT_EQ(train::inseparable_images({&vig, 1}), 1);
}

TEST(BatchNorm, RunningStatisticsMoveByTheMomentum) {
  const Graph graph = make_mini_resnet(64, 64);
  Parameters parameters(graph.params, *random_weights(graph.params, 1), at::kCPU);
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!graph.params[i].trained) parameters.freeze(i);
  }
  const at::Tensor images = noise({kGroup, 64, 64, 3}, 5);
  std::vector<BatchStatistics> statistics(1);
  train::ForwardOptions options;
  options.statistics = &statistics[0];
  train::forward_logits(graph, parameters.views(), images, options);
  std::vector<double> sums = train::statistic_sums({&graph, 1}, statistics);
  const at::Tensor before = parameters.values().clone();
  train::move_running_statistics({&graph, 1}, sums, parameters);
  const auto index = [&](const std::string& name) {
    for (size_t i = 0; i < graph.params.size(); ++i) {
      if (graph.params[i].name == name) return i;
    }
    return size_t{0};
  };
  // From 0 and 1, by a tenth.
  const size_t mean = index("bn1.running_mean"), var = index("bn1.running_var");
  EXPECT_NEAR(parameters[mean][2].item<float>(), 0.1 * sums[2], 1e-6);
  EXPECT_NEAR(parameters[var][2].item<float>(), 0.9 + 0.1 * sums[8 + 2], 1e-5);
  EXPECT_NE(sums[2], 0);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const bool same = at::equal(parameters[i], parameters.views_of(before)[i]);
    EXPECT_EQ(same, graph.params[i].trained) << graph.params[i].name;
  }
  // What is not finite spoils nothing.
  sums[2] = NAN;
  const at::Tensor moved = parameters.values().clone();
  train::move_running_statistics({&graph, 1}, sums, parameters);
  EXPECT_TRUE(at::equal(parameters.values(), moved));
}

}  // namespace
}  // namespace vig::test
