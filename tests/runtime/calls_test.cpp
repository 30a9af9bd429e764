// What a call is told by its operation, where networks leave it unsaid: a residual or an operand
// that is the graph's first value, a parameter that is its first, an eps that counts.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "runtime/networks.h"
#include "runtime/reference_forward.h"
#include "support/init.h"
#include "vig/graph/builder.h"

namespace vig::test {
namespace {

// Every output of the engine is that of the reference execution.
void expect_reference(Builder builder, const std::string& name) {
  const Graph graph = std::move(builder).finish();
  const auto weights = lively_weights(graph, 3);
  int64_t count = 0;
  for (const Output& input : graph.inputs) count += graph.node(input.node).grid.elements();
  Values inputs = image(1, static_cast<int>(count), 5);
  inputs.resize(static_cast<size_t>(count));
  Session session(graph, weights, {.batch = 1, .threads = 2});
  set_input(session, 0, inputs);
  session.run(1);
  const auto expected = reference_forward(graph, *weights, inputs);
  for (const Output& output : graph.outputs) {
    const Values found = read_value(session, output.node, 0);
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], expected[output.node][i], 2e-5) << name << ", number " << i;
    }
  }
}

// Value 0 is the first input.
TEST(Calls, TheFirstValueMayBeAddedOrMultiplied) {
  struct Case {
    const char* name;
    Value (*build)(Builder& b, Value first, Value other);
  };
  const Case cases[] = {
      {"conv + add",
       [](Builder& b, Value first, Value) {
         return b.residual(first, b.conv(first, "conv", 8, {.kernel = 3, .padding = 1}));
       }},
      {"linear + add",
       [](Builder& b, Value first, Value) {
         return b.residual(first, b.linear(first, "linear", 8, true, kInit));
       }},
      {"upsample_conv + add",
       [](Builder& b, Value first, Value coarse) {
         return b.add(first, b.upsample_conv(coarse, "up", 8, kInit));
       }},
      {"resize + add",
       [](Builder& b, Value first, Value coarse) {
         return b.add(first, b.resize(coarse, 4, 6, Resampling::kBilinear));
       }},
      {"sum", [](Builder& b, Value first,
                 Value) { return b.add(b.activation(first, Elementwise::kSilu), first); }},
      {"product", [](Builder& b, Value first,
                     Value) { return b.mul(b.activation(first, Elementwise::kSilu), first); }},
  };
  for (const Case& c : cases) {
    Builder b;
    const Value first = b.input("first", {4, 6, 8}), other = b.input("other", {2, 3, 8});
    ASSERT_EQ(first.id, 0);
    b.output("y", c.build(b, first, other));
    expect_reference(std::move(b), c.name);
  }
}

// Parameter 0 is the first that is declared.
TEST(Calls, TheFirstParameterMayBeAScaleARowOrANorm) {
  struct Case {
    const char* name;
    Value (*build)(Builder& b, Value x);
  };
  const Case cases[] = {
      {"scale", [](Builder& b, Value x) { return b.scale(x, "gamma", 1.0f); }},
      {"row", [](Builder& b, Value x) { return b.add_row(x, "levels", 2, 1, kInit); }},
      {"norm of the scan's result",
       [](Builder& b, Value x) {
         const Value o = b.rms_norm(x, "o", 1e-6f, 2);
         return b.gated_mix(x, o, b.rms_norm(x, "local", 1e-6f, 2));
       }},
      {"norm of the local branch alone",
       [](Builder& b, Value x) {
         return b.gated_mix(x, b.activation(x, Elementwise::kGelu),
                            b.rms_norm(x, "local", 1e-6f, 2));
       }},
  };
  for (const Case& c : cases) {
    Builder b;
    b.output("y", c.build(b, b.input("x", {3, 5, 8})));
    expect_reference(std::move(b), c.name);
  }
}

// Numbers of order 1 hide any eps in use, 1e-6 to 1e-5.
TEST(Calls, EpsIsTheOperations) {
  struct Case {
    const char* name;
    Value (*build)(Builder& b, Value x);
  };
  const Case cases[] = {
      {"layer norm", [](Builder& b, Value x) { return b.layer_norm(x, "norm", 0.5f); }},
      {"rms norm", [](Builder& b, Value x) { return b.rms_norm(x, "norm", 0.5f, 2); }},
      {"mix",
       [](Builder& b, Value x) {
         return b.gated_mix(x, b.rms_norm(x, "o", 0.5f, 2), b.rms_norm(x, "local", 0.5f, 2));
       }},
      // Norms that differ: one of them is a call of its own.
      {"mix of two kinds",
       [](Builder& b, Value x) {
         return b.gated_mix(x, b.rms_norm(x, "o", 0.5f, 2), b.rms_norm(x, "local", 0.25f, 2));
       }},
      {"batch norm", [](Builder& b, Value x) { return b.batch_norm(x, "norm", {.eps = 0.5f}); }},
      {"folded batch norm",
       [](Builder& b, Value x) {
         return b.batch_norm(b.linear(x, "linear", 8, false, kInit), "norm", {.eps = 0.5f});
       }},
  };
  for (const Case& c : cases) {
    Builder b;
    b.output("y", c.build(b, b.input("x", {3, 5, 8})));
    expect_reference(std::move(b), c.name);
  }
}

}  // namespace
}  // namespace vig::test
