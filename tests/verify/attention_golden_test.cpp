// DeiT, Swin and gMLP in golden cases and as checkpoints.
#include <gtest/gtest.h>

#include <map>

#include "pipeline/fixtures.h"
#include "support/golden_case.h"
#include "support/tree.h"
#include "vig/pipeline/recognise.h"
#include "vig/verify/verify.h"

namespace vig::test {
namespace {

TEST(AttentionGolden, AWrongActivationOrParameterFails) {
  const TempDir folder;
  for (const std::string tensor : {"act/layers.0.blocks.1", "act/layers.1.downsample", "output",
                                   "param/layers.0.blocks.1.attn.relative_position_bias_table",
                                   "param/layers.0.blocks.0.attn.qkv.bias"}) {
    const std::string file =
        changed_case(std::string(kFixtures) + "/golden/peers/swin_pad.safetensors", folder.path(),
                     [&](std::vector<CaseTensor>& list) {
                       for (float& value : find_tensor(list, tensor).values)
                         value = value * 1.5f + 0.01f;
                     });
    EXPECT_FALSE(verify_case(file).passed()) << tensor;
  }
}

// Published files say nothing of what they are. Swin's window and its buffers show in the tensors;
// the size of the images shows in tables of DeiT and gMLP.
TEST(AttentionGolden, PublishedCheckpointsAreRecognised) {
  const TempDir folder;
  struct Case {
    std::string model;
    std::map<std::string, std::string> fields;
  };
  const Case cases[] = {{"deit_t", {{"image_size", "384"}, {"classes", "12"}}},
                        {"gmlp_t", {{"image_size", "160"}}},
                        {"swin_t", {{"window_size", "12"}, {"image_size", "384"}}}};
  for (const Case& c : cases) {
    ModelSpec spec = find_model(c.model);
    override_fields(spec, c.fields);
    const std::string file = (folder / "bare.safetensors").string();
    write_bare(spec, file);
    const auto matches =
        matching_models(std::make_shared<const Checkpoint>(Checkpoint::open(file)));
    ASSERT_EQ(matches.size(), 1u) << c.model;
    EXPECT_EQ(matches[0].spec.name, c.model);
    EXPECT_EQ(model_fields(matches[0].spec), model_fields(spec)) << c.model;
  }
}

}  // namespace
}  // namespace vig::test
