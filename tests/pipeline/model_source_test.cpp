#include "vig/pipeline/model_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

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
  // Its shapes do not show whether there is a SiLU after the depthwise convolution.
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
  const std::string full = (folder / "full.safetensors").string();
  const std::string half = (folder / "half.safetensors").string();
  EXPECT_EQ(save_model(source, full), std::set{DType::kF32});
  EXPECT_EQ(save_model(source, half, DType::kF16), std::set{DType::kF16});
  EXPECT_LT(std::filesystem::file_size(half), std::filesystem::file_size(full) * 6 / 10);
  const ModelSource halved = find_source(request(half));
  EXPECT_NEAR(source_weights(halved)->find("norm.weight")[0],
              source_weights(source)->find("norm.weight")[0], 1e-3f);
}

TEST(ModelSource, TheStoredTypeStays) {
  const TempDir folder;
  const std::string path = (folder / "saved.safetensors").string();
  const std::string again = (folder / "again.safetensors").string();
  const ModelSource source = find_source(request(golden("vig-mini-silu-half-ddp.pth"), "test_vig"));
  EXPECT_EQ(save_model(source, path), std::set{DType::kF16});
  const auto expect_same_bytes = [](const Checkpoint& a, const Checkpoint& b) {
    ASSERT_EQ(a.tensors().size(), b.tensors().size());
    for (const NamedTensor& tensor : a.tensors()) {
      const NamedTensor* other = b.find(tensor.name);
      ASSERT_NE(other, nullptr);
      ASSERT_EQ(other->view.dtype, tensor.view.dtype);
      ASSERT_EQ(std::memcmp(other->view.data, tensor.view.data, tensor.view.bytes()), 0);
    }
  };
  expect_same_bytes(*source.checkpoint, Checkpoint::open(path));
  // There and back: widening loses nothing.
  EXPECT_EQ(save_model(find_source(request(path)), again, DType::kF32), std::set{DType::kF32});
  EXPECT_EQ(save_model(find_source(request(again)), path, DType::kF16), std::set{DType::kF16});
  expect_same_bytes(*source.checkpoint, Checkpoint::open(path));
  EXPECT_EQ(save_model(find_source(request(again)), path, DType::kBF16), std::set{DType::kBF16});
  const float exact = source_weights(source)->find("norm.weight")[0];
  EXPECT_NEAR(source_weights(find_source(request(path)))->find("norm.weight")[0], exact,
              std::abs(exact) / 128);
}

TEST(ModelSource, ValuesThatDoNotFitTheTypeAreNotRounded) {
  const TempDir folder;
  const std::string file = (folder / "large.safetensors").string();
  const Graph graph = build_graph(find_model("test_vig"), 64, 64);
  const auto weights = random_weights(graph.params, 1);
  std::vector<NamedTensor> tensors;
  std::vector<float> norm(64, 1e6f);
  for (size_t i = 0; i < weights->size(); ++i) {
    const ParamSpec& spec = weights->spec(i);
    const float* data = spec.name == "norm.weight" ? norm.data() : weights->data(i);
    tensors.push_back({spec.name, {data, DType::kF32, spec.shape}});
  }
  write_safetensors(file, tensors, {{"vig.arch", "test_vig"}});
  const std::string out = (folder / "out.safetensors").string();
  const ModelSource source = find_source(request(file));
  EXPECT_EQ(error_of([&] { save_model(source, out, DType::kF16); }),
            file + ": tensor \"norm.weight\" holds 1000000, which F16 cannot");
  EXPECT_FALSE(std::filesystem::exists(out));
  save_model(source, out, DType::kBF16);
}

TEST(ModelSource, TheFormatFollowsTheName) {
  const TempDir folder;
  const ModelSource source = find_source(request(golden("vig-mini-silu.pth"), "test_vig"));
  for (const char* name : {"x.onnx", "x.pth", "x", "safetensors"}) {
    const std::string path = (folder / name).string();
    ErrorCode code = ErrorCode::kInput;
    EXPECT_EQ(error_of([&] { save_model(source, path); }, &code),
              path +
                  ": the format follows the name, which ends in .safetensors, or in .onnx for vig "
                  "convert");
    EXPECT_EQ(code, ErrorCode::kUsage);
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST(ModelSource, AModelInMemoryIsAsGoodAsAFile) {
  const TempDir folder;
  const std::string saved = (folder / "x.safetensors").string();
  save_model(find_source(request(golden("vig-mini-silu.pth"), "test_vig")), saved);
  const std::pair<std::string, std::string> files[] = {{saved, ""},
                                                       {golden("vig-mini-silu.pth"), "test_vig"}};
  for (const auto& [file, arch] : files) {
    const ModelSource from_file = find_source(request(file, arch));
    auto bytes = std::make_shared<const std::string>(read_file(file));
    const std::span view(reinterpret_cast<const unsigned char*>(bytes->data()), bytes->size());
    // A name of the zoo does not matter here: there are bytes.
    const ModelSource source = find_source(request("vig_t", arch), view, std::move(bytes));
    EXPECT_EQ(source.name, "vig_t");
    EXPECT_EQ(source.spec.name, "test_vig");
    EXPECT_EQ(source.known, from_file.known);
    EXPECT_EQ(source.classes, from_file.classes);
    EXPECT_EQ(source.checkpoint->file_bytes(), view.size());
    const auto expected = source_weights(from_file), weights = source_weights(source);
    ASSERT_EQ(weights->size(), expected->size());
    for (size_t i = 0; i < weights->size(); ++i) {
      const auto count = static_cast<size_t>(weights->spec(i).shape.elements());
      EXPECT_EQ(std::memcmp(weights->data(i), expected->data(i), count * sizeof(float)), 0);
    }
  }
}

TEST(ModelSource, BytesThatAreNoModelAreNamedAsTheCallerSays) {
  const std::string text = read_file(golden("vig-mini-silu.pth"));
  const std::span bytes(reinterpret_cast<const unsigned char*>(text.data()), text.size());
  EXPECT_TRUE(
      error_of([&] { find_source(request("an upload"), bytes); }).starts_with("an upload: "));
  for (const size_t length : {size_t{0}, size_t{3}, text.size() / 2}) {
    ErrorCode code = ErrorCode::kUsage;
    const auto find = [&] { find_source(request("an upload", "test_vig"), bytes.first(length)); };
    EXPECT_TRUE(error_of(find, &code).starts_with("an upload: ")) << length;
    EXPECT_EQ(code, ErrorCode::kInput);
  }
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
      // Each field has a value that it may have, but not beside the others.
      {{"vig.arch", "vig_t"}, {"vig.overrides", R"({"heads": 5})"}},
      {{"vig.arch", "vig_t"}, {"vig.overrides", R"({"embed_dim": 191})"}},
      {{"vig.arch", "vig_t"}, {"vig.overrides", R"({"patch_size": 6})"}},
      {{"vig.arch", "vig_t"}, {"vig.overrides", R"({"expand_v": "2"})"}},
      {{"vig.arch", "vig_t"}, {"vig.overrides", R"({"image_size": 2})"}},
      {{"vig.arch", "vig_h_t"}, {"vig.overrides", R"({"depths": "2,2"})"}},
      {{"vig.arch", "vig_h_t"}, {"vig.overrides", R"({"patch_size": 8})"}},
      {{"vig.arch", "vig_t"}, {"vig.overrides", R"({"depth": 2, "depth": 3})"}},
      {{"vig.arch", "vig_t"},
       {"vig.recipe", R"({"resize":9,"crop":9,"crop":9,"interpolation":"bicubic",)"
                      R"("mean":[0,0,0],"std":[1,1,1]})"}},
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

TEST(ModelSource, PositionTablesThatClaimEverythingAndHoldNothing) {
  const TempDir folder;
  const std::string file = (folder / "hostile.safetensors").string();
  for (const int64_t rows :
       {INT64_MAX, INT64_MAX - 1, int64_t{1} << 62, (int64_t{1} << 32) + 1, int64_t{0}}) {
    SCOPED_TRACE(rows);
    write_safetensors(
        file, std::vector<NamedTensor>{{"pos_embed", {nullptr, DType::kF32, Shape{0, rows, 1}}}});
    ErrorCode code = ErrorCode::kUsage;
    EXPECT_TRUE(contains(error_of([&] { find_source(request(file)); }, &code), "--arch"));
    EXPECT_EQ(code, ErrorCode::kInput);
    // No image size follows from it.
    EXPECT_EQ(find_source(request(file, "vig_t")).spec.recipe.crop, 224);
  }
}

TEST(ModelSource, FieldsThatACallerGivesAreTheCallers) {
  const TempDir folder;
  const std::string file = (folder / "model.safetensors").string();
  write_bare(find_model("test_vig"), file, {{"vig.arch", "test_vig"}});
  for (const char* arch : {"", "test_vig"}) {
    SCOPED_TRACE(arch);
    ErrorCode code = ErrorCode::kInput;
    const std::string message = error_of(
        [&] {
          find_source(request(file, arch, {{"heads", "5"}}));
        },
        &code);
    EXPECT_EQ(code, ErrorCode::kUsage) << message;
    EXPECT_TRUE(contains(message, "5 heads")) << message;
  }
}

TEST(ModelSource, ASmallFileMayNotAskForAHugeImage) {
  const TempDir folder;
  const std::string file = (folder / "model.safetensors").string();
  const auto with_crop = [&](int crop, const std::string& fields) {
    write_bare(find_model("test_vig"), file,
               {{"vig.arch", "test_vig"},
                {"vig.overrides", fields},
                {"vig.recipe", fmt::format(R"({{"resize":{0},"crop":{0},"interpolation":"bicubic",)"
                                           R"("mean":[0,0,0],"std":[1,1,1]}})",
                                           crop)}});
    return find_source(request(file));
  };
  check_own_work(with_crop(1024, "{}"));
  const std::string memory = error_of([&] { check_own_work(with_crop(2800, "{}")); });
  EXPECT_TRUE(memory.starts_with(file + ": 1 image of 2800x2800 would make a value of ")) << memory;
  EXPECT_TRUE(contains(memory, "--size")) << memory;
  // Many blocks on an image whose values are small: work.
  const std::string work = error_of([&] { check_own_work(with_crop(1024, R"({"depth": 200})")); });
  EXPECT_TRUE(contains(work, "would take the time of ")) << work;
}

}  // namespace
}  // namespace vig::test
