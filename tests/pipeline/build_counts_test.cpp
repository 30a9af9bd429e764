// One image needs one graph and one lowering. The linker leads calls of both through here: see
// tests/CMakeLists.txt.
#include <gtest/gtest.h>

#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/pipeline/classifier.h"
#include "vig/pipeline/save_model.h"
#include "vig/runtime/program.h"

namespace vig::test {
namespace {

int g_graphs = 0, g_lowerings = 0;

}  // namespace

Graph real_build_graph(const ModelSpec& spec, int height,
                       int width) asm("__real__ZN3vig11build_graphERKNS_9ModelSpecEii");
Program
real_lower(const Graph& graph, const std::vector<int>& keep, const Precision& precision) asm(
    "__real__ZN3vig5lowerERKNS_5GraphERKSt6vectorIiSaIiEERKNS_9PrecisionE");

Graph counted_build_graph(const ModelSpec& spec, int height,
                          int width) asm("__wrap__ZN3vig11build_graphERKNS_9ModelSpecEii");
Graph counted_build_graph(const ModelSpec& spec, int height, int width) {
  ++g_graphs;
  return real_build_graph(spec, height, width);
}

Program
counted_lower(const Graph& graph, const std::vector<int>& keep, const Precision& precision) asm(
    "__wrap__ZN3vig5lowerERKNS_5GraphERKSt6vectorIiSaIiEERKNS_9PrecisionE");
Program counted_lower(const Graph& graph, const std::vector<int>& keep,
                      const Precision& precision) {
  ++g_lowerings;
  return real_lower(graph, keep, precision);
}

namespace {

using Counts = std::pair<int, int>;  // graphs, lowerings

template <typename Function>
Counts counts_of(Function&& function) {
  g_graphs = g_lowerings = 0;
  function();
  return {g_graphs, g_lowerings};
}

class BuildCounts : public ::testing::Test {
 protected:
  void SetUp() override {
    ModelRequest request;
    request.model = golden("vig-mini-silu.pth");
    request.arch = "test_vig";
    save_model(find_source(request), file_);
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
TEST_F(BuildCounts, OneGraphAndOneLoweringForOneImage) {
  const auto classify = [&](const RunOptions& options) {
    return counts_of([&] { Classifier(find_source(request()), options).classify(one_, 5); });
  };
  EXPECT_EQ(classify({.threads = 2, .batch = 0, .images = 1}), Counts(1, 1));
  // The file is checked for its own size before it runs at another.
  EXPECT_EQ(classify({.threads = 2, .batch = 0, .size = 96, .images = 1}), Counts(2, 1));
}

TEST_F(BuildCounts, AnotherImageNeedsNoMore) {
  const Classifier classifier(find_source(request()), {.threads = 1});
  EXPECT_EQ(counts_of([&] { classifier.classify(one_, 5); }), Counts(0, 0));
  EXPECT_EQ(counts_of([&] { classifier.classify(one_, 5, 96); }), Counts(1, 1));
  EXPECT_EQ(counts_of([&] { classifier.classify(one_, 5, 96); }), Counts(0, 0));
}

}  // namespace
}  // namespace vig::test
