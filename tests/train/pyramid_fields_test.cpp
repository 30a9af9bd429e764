// A small classifier as the backbone of a dense network: what is added to it.
#include "vig/train/pyramid_fields.h"

#include <gtest/gtest.h>

#include "support/tree.h"
#include "train/dense_fixtures.h"
#include "vig/train/presets.h"
#include "vig/train/task.h"

namespace vig::test {
namespace {

using Fields = std::map<std::string, std::string>;
using train::pyramid_fields;

// The zoo's network `name` with the stages of a classifier that has these.
struct Pair {
  Pair(const std::string& name, const Fields& stages)
      : classifier(find_model("vig_h_t")), dense(find_model(name)) {
    override_fields(classifier, stages);
    override_field(classifier, "drop_path", "0.05");
    override_fields(dense, stages);
  }
  ModelSpec classifier, dense;
};

const Fields kThree = {{"dims", "64,128,256"}, {"depths", "2,4,2"}, {"heads", "2,4,8"}};

TEST(PyramidFields, AddAStageAndNarrowHeads) {
  const Pair segment("vig_h_t_upernet", kThree);
  EXPECT_EQ(pyramid_fields(segment.classifier, segment.dense, {}),
            (Fields{{"dims", "64,128,256,128"},
                    {"depths", "2,4,2,1"},
                    {"heads", "2,4,8,4"},
                    {"drop_path", "0.05"},
                    {"head_channels", "64"},
                    {"auxiliary_channels", "32"}}));
  const Pair detect("vig_h_t_maskrcnn", kThree);
  EXPECT_EQ(pyramid_fields(detect.classifier, detect.dense, {}), (Fields{{"dims", "64,128,256,128"},
                                                                         {"depths", "2,4,2,1"},
                                                                         {"heads", "2,4,8,4"},
                                                                         {"drop_path", "0.05"},
                                                                         {"fpn_channels", "64"},
                                                                         {"fc_channels", "128"},
                                                                         {"mask_channels", "64"}}));
}

TEST(PyramidFields, FollowWhatIsGiven) {
  const Pair pair("vig_h_t_upernet", kThree);
  const Fields given = {{"dims", "64,128,256,64"}, {"head_channels", "56"}, {"drop_path", "0.3"}};
  EXPECT_EQ(pyramid_fields(pair.classifier, pair.dense, given),
            (Fields{{"depths", "2,4,2,1"}, {"heads", "2,4,8,2"}, {"auxiliary_channels", "32"}}));
  EXPECT_EQ(pyramid_fields(pair.classifier, pair.dense, {{"heads", "2"}}), Fields{})
      << "what fits no network is for the builder to refuse";
}

TEST(PyramidFields, OfOtherStageCounts) {
  const Pair two("vig_h_t_upernet", {{"dims", "32,64"}, {"depths", "1,1"}, {"heads", "1,2"}});
  const Fields added = pyramid_fields(two.classifier, two.dense, {});
  EXPECT_EQ(added.at("dims"), "32,64,32,32");
  EXPECT_EQ(added.at("depths"), "1,1,1,1");
  EXPECT_EQ(added.at("heads"), "1,2,1,1");
  const Pair four("vig_h_t_upernet", {});
  EXPECT_EQ(pyramid_fields(four.classifier, four.dense, {}), Fields{});
  EXPECT_EQ(pyramid_fields(find_model("vig_t"), find_model("vig_t_upernet"), {}), Fields{})
      << "a network without stages";
}

// The plain command with the model that comes with the program.
TEST(PyramidFields, TheDefaultModelServesBothTasks) {
  const TempDir folder;
  write_files(folder / "labelled", labelled_images(2, 1));
  write_files(folder / "annotated", annotated_images(2, 1));
  for (const char* data : {"labelled", "annotated"}) {
    train::TrainOptions options = data == std::string("labelled") ? train::preset_options("segment")
                                                                  : train::preset_options("detect");
    options.model = std::string(kSourceDir) + "/models/default.safetensors";
    options.size = kMadeSide;
    const auto task = train::open_task(options, (folder / data).string(), 1);
    const train::Beginning& from = task->model().beginning;
    EXPECT_EQ(from.loaded, 2958976) << "all but the classifier and its norm";
    EXPECT_LT(from.loaded + from.fresh, 5'000'000);
    EXPECT_TRUE(from.added.starts_with("the classifier has fewer stages than the 4 that "))
        << from.added;
    EXPECT_NE(from.added.find(" --set dims=64,128,256,128"), std::string::npos) << from.added;
    options.fields = {{"dims", "64,128,256,32"}};
    const auto given = train::open_task(options, (folder / data).string(), 1);
    EXPECT_EQ(model_fields(given->model().spec).at("dims"), "64,128,256,32");
    EXPECT_EQ(given->model().beginning.added.find("dims"), std::string::npos);
  }
}

}  // namespace
}  // namespace vig::test
