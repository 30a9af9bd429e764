#include "vig/pipeline/model_source.h"

#include <gtest/gtest.h>

#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/pipeline/save_model.h"
#include "vig/weights/model_info.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

using Known = ModelSource::Known;

ModelRequest request(const std::string& model, const std::string& arch = "",
                     std::map<std::string, std::string> fields = {}) {
  ModelRequest request;
  request.model = model;
  request.arch = arch;
  request.fields = std::move(fields);
  return request;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ModelSource, ANameHasNoWeights) {
  const ModelSource source = find_source(request("vig_t"));
  EXPECT_EQ(source.known, Known::kByName);
  EXPECT_FALSE(source.has_weights());
  ErrorCode code = ErrorCode::kInput;
  EXPECT_TRUE(contains(error_of([&] { require_weights(source); }, &code), "carries no weights"));
  EXPECT_EQ(code, ErrorCode::kUsage);
}

TEST(ModelSource, ANameTakesFields) {
  const ModelSource source =
      find_source(request("vig_t", "", {{"classes", "7"}, {"image_size", "64"}}));
  EXPECT_EQ(model_classes(source.spec), 7);
  EXPECT_EQ(source.spec.recipe.crop, 64);
  const std::map<std::string, std::string> changed = {{"classes", "7"}, {"image_size", "64"}};
  EXPECT_EQ(changed_fields(source.spec), changed);
}

TEST(ModelSource, RandomWeightsAreTheSameEveryTime) {
  const ModelSource source = find_source(request("test_vig"));
  const auto a = source_weights(source), b = source_weights(source);
  for (size_t i = 0; i < a->size(); ++i) EXPECT_EQ(a->data(i)[0], b->data(i)[0]);
}

TEST(ModelSource, UnknownNamesAndFiles) {
  ErrorCode code = ErrorCode::kInput;
  EXPECT_TRUE(contains(error_of([] { find_source(request("vig_x")); }, &code), "vig_h_b"));
  EXPECT_EQ(code, ErrorCode::kUsage);
  EXPECT_TRUE(contains(error_of([] { find_source(request("none.pth")); }, &code), "none.pth"));
  EXPECT_EQ(code, ErrorCode::kInput);
}

TEST(ModelSource, PublishedCheckpointIsRecognised) {
  const TempDir folder;
  ModelSpec spec = find_model("vig_t");
  override_fields(spec, {{"classes", "17"}, {"image_size", "64"}});
  const std::string file = (folder / "published.safetensors").string();
  write_bare(spec, file);
  const ModelSource source = find_source(request(file));
  EXPECT_EQ(source.known, Known::kByShapes);
  EXPECT_EQ(source.spec.name, "vig_t");
  EXPECT_EQ(model_fields(source.spec), model_fields(spec));
  EXPECT_EQ(source.spec.recipe, spec.recipe);
  EXPECT_EQ(source_weights(source)->size(), source.checkpoint->tensors().size());
}

TEST(ModelSource, AmbiguousCheckpointMustBeNamed) {
  const TempDir folder;
  const std::string file = (folder / "roadmap.safetensors").string();
  write_bare(find_model("gla_t_bidirectional"), file);
  const std::string message = error_of([&] { find_source(request(file)); });
  EXPECT_TRUE(contains(message, "gla_t_stem and gla_t_bidirectional")) << message;
  EXPECT_EQ(find_source(request(file, "gla_t_stem")).spec.name, "gla_t_stem");
}

TEST(ModelSource, MiniatureIsNeverGuessed) {
  // Its shapes do not tell whether there is a SiLU after the depthwise convolution.
  EXPECT_TRUE(
      contains(error_of([] { find_source(request(golden("vig-mini-silu.pth"))); }), "--arch"));
  const ModelSource source = find_source(request(golden("vig-mini-silu.pth"), "test_vig"));
  EXPECT_EQ(source.known, Known::kByHand);
}

TEST(ModelSource, ArchTakesClassesAndSizeFromTheTensors) {
  const TempDir folder;
  ModelSpec spec = find_model("test_vig");
  override_fields(spec, {{"classes", "3"}, {"image_size", "96"}, {"depth", "1"}});
  const std::string file = (folder / "own.safetensors").string();
  write_bare(spec, file);
  const ModelSource source = find_source(request(file, "test_vig", {{"depth", "1"}}));
  EXPECT_EQ(model_fields(source.spec), model_fields(spec));
  EXPECT_EQ(source.spec.recipe.crop, 96);
  source_weights(source);
  // What is said by hand wins, and then does not fit.
  const ModelSource wrong =
      find_source(request(file, "test_vig", {{"depth", "1"}, {"classes", "4"}}));
  EXPECT_TRUE(contains(error_of([&] { source_weights(wrong); }), "head.weight"));
}

TEST(ModelSource, SavedModelDescribesItself) {
  const TempDir folder;
  const std::string saved = (folder / "saved.safetensors").string();
  ModelSource source = find_source(request(golden("vig-mini-silu.pth"), "test_vig"));
  source.classes = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  source.spec.recipe.resize = 64;
  source.spec.recipe.interpolation = Interpolation::kBilinear;
  save_model(source, saved);
  const ModelSource again = find_source(request(saved));
  EXPECT_EQ(again.known, Known::kByMetadata);
  EXPECT_EQ(again.classes, source.classes);
  EXPECT_EQ(again.spec.recipe, source.spec.recipe);
  EXPECT_EQ(model_fields(again.spec), model_fields(source.spec));
  const ModelSource by_hand = find_source(request(saved, "test_vig"));
  EXPECT_EQ(by_hand.known, Known::kByHand);
  EXPECT_EQ(by_hand.classes, source.classes) << "naming the model leaves the file's other words";
  EXPECT_EQ(by_hand.spec.recipe, source.spec.recipe);
  const auto before = source_weights(source), after = source_weights(again);
  for (size_t i = 0; i < before->size(); ++i) {
    const auto count = static_cast<size_t>(before->spec(i).shape.elements());
    EXPECT_EQ(std::vector<float>(before->data(i), before->data(i) + count),
              std::vector<float>(after->data(i), after->data(i) + count));
  }
}

TEST(ModelSource, ATrainingCheckpointIsNoNetwork) {
  const TempDir folder;
  const std::string file = (folder / "checkpoint.safetensors").string();
  const float value = 1;
  const NamedTensor tensor{"values", {&value, DType::kF32, Shape{1}}};
  write_safetensors(file, {&tensor, 1}, {{"vig.train.run", "{}"}});
  EXPECT_TRUE(contains(error_of([&] { find_source(request(file)); }), "best.safetensors"));
}

TEST(ModelSource, HalfPrecisionIsHalfAsLong) {
  const TempDir folder;
  const ModelSource source = find_source(request(golden("vig-mini-silu.pth"), "test_vig"));
  save_model(source, (folder / "full").string());
  save_model(source, (folder / "half").string(), Precision::kHalf);
  EXPECT_LT(std::filesystem::file_size(folder / "half"),
            std::filesystem::file_size(folder / "full") * 6 / 10);
  const ModelSource half = find_source(request((folder / "half").string()));
  EXPECT_NEAR(source_weights(half)->find("norm.weight")[0],
              source_weights(source)->find("norm.weight")[0], 1e-3f);
}

TEST(ModelSource, HostileMetadataIsAnInputError) {
  const TempDir folder;
  const std::string file = (folder / "hostile.safetensors").string();
  const std::map<std::string, std::string> cases[] = {
      {{"vig.arch", "vig_z"}},
      {{"vig.arch", "vig_t"}, {"vig.overrides", R"({"depth": 1048576})"}},
      {{"vig.arch", "vig_t"}, {"vig.overrides", R"({"no_such_field": 1})"}},
      {{"vig.arch", "vig_h_t"}, {"vig.overrides", R"({"depths": "1048576,1,1,1"})"}},
      {{"vig.arch", "vig_t"}, {"vig.overrides", R"({"image_size": 60000})"}},
      {{"vig.arch", "test_vig"}, {"vig.classes", R"(["only", "two"])"}},
      {{"vig.arch", "vig_t"}, {"vig.overrides", R"({"classes": "many"})"}},
  };
  const float one = 1;
  for (const Metadata& metadata : cases) {
    write_safetensors(file, std::vector<NamedTensor>{{"x", {&one, DType::kF32, Shape{1}}}},
                      metadata);
    ErrorCode code = ErrorCode::kUsage;
    const std::string message = error_of([&] { find_source(request(file)); }, &code);
    EXPECT_EQ(code, ErrorCode::kInput) << message;
    EXPECT_TRUE(message.starts_with(file)) << message;
  }
}

TEST(ModelSource, HostileShapesAreAnInputError) {
  const TempDir folder;
  const std::string file = (folder / "hostile.safetensors").string();
  write_safetensors(file, std::vector<NamedTensor>{
                              {"head.weight", {nullptr, DType::kF32, Shape{int64_t{1} << 40, 0}}},
                              {"pos_embed", {nullptr, DType::kF32, Shape{1, int64_t{1} << 40, 0}}},
                          });
  ErrorCode code = ErrorCode::kUsage;
  error_of([&] { find_source(request(file)); }, &code);
  EXPECT_EQ(code, ErrorCode::kInput);
  code = ErrorCode::kUsage;
  error_of([&] { find_source(request(file, "vig_t")); }, &code);
  EXPECT_EQ(code, ErrorCode::kInput);
}

}  // namespace
}  // namespace vig::test
