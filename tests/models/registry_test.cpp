// The list of models that other programs see.
#include "vig/models/registry.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "vig/models/family.h"

namespace vig::test {
namespace {

TEST(Registry, ListsTheZoo) {
  const std::vector<ModelEntry> entries = list_models();
  ASSERT_EQ(entries.size(), model_zoo().size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const ModelSpec& spec = model_zoo()[i];
    EXPECT_EQ(entries[i].name, spec.name);
    EXPECT_EQ(entries[i].task, spec.config->task()) << spec.name;
    EXPECT_EQ(entries[i].classes, spec.config->classes) << spec.name;
    EXPECT_EQ((GridSize{entries[i].height, entries[i].width}), described_size(spec)) << spec.name;
    EXPECT_EQ(entries[i].note, spec.note);
  }
}

TEST(Registry, BuildsGraphsByName) {
  const std::vector<Graph> graphs = build_graphs("test_vig_maskrcnn", 64, 96);
  ASSERT_EQ(graphs.size(), 3u);
  const Grid image{64, 96, 3};
  EXPECT_EQ(graphs[0].node(graphs[0].find_input("image")).grid, image);
  EXPECT_EQ(difference(graphs[0], build_graph(find_model("test_vig_maskrcnn"), 64, 96)), "");
  expect_error(ErrorCode::kUsage, {"nothing", "vig_t"}, [] { build_graphs("nothing", 64, 64); });
}

}  // namespace
}  // namespace vig::test
