// The gradient of a network's centre by the image: against differences, and where it must be
// zero.
#include "vig/torch/input_gradient.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "vig/graph/builder.h"
#include "vig/models/family.h"
#include "vig/torch/forward.h"
#include "vig/torch/parameters.h"

namespace vig::test {
namespace {

using train::input_gradient;

Graph graph_of(const std::string& model, int size) {
  return build_graph(find_model(model), size, size);
}

std::vector<at::Tensor> fresh(const Graph& graph) {
  return train::Parameters(graph.params, *random_weights(graph.params, 3), at::kCPU).views();
}

// The pixels whose gradient is not zero, of an input of one image: first and last row, then first
// and last column.
std::array<int64_t, 4> footprint(const at::Tensor& gradient) {
  const at::Tensor there = gradient[0].abs().sum(2) > 0;
  const at::Tensor rows = there.any(1).nonzero(), columns = there.any(0).nonzero();
  return {rows.min().item<int64_t>(), rows.max().item<int64_t>(), columns.min().item<int64_t>(),
          columns.max().item<int64_t>()};
}

// Of the centre's positive channels, in double.
double centre_sum(const Graph& graph, const std::vector<at::Tensor>& params,
                  const at::Tensor& images) {
  train::ForwardOptions options;
  options.kernels = false;
  const int node = graph.find_output("features");
  const Grid& grid = graph.node(node).grid;
  return train::forward(graph, params, {images}, options)[node]
      .select(1, grid.height / 2)
      .select(1, grid.width / 2)
      .clamp_min(0)
      .sum()
      .item<double>();
}

TEST(InputGradient, IsTheSlopeOfTheCentre) {
  for (const char* model : {"test_vig", "test_deit", "test_swin", "test_resnet", "test_vrwkv"}) {
    SCOPED_TRACE(model);
    const Graph graph = graph_of(model, 64);
    const std::vector<at::Tensor> params = fresh(graph);
    std::vector<at::Tensor> exact;
    for (const at::Tensor& param : params) exact.push_back(param.detach().to(at::kDouble));
    const at::Tensor images = at::randn({2, 64, 64, 3}, at::kDouble);
    const at::Tensor gradient = input_gradient(graph, exact, images, false);
    at::NoGradGuard no_grad;
    const at::Tensor change = at::randn(images.sizes(), at::kDouble) * 1e-6;
    const double difference =
        (centre_sum(graph, exact, images + change) - centre_sum(graph, exact, images - change)) / 2;
    const double slope = (gradient * change).sum().item<double>();
    EXPECT_NEAR(slope, difference,
                1e-5 * gradient.norm().item<double>() * change.norm().item<double>());
    EXPECT_NE(slope, 0);
  }
}

TEST(InputGradient, OfTheKernelsIsThatOfLibTorch) {
  for (const char* model : {"test_vig", "test_deit", "test_swin", "test_resnet", "test_vrwkv"}) {
    SCOPED_TRACE(model);
    const Graph graph = graph_of(model, 64);
    const std::vector<at::Tensor> params = fresh(graph);
    const at::Tensor images = at::randn({2, 64, 64, 3});
    const at::Tensor expected = input_gradient(graph, params, images, false);
    const at::Tensor actual = input_gradient(graph, params, images);
    EXPECT_LE((actual - expected).abs().max().item<double>(),
              1e-4 * expected.abs().max().item<double>());
    for (const at::Tensor& param : params) EXPECT_EQ(param.grad().abs().sum().item<double>(), 0);
  }
}

TEST(InputGradient, OfOneConvolutionIsItsKernel) {
  // 3 x 3 with stride 2 and padding 1: the centre (4, 4) of 8 x 8 reads rows and columns 7 to 9.
  Builder b;
  const Value x = b.input("image", {16, 16, 3});
  b.output("features", b.conv(x, "conv", 16, {.kernel = 3, .stride = 2, .padding = 1}));
  const Graph graph = std::move(b).finish();
  const std::vector<at::Tensor> params = fresh(graph);
  const at::Tensor image = at::randn({1, 16, 16, 3});
  const at::Tensor gradient = input_gradient(graph, params, image);
  EXPECT_EQ(footprint(gradient), (std::array<int64_t, 4>{7, 9, 7, 9}));
  // [output, input, row, column] of the weight, summed over the positive outputs.
  at::NoGradGuard no_grad;
  const at::Tensor features = train::forward(graph, params, {image}, {})[1];
  const at::Tensor positive = (features[0][4][4] > 0).to(at::kFloat);
  EXPECT_GT(positive.sum().item<double>(), 0);
  const at::Tensor kernel =
      (params[0].detach() * positive.view({16, 1, 1, 1})).sum(0).permute({1, 2, 0});
  const at::Tensor inside = gradient[0].narrow(0, 7, 3).narrow(1, 7, 3);
  EXPECT_LE((inside - kernel).abs().max().item<double>(), 1e-6);
}

TEST(InputGradient, OfACausalScanEndsAtTheCentre) {
  // Tokens of 16 x 16 pixels row by row; the centre of 4 x 4 is token (2, 2).
  ModelSpec causal = find_model("test_vig");
  override_fields(causal, {{"mixing", "causal"}, {"locality", "false"}, {"conv_stem", "false"}});
  const Graph forward_only = build_graph(causal, 64, 64);
  const at::Tensor images = at::randn({1, 64, 64, 3});
  const at::Tensor gradient = input_gradient(forward_only, fresh(forward_only), images);
  const at::Tensor tokens = gradient[0].abs().reshape({4, 16, 4, 16, 3}).sum({1, 3, 4}).flatten();
  for (int64_t token = 0; token < 16; ++token) {
    EXPECT_EQ(tokens[token].item<double>() > 0, token <= 10) << token;
  }
  override_field(causal, "mixing", "gated");
  const Graph both = build_graph(causal, 64, 64);
  EXPECT_TRUE((input_gradient(both, fresh(both), images).abs().sum(3) > 0).all().item<bool>());
}

TEST(InputGradient, OfAImageDoesNotDependOnTheOthers) {
  const Graph graph = graph_of("test_resnet", 64);
  const std::vector<at::Tensor> params = fresh(graph);
  const at::Tensor images = at::randn({3, 64, 64, 3});
  const at::Tensor together = input_gradient(graph, params, images);
  const at::Tensor alone = input_gradient(graph, params, images.narrow(0, 1, 1));
  EXPECT_LE((together.narrow(0, 1, 1) - alone).abs().max().item<double>(),
            1e-5 * alone.abs().max().item<double>());
}

TEST(InputGradient, NeedsAFeatureMap) {
  Builder b;
  b.output("logits", b.mean_pool(b.input("image", {4, 4, 3})));
  const Graph graph = std::move(b).finish();
  EXPECT_NE(error_of([&] {
              input_gradient(graph, {}, at::zeros({1, 4, 4, 3}));
            }).find("no output \"features\""),
            std::string::npos);
}

}  // namespace
}  // namespace vig::test
