// Weights that several operations or graphs share: packed once where they agree on the layout, and
// refused where they do not. Either would otherwise read what was made for the other.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/networks.h"
#include "runtime/reference_forward.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/init.h"
#include "vig/graph/builder.h"
#include "vig/graph/graph.h"
#include "vig/runtime/packed_model.h"
#include "vig/runtime/session.h"
#include "vig/weights/half.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

struct Shared {
  const char* parameter;
  const char *one, *other;  // words of the layouts
  void (*build)(Builder& b, Value x);
};

TEST(PackedModel, RefusesAParameterOfTwoLayouts) {
  const Shared cases[] = {
      {"w.weight", "panels", "paired panels",
       [](Builder& b, Value x) {
         b.output("plain", b.linear(x, "w", 8, false, kInit));
         b.output("paired", b.swiglu(b.linear(x, "w", 8, false, kInit)));
       }},
      {"w.weight", "panels with bias", "panels",
       [](Builder& b, Value x) {
         b.output("biased", b.linear(x, "w", 8, true, kInit));
         b.output("plain", b.linear(x, "w", 8, false, kInit));
       }},
      {"w", "bias 1", "bias 2",
       [](Builder& b, Value x) {
         b.output("one", b.linear_range(x, {"w", {8, 8}, {}, "bias.1"}, kInit));
         b.output("two", b.linear_range(x, {"w", {8, 8}, {}, "bias.2"}, kInit));
       }},
      {"w", "panels", "2 ranges",
       [](Builder& b, Value x) {
         b.output("whole", b.linear_range(x, {"w", {8, 4}, {}}, kInit));
         b.output("parts",
                  b.linear_range(x, {"w", {8, 4}, {.groups = 2, .group_stride = 4}}, kInit));
       }},
      {"c.weight", "panels with bias", "panels",
       [](Builder& b, Value x) {
         b.output("biased", b.conv(x, "c", 8, {.kernel = 3}));
         b.output("plain", b.conv(x, "c", 8, {.kernel = 3, .bias = false}));
       }},
      {"d.weight", "taps", "taps with bias",
       [](Builder& b, Value x) {
         b.output("plain", b.depthwise_conv(x, "d", {}, kInit));
         b.output("biased", b.depthwise_conv(x, "d", {.bias = true}, kInit));
       }},
  };
  for (const Shared& c : cases) {
    Builder b;
    c.build(b, b.input("x", {4, 4, 8}));
    const Graph graph = std::move(b).finish();
    const auto weights = lively_weights(graph, 1);
    expect_error(ErrorCode::kInput, {c.parameter, "is needed as", c.one, c.other},
                 [&] { PackedModel::make(graph, weights); });
  }
}

Graph one_norm(const std::string& norm) {
  Builder b;
  b.output("y", b.batch_norm(b.linear(b.input("x", {4, 4, 8}), "w", 8, false, kInit), norm));
  return std::move(b).finish();
}

// Two graphs of one model fold norms of their own into the weights they share.
TEST(PackedModel, RefusesTwoNormsInOneWeight) {
  std::vector<Graph> graphs = {one_norm("bn1"), one_norm("bn2")};
  share_parameters(graphs);
  const auto weights = lively_weights(graphs[0], 1);
  expect_error(ErrorCode::kInput, {"w.weight", "is needed as", "with batch norm"},
               [&] { PackedModel::make(graphs, weights); });
}

TEST(PackedModel, TheSameLayoutIsShared) {
  Builder b;
  const Value x = b.input("x", {4, 4, 8});
  const Value y = b.linear(x, "w", 8, true, kInit);
  b.output("y", b.linear(b.activation(y, Elementwise::kRelu), "w", 8, true, kInit));
  const Graph graph = std::move(b).finish();
  const auto weights = lively_weights(graph, 1);
  Session session(graph, weights, {.threads = 1});
  Values inputs = image(4, 4, 1);
  inputs.resize(128, 0.5f);
  const Values found = run_alone(session, inputs);
  const Values expected = reference_forward(graph, *weights, inputs).back();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

// Weights of 16 bits are packed as they are, with the result of the same numbers as floats.
TEST(PackedModel, HalfPrecisionFilesStaySmall) {
  const Graph graph = build_graph(find_model("vig_t"), 64, 64);
  for (const DType type : {DType::kF16, DType::kBF16}) {
    const bool brain = type == DType::kBF16;
    std::vector<std::vector<uint16_t>> halves;
    std::vector<Values> floats;
    std::vector<NamedTensor> small, large;
    for (const ParamSpec& spec : graph.params) {
      Values values(static_cast<size_t>(spec.shape.elements()));
      fill_random(spec, 5, values.data());
      std::vector<uint16_t> bits;
      for (float& value : values) {
        bits.push_back(brain ? f32_to_bf16(value) : f32_to_f16(value));
        value = brain ? bf16_to_f32(bits.back()) : f16_to_f32(bits.back());
      }
      halves.push_back(std::move(bits));
      floats.push_back(std::move(values));
      small.push_back({spec.name, {halves.back().data(), type, spec.shape}});
      large.push_back({spec.name, {floats.back().data(), DType::kF32, spec.shape}});
    }
    const TempDir folder;
    const auto packed = [&](const std::vector<NamedTensor>& tensors) {
      const std::string file = (folder / "x.safetensors").string();
      write_safetensors(file, tensors);
      const auto checkpoint = std::make_shared<Checkpoint>(Checkpoint::open(file));
      return PackedModel::make(graph, load_weights(graph.params, checkpoint));
    };
    const auto model = packed(small), wide = packed(large);
    EXPECT_LT(model->bytes(), wide->bytes() * 6 / 10);
    const Values pixels = image(64, 64, 3);
    Session one(model, graph, {.batch = 1, .threads = 2}),
        two(wide, graph, {.batch = 1, .threads = 1});
    expect_same_bits(run_alone(one, pixels), run_alone(two, pixels),
                     brain ? "bfloat16" : "float16");
  }
}

}  // namespace
}  // namespace vig::test
