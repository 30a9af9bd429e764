// `vig convert IN OUT.onnx` as its users see it.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstring>

#include "cli/vig.h"
#include "vig/models/family.h"
#include "vig/weights/load.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

::onnx::ModelProto read_model(const std::string& file) {
  ::onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(read_file(file)));
  return model;
}

std::map<std::string, std::string> metadata(const ::onnx::ModelProto& model) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : model.metadata_props()) entries[entry.key()] = entry.value();
  return entries;
}

class ConvertToOnnx : public ::testing::Test {
 protected:
  TempDir folder_;
  std::string model_ = make_model(folder_);
  std::string out_ = (folder_ / "model.onnx").string();
};

TEST_F(ConvertToOnnx, TheFileSaysWhatItIs) {
  const RunResult result = vig({"convert", model_, out_});
  expect_success(result);
  EXPECT_NE(result.out.find("10 classes with names, opset 17, image [batch, 3, 64, 64], "),
            std::string::npos)
      << result.out;
  auto entries = metadata(read_model(out_));
  EXPECT_EQ(entries["vig.arch"], "test_vig");
  EXPECT_TRUE(entries["vig.classes"].starts_with("[\"ant\",\"bee\"")) << entries["vig.classes"];
  EXPECT_EQ(nlohmann::json::parse(entries["vig.recipe"])["crop"], 64);
  EXPECT_EQ(entries["vig.overrides"], "{}");
  EXPECT_EQ(entries["vig.source"], "model.safetensors") << "no folders of this machine";
  EXPECT_EQ(entries["vig.source_bytes"], std::to_string(fs::file_size(model_)));
  EXPECT_FALSE(entries["vig.version"].empty());
  EXPECT_EQ(entries.count("vig.weights"), 0u);
}

TEST_F(ConvertToOnnx, OfAnySizeTheModelRuns) {
  expect_success(vig({"convert", model_, out_, "--size", "48x80"}));
  const ::onnx::ModelProto model = read_model(out_);
  const auto& shape = model.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(2).dim_value(), 48);
  EXPECT_EQ(shape.dim(3).dim_value(), 80);
}

// A small file must not fill the memory by a large input of its own, as in all commands.
TEST_F(ConvertToOnnx, TheFilesOwnSizeIsBounded) {
  const std::string large = (folder_ / "large.safetensors").string();
  expect_success(vig({"convert", model_, large, "--size", "8192"}));
  const std::string words = large + ": 1 image of 8192x8192 would take the time of";
  expect_complaint(vig({"classify", "-m", large, data("image/photos/cat_chelsea.png")}), 1, words);
  expect_complaint(vig({"convert", large, out_}), 1, words);
  EXPECT_FALSE(fs::exists(out_));
  expect_success(vig({"convert", large, out_, "--size", "64"}));
}

TEST_F(ConvertToOnnx, OptionsReachTheFile) {
  const RunResult result = vig({"convert", model_, out_, "--ort", "--output", "pooled"});
  expect_success(result);
  EXPECT_NE(result.out.find("opset 17 and com.microsoft, image [batch, 3, 64, 64], "),
            std::string::npos)
      << result.out;
  const ::onnx::ModelProto model = read_model(out_);
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(1).domain(), "com.microsoft");
  ASSERT_EQ(model.graph().output_size(), 1);
  EXPECT_EQ(model.graph().output(0).name(), "pooled");
  const RunResult any =
      vig({"convert", "--random", "test_resnet", out_, "--size", "any", "--force"});
  expect_success(any);
  EXPECT_NE(any.out.find("image [batch, 3, height, width], "), std::string::npos) << any.out;
  const ::onnx::ModelProto symbolic = read_model(out_);
  const auto& shape = symbolic.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(2).dim_param(), "height");
  EXPECT_EQ(shape.dim(3).dim_param(), "width");
}

// The codes of a file, and their scales, by name.
std::map<std::string, std::string> stored_codes(const ::onnx::ModelProto& model) {
  std::map<std::string, std::string> found;
  for (const ::onnx::TensorProto& tensor : model.graph().initializer()) {
    const bool codes = tensor.data_type() == ::onnx::TensorProto::INT8;
    if (codes || tensor.name().ends_with("_scale")) found[tensor.name()] = tensor.raw_data();
  }
  return found;
}

// Products of an int8 file are those of the float file that it was made from. Its convolutions,
// which stay float, have its rounded weights.
TEST_F(ConvertToOnnx, Int8FromFloatsAndFromCodes) {
  const std::string stored = (folder_ / "codes.safetensors").string();
  const std::string again = (folder_ / "again.onnx").string();
  const RunResult result = vig({"convert", model_, out_, "--dtype", "int8"});
  expect_success(result);
  EXPECT_NE(result.out.find("with names, float32 and int8, opset 17, image"), std::string::npos)
      << result.out;
  expect_success(vig({"convert", model_, stored, "--dtype", "int8"}));
  expect_success(vig({"convert", stored, again, "--dtype", "int8"}));
  const auto codes = stored_codes(read_model(out_));
  EXPECT_GE(codes.size(), 2u * 8);
  EXPECT_TRUE(codes == stored_codes(read_model(again)));
  // Floats unless int8 is requested, also from codes.
  expect_success(vig({"convert", stored, again, "--force"}));
  const ::onnx::ModelProto floats = read_model(again);
  for (const ::onnx::TensorProto& tensor : floats.graph().initializer()) {
    EXPECT_NE(tensor.data_type(), ::onnx::TensorProto::INT8) << tensor.name();
  }
  expect_success(vig({"convert", model_, again, "--dtype", "int8", "--float-layers", "blocks.0.*",
                      "--float-layers", "blocks.1.mlp.*", "--force"}));
  int left = 0;
  const ::onnx::ModelProto some = read_model(again);
  for (const ::onnx::TensorProto& tensor : some.graph().initializer()) {
    if (tensor.data_type() != ::onnx::TensorProto::INT8) continue;
    EXPECT_TRUE(tensor.name().starts_with("blocks.1.")) << tensor.name();
    EXPECT_EQ(tensor.name().find(".mlp."), std::string::npos) << tensor.name();
    ++left;
  }
  EXPECT_GT(left, 0);
}

TEST_F(ConvertToOnnx, SaysWhatCannotBeInt8) {
  expect_complaint(vig({"convert", "--random", "test_resnet", out_, "--dtype", "int8"}), 2,
                   "convolutions stay float32");
  expect_complaint(vig({"convert", model_, out_, "--dtype", "int8", "--float-layers", "head"}), 2,
                   "\"head\": no layer of that name would be computed in int8");
  expect_complaint(vig({"convert", model_, out_, "--float-layers", "*"}), 2, "--dtype");
  expect_complaint(vig({"convert", model_, out_, "--dtype", "float32", "--float-layers", "*"}), 2,
                   "--float-layers is for --dtype int8");
  expect_complaint(vig({"convert", model_, out_, "--dtype", "bfloat16"}), 2,
                   "--dtype bfloat16: an ONNX file holds float32 or int8");
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(ConvertToOnnx, RandomWeightsAreThoseOfEveryCommand) {
  const std::string weights = (folder_ / "random.safetensors").string();
  expect_complaint(vig({"convert", "test_vig", out_}), 2, "--random");
  expect_complaint(vig({"convert", model_, out_, "--random"}), 2, "is a weight file");
  EXPECT_FALSE(fs::exists(out_));
  const RunResult named = vig({"convert", "--random", "test_vig", out_});
  expect_success(named);
  EXPECT_NE(named.out.find("random weights"), std::string::npos) << named.out;
  EXPECT_EQ(metadata(read_model(out_))["vig.weights"], "random");
  // The same file through safetensors, but for what it says of its source.
  expect_success(vig({"convert", "--random", "test_vig", weights}));
  EXPECT_EQ(SafeTensors::open(weights).metadata().at("vig.weights"), "random");
  const std::string again = (folder_ / "again.onnx").string();
  expect_success(vig({"convert", weights, again}));
  EXPECT_EQ(read_model(out_).graph().SerializeAsString(),
            read_model(again).graph().SerializeAsString());
  // And of source_weights, which vig bench takes.
  const Graph graph = build_graph(find_model("test_vig"), 64, 64);
  const auto expected = random_weights(graph.params, 1);
  const SafeTensors file = SafeTensors::open(weights);
  for (size_t i = 0; i < expected->size(); ++i) {
    const NamedTensor* tensor = file.find(expected->spec(i).name);
    ASSERT_NE(tensor, nullptr) << expected->spec(i).name;
    EXPECT_EQ(std::memcmp(tensor->view.data, expected->data(i), tensor->view.bytes()), 0);
  }
}

TEST_F(ConvertToOnnx, ChecksItsOptions) {
  const std::string safetensors = (folder_ / "other.safetensors").string();
  expect_complaint(vig({"convert", model_, out_, "--size", "any"}), 2, "add_position (pos_embed)");
  expect_complaint(vig({"convert", model_, out_, "--size", "big"}), 2, "--size big");
  expect_complaint(vig({"convert", model_, out_, "--dtype", "float16"}), 2, "float32");
  expect_complaint(vig({"convert", model_, out_, "--output", "nothing"}), 2, "nothing");
  expect_complaint(vig({"convert", model_, safetensors, "--ort"}), 2, "--ort");
  expect_complaint(vig({"convert", model_, safetensors, "--size", "64x48"}), 2, "--size 64x48");
  expect_complaint(vig({"convert", model_, safetensors, "--output", "pooled"}), 2, "--output");
  expect_complaint(vig({"convert", "--random", "test_gmlp", out_, "--size", "96"}), 2,
                   "the image is 96 x 96, expected 64 x 64");
  expect_complaint(vig({"convert", model_, (folder_ / "no/such/folder/x.onnx").string()}), 1,
                   "no/such/folder");
  expect_complaint(vig({"convert", (folder_ / "no.pth").string(), out_}), 1, "no.pth");
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_FALSE(fs::exists(safetensors));
  write_file(out_, "mine");
  expect_complaint(vig({"convert", model_, out_}), 1, "--force");
  EXPECT_EQ(read_file(out_), "mine");
  expect_complaint(vig({"convert", out_, out_, "--force"}), 2, "model.onnx");
}

TEST_F(ConvertToOnnx, TheHelpIsThatOfBothPrograms) {
  const RunResult own = vig({"convert", "--help"});
  const RunResult helper = vig({"convert", "x.onnx", "--help"});
  expect_success(own);
  EXPECT_EQ(own.out, helper.out);
  for (const char* option : {"--ort", "--random", "--size", "--output", ".onnx"}) {
    EXPECT_NE(own.out.find(option), std::string::npos) << option;
  }
}

}  // namespace
}  // namespace vig::test
