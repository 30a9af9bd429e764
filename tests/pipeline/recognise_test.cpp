// Public checkpoints are known by the names and shapes of their tensors.
#include "vig/pipeline/recognise.h"

#include <gtest/gtest.h>

#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/save_model.h"

namespace vig::test {
namespace {

// All zeros, in half precision; with the counters of its batch norms and the unused kernels of
// S4ND, as PyTorch stores them.
void write_zeros(const ModelSpec& spec, const std::string& path) {
  const GridSize size = described_size(spec);
  const Graph graph = build_graph(spec, size.height, size.width);
  int64_t most = 1;
  for (const ParamSpec& param : graph.params) most = std::max(most, param.shape.elements());
  const std::vector<uint16_t> zeros(static_cast<size_t>(most));
  const int64_t count = 7;
  std::vector<NamedTensor> tensors;
  for (const ParamSpec& param : graph.params) {
    const bool whole = param.name.ends_with("l_kernel");
    const TensorView view = whole ? TensorView{&count, DType::kI64, param.shape}
                                  : TensorView{zeros.data(), DType::kF16, param.shape};
    tensors.push_back({param.name, view});
    const size_t kernel = param.name.find("kernel.0");
    if (kernel != std::string::npos) {
      tensors.push_back({std::string(param.name).replace(kernel, 8, "kernel.1"), view});
    }
    if (!param.name.ends_with("running_var")) continue;
    const std::string norm = param.name.substr(0, param.name.rfind('.'));
    tensors.push_back({norm + ".num_batches_tracked", {&count, DType::kI64, Shape{}}});
  }
  write_safetensors(path, tensors);
}

using Fields = std::map<std::string, std::string>;

void expect_recognised(const char* model, const Fields& fields) {
  const TempDir folder;
  ModelSpec spec = find_model(model);
  override_fields(spec, fields);
  const std::string file = (folder / "bare.safetensors").string();
  write_zeros(spec, file);
  ModelRequest request;
  request.model = file;
  const ModelSource source = find_source(request);
  EXPECT_EQ(source.known, ModelSource::Known::kByShapes);
  EXPECT_EQ(source.spec.name, model);
  EXPECT_EQ(changed_fields(source.spec), fields) << model;
}

TEST(Recognise, NetworksOfDensePrediction) {
  expect_recognised("vig_t_upernet", {{"classes", "19"}, {"image_size", "448"}});
  expect_recognised("vig_t_maskrcnn", {{"classes", "20"}});
  expect_recognised("vig_h_t_upernet", {});
  expect_recognised("vig_h_t_maskrcnn", {{"classes", "3"}});
  expect_recognised("swin_t_upernet", {{"classes", "19"}});
}

TEST(Recognise, ConvolutionalNetworks) {
  for (const char* model :
       {"resnet50", "resnet18", "resnext50_32x4d", "convnext_t", "regnety_4g", "efficientnet_b3"}) {
    expect_recognised(model, {{"classes", "21"}});
  }
}

TEST(Recognise, NetworksWithRecurrences) {
  const std::pair<const char*, Fields> models[] = {
      {"vim_t", {{"classes", "21"}, {"image_size", "384"}}},
      {"vrwkv_t", {{"classes", "21"}, {"image_size", "384"}}},
      {"vmamba_t", {{"classes", "21"}}},
      {"vmamba_t_s1l8", {}},
      {"plainmamba_l1", {{"classes", "21"}, {"image_size", "384"}}},
      {"efficientvmamba_t", {{"classes", "21"}}},
      {"localvmamba_t", {{"classes", "21"}}},
      {"localvim_t", {{"classes", "21"}, {"image_size", "384"}}},
      {"localvim_t", {{"rotary", "false"}, {"class_token", "true"}}},
      {"localvim_s", {}},
      {"s4nd_b", {{"classes", "21"}}},
  };
  for (const auto& [model, fields] : models) expect_recognised(model, fields);
}

// What is no parameter is passed over when weights are loaded and saved.
TEST(Recognise, CountersOfBatchNormsAndUnusedKernelsAreLeftOut) {
  const TempDir folder;
  const std::string bare = (folder / "bare.safetensors").string();
  const std::string saved = (folder / "saved.safetensors").string();
  for (const char* model : {"test_resnet", "test_regnet", "test_efficientnet", "test_s4nd"}) {
    write_zeros(find_model(model), bare);
    ModelRequest request;
    request.model = bare;
    request.arch = model;
    const ModelSource source = find_source(request);
    EXPECT_LT(source_weights(source)->size(), source.checkpoint->tensors().size());
    save_model(source, saved);
    request.model = saved;
    request.arch = "";
    const ModelSource again = find_source(request);
    EXPECT_EQ(again.spec.name, model);
    EXPECT_EQ(source_weights(again)->size(), again.checkpoint->tensors().size());
  }
}

// Others are still an error.
TEST(Recognise, NoOtherTensorIsLeftOut) {
  const TempDir folder;
  const std::string bare = (folder / "bare.safetensors").string();
  write_zeros(find_model("test_resnet"), bare);
  ModelRequest request;
  request.model = bare;
  request.arch = "test_convnext";
  const ModelSource source = find_source(request);
  EXPECT_NE(error_of([&] { source_weights(source); }).find("num_batches_tracked"),
            std::string::npos);
}

}  // namespace
}  // namespace vig::test
