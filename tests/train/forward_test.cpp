// What a forward pass asks of its graph.
#include "vig/torch/forward.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "vig/graph/builder.h"

namespace vig::test {
namespace {

TEST(Forward, NeedsATensorForEveryInputAndLogitsToGive) {
  Builder b;
  const Value x = b.input("a", {2, 2, 3});
  b.output("sum", b.add(x, b.input("b", {2, 2, 3})));
  const Graph graph = std::move(b).finish();
  const at::Tensor map = at::ones({1, 2, 2, 3});
  const auto values = train::forward(graph, {}, {map, 2 * map}, {});
  EXPECT_TRUE(values.at(static_cast<size_t>(graph.find_output("sum"))).eq(3).all().item<bool>());
  for (const size_t count : {0u, 1u, 3u}) {
    expect_error(ErrorCode::kInput, {fmt::format("{} tensors for a graph of 2 inputs", count)},
                 [&] { train::forward(graph, {}, std::vector<at::Tensor>(count, map), {}); });
  }
  expect_error(ErrorCode::kInput, {"no output \"logits\""},
               [&] { train::forward_logits(graph, {}, map, {}); });
}

}  // namespace
}  // namespace vig::test
