// The text beside a golden case, which is not trusted.
#include "vig/verify/golden_case.h"

#include <gtest/gtest.h>

#include "pipeline/fixtures.h"

namespace vig::test {
namespace {

const Shape kInput = {2, 3, 32, 48};

GoldenConfig parse(const std::string& config, const std::string& more = "") {
  return parse_golden_config("case.json",
                             R"({"config": {"family": "vig")" + config + "}" + more + "}", kInput);
}

TEST(GoldenConfig, SizesThatItStatesAreThoseOfTheInput) {
  EXPECT_NO_THROW(
      parse(R"(, "batch": 2, "height": 32, "width": 48, "run_img_size": [32, 48], "seed": 7)"));
  for (const std::string wrong : {R"("batch": 3)", R"("height": 48)", R"("width": 32)",
                                  R"("run_img_size": [48, 32])", R"("width": "48")"}) {
    const std::string message = error_of([&] { parse(", " + wrong); });
    const std::string key = wrong.substr(1, wrong.find(':') - 2);
    EXPECT_TRUE(message.starts_with("case.json: " + key + " is ")) << message;
    EXPECT_NE(message.find("but the input is " + kInput.str()), std::string::npos) << message;
  }
}

TEST(GoldenConfig, ArgumentsOfTheOriginalCodeAreFields) {
  const ModelSpec spec =
      parse(R"(, "num_classes": 7, "num_heads": 4, "embed_dim": 96, "img_size": [48, 48])").spec;
  const auto fields = model_fields(spec);
  EXPECT_EQ(fields.at("classes"), "7");
  EXPECT_EQ(fields.at("heads"), "4");
  EXPECT_EQ(fields.at("embed_dim"), "96");
  EXPECT_EQ(fields.at("image_size"), "48");
  EXPECT_NE(error_of([] { parse(R"(, "depth": 257)"); }).find("257 blocks"), std::string::npos);
}

// Names of tensors, or shapes by the names of modules.
TEST(GoldenConfig, PromisesAreNames) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(parse("").activations, Names());
  EXPECT_EQ(parse("", R"(, "activations": ["act/norm", "x"])").activations,
            (Names{"act/norm", "x"}));
  EXPECT_EQ(parse("", R"(, "activations": {"norm": [1, 2]})").activations, Names{"act/norm"});
  for (const char* bad : {R"(["act/norm", 3])", "\"act/norm\"", "3"}) {
    const std::string message =
        error_of([&] { parse("", std::string(R"(, "activations": )") + bad); });
    EXPECT_TRUE(message.starts_with("case.json: expected \"activations\" to be ")) << message;
  }
}

}  // namespace
}  // namespace vig::test
