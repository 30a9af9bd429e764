// Golden cases of the families with recurrences in training's forward passes.
#include <gtest/gtest.h>

#include "support/peers.h"
#include "train/golden_tensors.h"
#include "vig/train/forward.h"

namespace vig::train {
namespace {

TEST(ScanPeers, HaveTheOriginalsLogitsInTraining) {
  const std::vector<std::string> files = test::peer_cases({"vim", "vrwkv", "vmamba"});
  ASSERT_GE(files.size(), 6u);
  for (const std::string& file : files) {
    const GoldenCase golden = open_golden_case(file);
    const at::Tensor input = case_input(golden);
    for (const GoldenVersion& version : golden.versions) {
      const Graph graph = case_graph(version.spec, input);
      const Parameters parameters = case_parameters(golden, graph);
      for (const bool kernels : {true, false}) {
        ForwardOptions options;
        options.kernels = kernels;
        const at::Tensor logits = forward_logits(graph, parameters.views(), input, options);
        EXPECT_LE(distance(logits, to_tensor(golden.tensor(version.output))), 2e-5)
            << file << " " << version.output << (kernels ? " on kernels" : " in plain operations");
      }
    }
  }
}

}  // namespace
}  // namespace vig::train
