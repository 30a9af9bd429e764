// Heads, necks and whole miniatures of dense prediction against tensors of the original code, in
// the engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "golden/dense_cases.h"
#include "support/files.h"
#include "support/tree.h"
#include "vig/runtime/session.h"
#include "vig/weights/load.h"

namespace vig::test {
namespace {

class DenseGolden : public testing::TestWithParam<size_t> {};

std::shared_ptr<const Weights> weights_of(const DenseCase& golden, const OperatorCase& file) {
  const TempDir folder;
  std::vector<NamedTensor> tensors;
  for (const ParamSpec& spec : golden.graph.params) {
    tensors.push_back({spec.name, file.view(golden.tensor_of(spec.name))});
  }
  const std::string path = (folder / "weights.safetensors").string();
  write_safetensors(path, tensors);
  return load_weights(golden.graph.params, std::make_shared<Checkpoint>(Checkpoint::open(path)));
}

// The values of these nodes, of all images of the case.
std::vector<std::vector<float>> run(const DenseCase& golden, const OperatorCase& file, int threads,
                                    const std::vector<int>& nodes) {
  SessionOptions options;
  options.batch = static_cast<int>(file.view(golden.inputs[0]).shape[0]);
  options.threads = threads;
  options.keep = nodes;
  Session session(golden.graph, weights_of(golden, file), options);
  for (size_t k = 0; k < golden.inputs.size(); ++k) {
    const std::vector<float> all = rows_of(file, golden.inputs[k]);
    const size_t one = all.size() / static_cast<size_t>(options.batch);
    for (int image = 0; image < options.batch; ++image) {
      std::copy_n(all.begin() + image * static_cast<int64_t>(one), one,
                  session.input(golden.graph.inputs[k].name, image));
    }
  }
  session.run(options.batch);
  std::vector<std::vector<float>> values(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const int64_t count = golden.graph.node(nodes[i]).grid.elements();
    for (int image = 0; image < options.batch; ++image) {
      const float* value = session.value(nodes[i], image);
      values[i].insert(values[i].end(), value, value + count);
    }
  }
  return values;
}

TEST_P(DenseGolden, TheEngineHasTheOriginalsValues) {
  const DenseCase golden = dense_cases()[GetParam()];
  const OperatorCase file = golden.tensors();
  std::vector<int> nodes;
  for (const auto& [node, tensor] : golden.expected) nodes.push_back(node);
  for (const int threads : {1, 3}) {
    const auto values = run(golden, file, threads, nodes);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const std::string& tensor = golden.expected[i].second;
      const std::vector<float> want = rows_of(file, tensor);
      ASSERT_EQ(values[i].size(), want.size()) << tensor;
      EXPECT_LE(relative_distance(values[i], want), golden.tolerance) << tensor;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DenseGolden, testing::Range(size_t{0}, dense_cases().size()),
                         [](const auto& test) {
                           std::string name = dense_cases()[test.param].name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Half-pixel bilinear, as plain as it can be written.
double sample(const float* map, const Grid& grid, double y, double x, int channel) {
  const auto at = [&](int row, int column) {
    row = std::clamp(row, 0, grid.height - 1), column = std::clamp(column, 0, grid.width - 1);
    return double{map[(int64_t{row} * grid.width + column) * grid.channels + channel]};
  };
  y = std::clamp(y, 0.0, grid.height - 1.0), x = std::clamp(x, 0.0, grid.width - 1.0);
  const int row = static_cast<int>(y), column = static_cast<int>(x);
  const double v = y - row, u = x - column;
  return (1 - v) * ((1 - u) * at(row, column) + u * at(row, column + 1)) +
         v * ((1 - u) * at(row + 1, column) + u * at(row + 1, column + 1));
}

TEST(DenseGolden, LogitsOfTheWholeImage) {
  const DenseCase golden = miniature_case("upernet-mini", "test_vig_upernet");
  const OperatorCase file = golden.tensors();
  const int node = golden.graph.find_output("logits");
  const Grid grid = golden.graph.node(node).grid;
  const std::vector<float> logits = run(golden, file, 2, {node})[0];
  std::vector<float> large;
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 96; ++x) {
      for (int c = 0; c < grid.channels; ++c) {
        large.push_back(static_cast<float>(
            sample(logits.data(), grid, (y + 0.5) / 4 - 0.5, (x + 0.5) / 4 - 0.5, c)));
      }
    }
  }
  EXPECT_LE(relative_distance(large, rows_of(file, "logits_whole")), 1e-4);
}

// Nothing of the files' parameters is left over, over all graphs of a model.
TEST(DenseGolden, MiniaturesHaveTheParametersOfTheFiles) {
  for (const auto& [file, model] :
       {std::pair("maskrcnn-mini", "test_vig_maskrcnn"), {"upernet-mini", "test_vig_upernet"}}) {
    std::set<std::string> ours, theirs;
    for (const ParamSpec& spec : build_graph(find_model(model), 64, 96).params) {
      ours.insert("param/" + spec.name);
    }
    const std::string path = std::string(kFixtures) + "/golden/dense/" + file + ".safetensors";
    const SafeTensors tensors = SafeTensors::open(path);
    for (const NamedTensor& tensor : tensors.tensors()) {
      if (tensor.name.starts_with("param/")) theirs.insert(tensor.name);
    }
    EXPECT_EQ(ours, theirs) << model;
  }
}

}  // namespace
}  // namespace vig::test
