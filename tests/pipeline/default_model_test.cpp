// The models that come with vig: by their names, and by an empty one.
#include "vig/pipeline/default_model.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/errors.h"
#include "support/files.h"
#include "support/tree.h"
#include "vig/data/image_files.h"
#include "vig/models/family.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/open_model.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

std::string tree_model(const char* name) {
  return fs::canonical(fs::path(kSourceDir) / "models" / name).string();
}

class BundledModels : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }

 private:
  static void clear() {
    for (const char* name : {"VIG_DEFAULT_MODEL", "VIG_SEGMENT_MODEL", "VIG_DETECT_MODEL"}) {
      unsetenv(name);
    }
  }
};

TEST_F(BundledModels, HaveNames) {
  const std::pair<const char*, ModelTask> names[] = {{"default", ModelTask::kClassify},
                                                     {"segment", ModelTask::kSegment},
                                                     {"detect", ModelTask::kDetect}};
  for (const auto& [name, task] : names) {
    SCOPED_TRACE(name);
    const std::string file = tree_model((std::string(name) + ".safetensors").c_str());
    EXPECT_EQ(resolve_model(name), file);
    EXPECT_EQ(resolve_model(name, ModelTask::kDetect), file) << "a name is no task";
    EXPECT_EQ(resolve_model("", task), file);
    EXPECT_EQ(default_model_file(task), file);
    ModelRequest request;
    request.model = name;
    const ModelSource source = find_source(request);
    EXPECT_EQ(source.name, file);
    EXPECT_EQ(source.spec.config->task(), task);
    EXPECT_TRUE(source.has_weights());
    // A zoo name of that kind would never be reached.
    for (const ModelSpec& spec : model_zoo()) EXPECT_NE(spec.name, name);
  }
  for (const char* other : {"vig_t", "./segment", "segment.safetensors", "Default", "detect "}) {
    EXPECT_EQ(resolve_model(other), other);
  }
}

TEST_F(BundledModels, AnEmptyNameIsTheOneOfTheTask) {
  const ImageFiles images({(fs::path(kFixtures) / "image/photos/flower.webp").string()});
  ModelRequest request;
  EXPECT_EQ(Classifier(find_source(request)).classify(images, 1)[0].error, "");
  EXPECT_EQ(Embedder(find_source(request)).embed(images, Embedder::Kind::kPooled)[0].error, "");
  EXPECT_EQ(OpenModel(find_source(request)).task(), ModelTask::kClassify);
  request.task = ModelTask::kSegment;
  EXPECT_EQ(Segmenter(find_source(request)).segment(images)[0].error, "");
  request.task = ModelTask::kDetect;
  EXPECT_EQ(Detector(find_source(request)).detect(images)[0].error, "");
}

TEST_F(BundledModels, VariablesNameOthers) {
  const TempDir folder;
  const std::string file = (folder / "mine.safetensors").string();
  setenv("VIG_SEGMENT_MODEL", file.c_str(), 1);
  expect_error(ErrorCode::kUsage, {"VIG_SEGMENT_MODEL names " + file, "-m FILE"},
               [] { resolve_model("segment"); });
  write_file(file, "");
  EXPECT_EQ(resolve_model("segment"), file);
  EXPECT_EQ(resolve_model("", ModelTask::kSegment), file);
  EXPECT_EQ(resolve_model("default"), tree_model("default.safetensors"));
  setenv("VIG_SEGMENT_MODEL", "", 1);
  EXPECT_EQ(resolve_model("segment"), tree_model("segment.safetensors"));
}

}  // namespace
}  // namespace vig::test
