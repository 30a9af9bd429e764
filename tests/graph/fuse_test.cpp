// Which operations are computed together.
#include "vig/graph/fuse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "vig/graph/builder.h"

namespace vig {
namespace {

constexpr Init kInit = normal_init(0.02f);

// What is computed together, in words: "norm+norm>gated_mix silu".
std::vector<std::string> described(const Graph& graph, const std::vector<int>& keep = {}) {
  std::vector<std::string> units;
  for (const FusedNode& unit : fuse(graph, keep)) {
    std::string words;
    for (int producer : unit.producers) {
      if (producer >= 0) words += std::string(op_name(graph.node(producer).op)) + ">";
    }
    words += op_name(graph.node(unit.node).op);
    if (unit.norm >= 0) words += " norm";
    if (unit.residual >= 0) words += " + " + std::to_string(unit.residual);
    if (unit.swiglu) words += " swiglu";
    if (unit.function != Elementwise::kIdentity) {
      words += std::string(" ") + elementwise_name(unit.function);
    }
    units.push_back(words);
  }
  return units;
}

using Units = std::vector<std::string>;

TEST(Fuse, ActivationsGoIntoWhatMakesTheirOperand) {
  Builder b;
  const Value input = b.input("image", {8, 8, 3});
  Value x = b.activation(b.conv(input, "stem", 8, {2, 2, 0}), Elementwise::kGelu);
  x = b.activation(b.depthwise_conv(x, "local", {}, kInit), Elementwise::kSilu);
  x = b.activation(b.linear(x, "wide", 16, true, kInit), Elementwise::kSigmoid);
  x = b.activation(b.layer_norm(x, "norm", 1e-5f), Elementwise::kSilu);
  b.output("y", b.linear(b.swiglu(b.linear(x, "pair", 32, false, kInit)), "down", 8, false, kInit));
  EXPECT_EQ(described(std::move(b).finish()),
            (Units{"input", "conv gelu", "dwconv silu", "linear sigmoid", "layer_norm", "silu",
                   "linear swiglu", "linear"}));
}

TEST(Fuse, AProductTakesOneFunctionOnly) {
  Builder b;
  const Value input = b.input("image", {8, 8, 3});
  Value x = b.activation(b.linear(input, "a", 4, false, kInit), Elementwise::kSilu);
  b.output("y", b.activation(x, Elementwise::kSilu));
  EXPECT_EQ(described(std::move(b).finish()), (Units{"input", "linear silu", "silu"}));
}

TEST(Fuse, AValueWithTwoReadersStays) {
  Builder b;
  const Value input = b.input("image", {8, 8, 3});
  const Value x = b.linear(input, "a", 4, false, kInit);
  b.output("y", b.mul(x, b.activation(x, Elementwise::kSilu)));
  EXPECT_EQ(described(std::move(b).finish()), (Units{"input", "linear", "silu", "mul"}));
}

TEST(Fuse, WhatIsKeptStays) {
  const auto build = [] {
    Builder b;
    const Value input = b.input("image", {8, 8, 3});
    const Value x = b.named(b.linear(input, "a", 4, false, kInit), "a");
    b.output("y", b.activation(x, Elementwise::kSilu));
    return std::move(b).finish();
  };
  const Graph graph = build();
  EXPECT_EQ(described(graph), (Units{"input", "linear silu"}));
  EXPECT_EQ(described(graph, {graph.find_module("a")}), (Units{"input", "linear", "silu"}));
}

TEST(Fuse, OutputsStay) {
  Builder b;
  const Value input = b.input("image", {8, 8, 3});
  const Value x = b.linear(input, "a", 4, false, kInit);
  b.output("x", x);
  b.output("y", b.activation(x, Elementwise::kSilu));
  EXPECT_EQ(described(std::move(b).finish()), (Units{"input", "linear", "silu"}));
}

// The product adds as it stores: what it adds must be there before it, on whichever side it stands.
TEST(Fuse, SumsGoIntoAProductThatComesAfterTheOtherOperand) {
  Builder b;
  const Value input = b.input("image", {8, 8, 3});
  const Value x = b.linear(input, "a", 4, false, kInit);             // node 1
  const Value y = b.residual(x, b.linear(x, "b", 4, false, kInit));  // 2, 3
  const Value z = b.add(b.linear(y, "c", 4, false, kInit), y);       // 4, 5
  const Value early = b.linear(z, "d", 4, false, kInit);             // 6
  b.output("sum", b.add(early, b.layer_norm(z, "norm", 1e-5f)));     // 7, 8
  EXPECT_EQ(described(std::move(b).finish()),
            (Units{"input", "linear", "linear + 1", "linear + 3", "linear", "layer_norm", "add"}));
}

// A product on the other side of a residual sum must not be taken for the branch.
TEST(Fuse, AResidualGoesIntoItsBranchAlone) {
  const auto build = [](bool residual) {
    Builder b;
    const Value x = b.layer_norm(b.input("image", {8, 8, 3}), "norm", 1e-5f);
    const Value y = b.linear(x, "a", 3, false, kInit);
    b.output("y", residual ? b.residual(y, x) : b.add(y, x));
    return std::move(b).finish();
  };
  EXPECT_EQ(described(build(false)), (Units{"input", "layer_norm", "linear + 1"}));
  EXPECT_EQ(described(build(true)), (Units{"input", "layer_norm", "linear", "add"}));
}

TEST(Fuse, AFunctionMayFollowTheSum) {
  Builder b;
  const Value input = b.input("image", {8, 8, 3});
  const Value x = b.linear(input, "a", 4, false, kInit);
  const Value y = b.add(x, b.linear(x, "b", 4, false, kInit));
  b.output("y", b.activation(y, Elementwise::kSilu));
  const Graph graph = std::move(b).finish();
  EXPECT_EQ(described(graph), (Units{"input", "linear", "linear + 1 silu"}));
  const FusedNode unit = fuse(graph).back();
  EXPECT_EQ(unit.sum, 3);
  EXPECT_EQ(unit.result, 4);
}

TEST(Fuse, ABatchNormGoesIntoTheWeightsBeforeIt) {
  Builder b;
  const Value input = b.input("image", {8, 8, 3});
  Value x = b.batch_norm(b.conv(input, "a", 4, {3, 1, 1}), "bn1");  // 1, 2
  x = b.activation(b.batch_norm(b.depthwise_conv(x, "b", {}, kInit), "bn2"), Elementwise::kRelu);
  Value y = b.batch_norm(b.linear(x, "c", 4, false, kInit), "bn3");  // 6, 7
  y = b.activation(b.residual(x, y), Elementwise::kRelu);
  y = b.batch_norm(b.activation(b.linear(y, "d", 4, false, kInit), Elementwise::kRelu), "bn4");
  b.output("y", y);
  EXPECT_EQ(described(std::move(b).finish()),
            (Units{"input", "conv norm", "dwconv norm relu", "linear norm + 5 relu", "linear relu",
                   "batch_norm"}));
}

TEST(Fuse, WeightsThatTwoOperationsShareTakeNoBatchNorm) {
  Builder b;
  const Value x = b.linear(b.input("image", {8, 8, 3}), "a", 3, false, kInit);
  b.output("y", b.batch_norm(b.linear(x, "a", 3, false, kInit), "bn"));
  EXPECT_EQ(described(std::move(b).finish()), (Units{"input", "linear", "linear", "batch_norm"}));
}

TEST(Fuse, GroupsAreNotPaired) {
  Builder b;
  const Value x = b.conv(b.input("image", {8, 8, 4}), "a", 8, {.groups = 2});
  b.output("y", b.swiglu(x));
  EXPECT_EQ(described(std::move(b).finish()), (Units{"input", "conv", "swiglu"}));
}

// What a kernel can do to a result as it stores it has an order: norm, sum, function. SwiGLU comes
// by itself.
TEST(Fuse, WhatTheKernelCannotDoInThisOrderStays) {
  const auto of = [](const auto& body) {
    Builder b;
    const Value x = b.linear(b.input("image", {8, 8, 4}), "x", 4, false, kInit);  // node 1
    b.output("y", body(b, x));
    return described(std::move(b).finish());
  };
  const auto product = [](Builder& b, Value x) { return b.linear(x, "p", 4, false, kInit); };
  EXPECT_EQ(of([&](Builder& b, Value x) {
              return b.swiglu(b.activation(product(b, x), Elementwise::kSilu));
            }),
            (Units{"input", "linear", "linear silu", "swiglu"}));
  EXPECT_EQ(of([&](Builder& b, Value x) {
              return b.activation(b.swiglu(product(b, x)), Elementwise::kGelu);
            }),
            (Units{"input", "linear", "linear swiglu", "gelu"}));
  EXPECT_EQ(of([&](Builder& b, Value x) {
              return b.add(x, b.activation(product(b, x), Elementwise::kSilu));
            }),
            (Units{"input", "linear", "linear silu", "add"}));
  EXPECT_EQ(of([&](Builder& b, Value x) { return b.swiglu(b.add(x, product(b, x))); }),
            (Units{"input", "linear", "linear + 1", "swiglu"}));
  EXPECT_EQ(of([&](Builder& b, Value x) { return b.batch_norm(b.add(x, product(b, x)), "bn"); }),
            (Units{"input", "linear", "linear + 1", "batch_norm"}));
  EXPECT_EQ(
      of([&](Builder& b, Value x) { return b.add(x, b.depthwise_conv(x, "local", {}, kInit)); }),
      (Units{"input", "linear", "dwconv", "add"}));
}

// Columns of one plain product alone can be packed in pairs.
TEST(Fuse, OnlyPlainProductsArePaired) {
  const auto of = [](const auto& body) {
    Builder b;
    b.output("y", b.swiglu(body(b, b.input("image", {8, 8, 4}))));
    return described(std::move(b).finish());
  };
  EXPECT_EQ(of([](Builder& b, Value x) { return b.conv(x, "c", 8, {}); }),
            (Units{"input", "conv swiglu"}));
  EXPECT_EQ(of([](Builder& b, Value x) {
              return b.conv(x, "c", 8, {3, 1, 1});
            }),
            (Units{"input", "conv", "swiglu"}));
  EXPECT_EQ(of([](Builder& b, Value x) {
              return b.linear_range(x, {"w", {8, 2}, {2, 0, 2}}, kInit);
            }),
            (Units{"input", "linear", "swiglu"}));
}

class FuseMix : public ::testing::Test {
 protected:
  // Norms of these groups and epsilons before a mix.
  Graph build(int groups_o, int groups_local, float eps_local = 1e-6f) {
    Builder b;
    const Value input = b.input("image", {8, 8, 3});
    const Value x = b.linear(input, "a", 8, false, kInit);
    const Value gate = b.linear(x, "gate", 8, true, kInit);
    const Value o = b.rms_norm(x, "o", 1e-6f, groups_o);
    const Value local = b.rms_norm(x, "local", eps_local, groups_local);
    b.output("y", b.activation(b.gated_mix(gate, o, local), Elementwise::kSilu));
    return std::move(b).finish();
  }
};

TEST_F(FuseMix, TakesNormsAndSilu) {
  EXPECT_EQ(described(build(2, 2)),
            (Units{"input", "linear", "linear", "rms_norm>rms_norm>gated_mix silu"}));
}

TEST_F(FuseMix, TakesOneNormWhereTheyDiffer) {
  const Units one = {"input", "linear", "linear", "rms_norm", "rms_norm>gated_mix silu"};
  EXPECT_EQ(described(build(2, 4)), one);
  EXPECT_EQ(described(build(2, 2, 1e-3f)), one);
}

TEST_F(FuseMix, NoOtherFunctionFollowsIt) {
  Builder b;
  const Value input = b.input("image", {8, 8, 3});
  const Value x = b.linear(input, "a", 8, false, kInit);
  b.output("y", b.activation(b.gated_mix(x, x, x), Elementwise::kGelu));
  EXPECT_EQ(described(std::move(b).finish()), (Units{"input", "linear", "gated_mix", "gelu"}));
}

TEST(Fuse, AScanTakesTheProductThatMakesItsGate) {
  const auto build = [](bool shared) {
    Builder b;
    const Value input = b.input("image", {8, 8, 3});
    const Value x = b.linear(input, "a", 8, false, kInit);
    const Value qkv = b.linear(x, "qkv", 32, false, kInit);
    const Value gate = b.linear(x, "gate", 16, true, kInit);
    const GlaOp op{2, 4, 8, GlaDirection::kBoth};
    const Value o = b.gla(qkv, gate, op);
    if (shared) b.output("again", b.gla(qkv, gate, op));
    b.output("y", o);
    return std::move(b).finish();
  };
  EXPECT_EQ(described(build(false)), (Units{"input", "linear", "linear", "linear>gla"}));
  EXPECT_EQ(described(build(true)), (Units{"input", "linear", "linear", "linear", "gla", "gla"}));
}

// Logits that are transformed further are computed by a call of their own.
TEST(Fuse, AScanTakesAPlainProductOnly) {
  Builder b;
  const Value x = b.linear(b.input("image", {8, 8, 3}), "a", 32, false, kInit);
  const Value gate = b.activation(b.linear(x, "gate", 16, true, kInit), Elementwise::kSilu);
  b.output("y", b.gla(x, gate, {2, 4, 8, GlaDirection::kBoth}));
  EXPECT_EQ(described(std::move(b).finish()), (Units{"input", "linear", "linear silu", "gla"}));
}

}  // namespace
}  // namespace vig
