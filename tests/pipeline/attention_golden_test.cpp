// Golden cases of attention notice what is wrong.
#include <gtest/gtest.h>

#include "support/golden_case.h"
#include "vig/pipeline/verify.h"

namespace vig::test {
namespace {

TEST(AttentionGolden, AWrongActivationOrParameterFails) {
  const TempDir folder;
  for (const std::string& tensor : {"act/layers.0.blocks.1", "act/layers.1.downsample", "output",
                                    "param/layers.0.blocks.1.attn.relative_position_bias_table",
                                    "param/layers.0.blocks.0.attn.qkv.bias"}) {
    const std::string file =
        changed_case(std::string(VIG_TEST_DATA) + "/golden/peers/swin_pad.safetensors",
                     folder.path(), [&](std::vector<CaseTensor>& list) {
                       for (float& value : find_tensor(list, tensor).values)
                         value = value * 1.5f + 0.01f;
                     });
    EXPECT_FALSE(verify_case(file).passed()) << tensor;
  }
}

}  // namespace
}  // namespace vig::test
