// The runtime against the reference execution: every output and every value that can be kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/networks.h"
#include "runtime/reference_forward.h"

namespace vig::test {
namespace {

// The largest difference as a share of the largest number expected.
double relative_error(const Values& actual, const Values& expected) {
  double error = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(actual[i]) - expected[i]);
    error = std::isfinite(difference) ? std::max(error, difference) : INFINITY;
    largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
  }
  return largest > 0 ? error / largest : error;
}

// A norm makes all rows equally large. The error of a small row, which was a small share of the
// largest number before, is a larger one afterwards: by as much as the largest row was larger.
double enlargement(const Node& norm, int groups, const Values& input) {
  const auto row = static_cast<size_t>(norm.grid.channels / groups);
  double smallest = INFINITY, largest = 0;
  for (size_t first = 0; first < input.size(); first += row) {
    double squares = 0;
    for (size_t i = first; i < first + row; ++i)
      squares += static_cast<double>(input[i]) * input[i];
    smallest = std::min(smallest, squares);
    largest = std::max(largest, squares);
  }
  return smallest > 0 ? std::sqrt(largest / smallest) : 1;
}

std::vector<int> keepable(const Graph& graph) {
  std::vector<int> nodes;
  for (int node = 0; node < static_cast<int>(graph.nodes.size()); ++node) {
    if (can_be_kept(graph, node)) nodes.push_back(node);
  }
  return nodes;
}

class Forward : public ::testing::TestWithParam<NetworkCase> {};
INSTANTIATE_TEST_SUITE_P(Networks, Forward, ::testing::ValuesIn(network_cases()),
                         [](const auto& test) { return test.param.name; });

TEST_P(Forward, OutputsOfAFusedRun) {
  const Network network(GetParam());
  Session session = network.session({.batch = 2, .threads = 2});
  for (int image = 0; image < 2; ++image) set_input(session, image, network.image(10 + image));
  session.run(2);
  for (int image = 0; image < 2; ++image) {
    const auto expected =
        reference_forward(network.graph, *network.weights, network.image(10 + image));
    for (const Output& output : network.graph.outputs) {
      EXPECT_LE(relative_error(read_value(session, output.node, image), expected[output.node]),
                GetParam().tolerance)
          << output.name << " of image " << image;
    }
  }
}

TEST_P(Forward, EveryValueOnTheWay) {
  const Network network(GetParam());
  const std::vector<int> nodes = keepable(network.graph);
  Session session = network.session({.batch = 1, .threads = 2, .keep = nodes});
  set_input(session, 0, network.image(20));
  session.run(1);
  const auto expected = reference_forward(network.graph, *network.weights, network.image(20));
  std::vector<double> errors(network.graph.nodes.size());
  for (int node : nodes) {
    errors[node] = relative_error(read_value(session, node, 0), expected[node]);
    double allowed = GetParam().tolerance;
    const Node& from = network.graph.node(node);
    if (const auto* norm = std::get_if<RmsNormOp>(&from.op)) {
      const int input = from.inputs[0];
      allowed = std::max(allowed, errors[input] * enlargement(from, norm->groups, expected[input]));
    }
    EXPECT_LE(errors[node], allowed) << op_name(from.op) << " " << network.graph.label(node);
  }
}

// What is kept without disturbing the fusion of the rest: what modules put out.
TEST_P(Forward, ModulesOfAPartlyFusedRun) {
  const Network network(GetParam());
  SessionOptions options{.batch = 1, .threads = 1};
  for (const Output& module : network.graph.modules) {
    if (module.name.find('.') == module.name.rfind('.')) options.keep.push_back(module.node);
  }
  Session session = network.session(options);
  set_input(session, 0, network.image(30));
  session.run(1);
  const auto expected = reference_forward(network.graph, *network.weights, network.image(30));
  for (int node : options.keep) {
    EXPECT_LE(relative_error(read_value(session, node, 0), expected[node]), GetParam().tolerance)
        << network.graph.label(node);
  }
}

// The comparisons above mean something only if a single wrong parameter shows.
TEST(ReferenceForward, EveryParameterShowsInTheLogits) {
  for (const char* name : {"layer_scale", "gla_t_vim", "test_vig_h_odd", "convolutions",
                           "front_token", "middle_token", "scans"}) {
    const Network network(network_case(name));
    const Values pixels = network.image(40);
    const Values before = reference_forward(network.graph, *network.weights, pixels).back();
    for (size_t p = 0; p < network.graph.params.size(); ++p) {
      const auto changed = lively_weights(network.graph, 1, static_cast<int>(p));
      const Values after = reference_forward(network.graph, *changed, pixels).back();
      EXPECT_GT(relative_error(after, before), 10 * network_case(name).tolerance)
          << network.graph.params[p].name;
    }
  }
}

}  // namespace
}  // namespace vig::test
