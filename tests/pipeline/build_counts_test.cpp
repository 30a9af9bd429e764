// One image needs one graph: a family of networks that counts how often it builds one.
#include <gtest/gtest.h>

#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/graph/builder.h"
#include "vig/pipeline/classifier.h"
#include "vig/pipeline/save_model.h"

namespace vig::test {
namespace {

int g_graphs = 0;

struct CountedConfig : ConfigOf<CountedConfig> {
  CountedConfig() {
    classes = 5;
    image_size = 64;
  }
  void visit_fields(FieldVisitor& visitor) override { visit_common(visitor); }
  int64_t blocks() const override { return 1; }
  Graph build(int height, int width) const override {
    ++g_graphs;
    Builder b;
    const Value x = b.conv(b.input("image", {height, width, 3}), "stem", 8, {.kernel = 8});
    b.output("logits", b.linear(b.mean_pool(x), "head", classes, true, normal_init(0.1f)));
    return std::move(b).finish();
  }
  std::map<std::string, std::string> fields_shown_by(const TensorShapes&) const override {
    return {};
  }
};

void add_counted_network() {
  static const bool added = [] {
    Recipe recipe;
    recipe.resize = recipe.crop = 64;
    add_family({.name = "counted",
                .base = "counted",
                .models = {{"counted", CountedConfig(), recipe, ""}}});
    return true;
  }();
  EXPECT_TRUE(added);
}

template <typename Function>
int graphs_of(Function&& function) {
  g_graphs = 0;
  function();
  return g_graphs;
}

class BuildCounts : public ::testing::Test {
 protected:
  void SetUp() override {
    add_counted_network();
    ModelRequest fresh;
    fresh.model = "counted";
    save_model(find_source(fresh), file_);
  }
  ModelRequest request() const {
    ModelRequest request;
    request.model = file_;
    return request;
  }

  const TempDir folder_;
  const std::string file_ = (folder_ / "model.safetensors").string();
  const ImageFiles one_{{image_file("photos/flower.webp")}};
};

// What `vig classify IMAGE` does.
TEST_F(BuildCounts, OneGraphForOneImage) {
  const auto classify = [&](const RunOptions& options) {
    return graphs_of([&] {
      const auto result = Classifier(find_source(request()), options).classify(one_, 5);
      EXPECT_EQ(result.at(0).error, "");
    });
  };
  EXPECT_EQ(classify({.threads = 2, .batch = 0, .images = 1}), 1);
  // The file is checked for its own size before it runs at another.
  EXPECT_EQ(classify({.threads = 2, .batch = 0, .size = 96, .images = 1}), 2);
}

TEST_F(BuildCounts, AnotherImageNeedsNoMore) {
  const Classifier classifier(find_source(request()), {.threads = 1});
  EXPECT_EQ(graphs_of([&] { classifier.classify(one_, 5); }), 0);
  EXPECT_EQ(graphs_of([&] { classifier.classify(one_, 5, 96); }), 1);
  EXPECT_EQ(graphs_of([&] { classifier.classify(one_, 5, 96); }), 0);
}

}  // namespace
}  // namespace vig::test
