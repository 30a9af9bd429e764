// What must hold of ViT-Adapter whatever its numbers are, in the engine.
#include <gtest/gtest.h>

#include <set>

#include "runtime/networks.h"
#include "support/files.h"
#include "vig/models/adapter.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

// Weights for `graph` by name.
std::shared_ptr<const Weights> made_weights(const Graph& graph,
                                            const std::function<Values(const ParamSpec&)>& make) {
  std::vector<Values> numbers;
  std::vector<NamedTensor> tensors;
  for (const ParamSpec& spec : graph.params) numbers.push_back(make(spec));
  for (size_t i = 0; i < numbers.size(); ++i) {
    tensors.push_back(
        {graph.params[i].name, {numbers[i].data(), DType::kF32, graph.params[i].shape}});
  }
  const TempDir folder;
  const std::string file = (folder / "weights.safetensors").string();
  write_safetensors(file, tensors);
  return load_weights(graph.params, std::make_shared<Checkpoint>(Checkpoint::open(file)));
}

Values values_of(const Graph& graph, const std::shared_ptr<const Weights>& weights,
                 const std::string& module, const Values& input) {
  const int node = graph.find_module(module);
  Session session(graph, weights, {.threads = 2, .keep = {node}});
  set_input(session, 0, input);
  session.run(1);
  return read_value(session, node, 0);
}

// A fresh adapter leaves the tokens of the pretrained network as they are, to the bit.
TEST(Adapter, InjectsNothingWhereGammaIsZero) {
  for (const auto& [height, width] : {std::pair(64, 96), {96, 32}}) {
    const Graph dense = build_graph(find_model("test_vig_maskrcnn"), height, width);
    ModelSpec plain = find_model("test_vig");
    override_fields(plain, {{"embed_dim", "32"},
                            {"depth", "4"},
                            {"silu_after_dwconv", "false"},
                            {"silu_before_o_proj", "false"}});
    const Graph classifier = build_graph(plain, height, width);
    const auto own = lively_weights(classifier, 7), around = lively_weights(dense, 8);
    const std::string prefix = "backbone.";
    const auto with_gamma = [&](float gamma) {
      return made_weights(dense, [&](const ParamSpec& spec) {
        const auto count = static_cast<size_t>(spec.shape.elements());
        if (spec.name.ends_with(".gamma")) return Values(count, gamma);
        const float* pretrained =
            own->find(spec.name.substr(std::min(prefix.size(), spec.name.size())));
        const float* from = pretrained != nullptr && spec.name.starts_with(prefix)
                                ? pretrained
                                : around->find(spec.name);
        return Values(from, from + count);
      });
    };
    const Values pixels = image(height, width, 3);
    const Values expected = values_of(classifier, own, "blocks.3", pixels);
    expect_same_bits(values_of(dense, with_gamma(0.0f), "backbone.blocks.3", pixels), expected,
                     "tokens of a fresh adapter");
    EXPECT_NE(values_of(dense, with_gamma(0.5f), "backbone.blocks.3", pixels), expected);
  }
}

// A row of c meets its 3 x 3 neighbours on its own grid: not another grid, and not the other end of
// a row.
TEST(Adapter, TheConvolutionOfAnExtractorStaysOnItsGrid) {
  const GridSizes grids = {{8, 12}, {4, 6}, {2, 3}};
  AdapterConfig config;
  config.deform_heads = 4;
  Builder b;
  const Value c = b.input("c", {1, 126, 32}), x = b.input("x", {4, 6, 32});
  b.output("out", b.named(extractor(b, c, x, "extractor", config, grids, 0.0), "out"));
  const Graph graph = std::move(b).finish();
  const auto weights = lively_weights(graph, 4);
  const Values input = image(1, 50 * 32, 5);  // 126 rows of c and 24 of x
  ASSERT_EQ(input.size(), static_cast<size_t>((126 + 24) * 32));
  const Values before = values_of(graph, weights, "out", input);
  int first = 0;
  for (const GridSize& grid : grids) {
    for (const auto& [row, column] :
         {std::pair(0, 0), {0, grid.width - 1}, {grid.height - 1, 0}, {1, grid.width - 1}}) {
      Values changed = input;
      const int at = first + row * grid.width + column;
      for (int i = 0; i < 32; i += 3) changed[static_cast<size_t>(at * 32 + i)] += 1.0f;
      const Values after = values_of(graph, weights, "out", changed);
      std::set<int> found, expected;
      for (size_t i = 0; i < after.size(); ++i) {
        if (after[i] != before[i]) found.insert(static_cast<int>(i / 32));
      }
      for (int r = std::max(row - 1, 0); r <= std::min(row + 1, grid.height - 1); ++r) {
        for (int k = std::max(column - 1, 0); k <= std::min(column + 1, grid.width - 1); ++k) {
          expected.insert(first + r * grid.width + k);
        }
      }
      EXPECT_EQ(found, expected) << grid.height << " x " << grid.width << ", row " << row
                                 << ", column " << column;
    }
    first += static_cast<int>(grid.positions());
  }
}

}  // namespace
}  // namespace vig::test
