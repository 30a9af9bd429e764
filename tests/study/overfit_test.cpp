// The study that overfits eight images: which images, and what is read of a run.
// Training itself is played by a script.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/errors.h"
#include "support/files.h"
#include "support/xml.h"
#include "vig/data/coco.h"
#include "vig/image/encode_png.h"
#include "vig/pipeline/save_model.h"
#include "vig/study/study.h"

namespace vig::study {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

const Study& overfit() { return find_study("overfit"); }

struct MadeImage {
  int width = 0, height = 0, objects = 0;
  bool crowd = false;  // the first of its objects
};

// Images 1, 2, ... with rectangles of the class "box \"b\"".
void write_images(const fs::path& folder, const std::vector<MadeImage>& list) {
  std::string images, annotations;
  for (size_t i = 0; i < list.size(); ++i) {
    const MadeImage& one = list[i];
    Image image(one.width, one.height);
    const std::vector<uint8_t> png = encode_png(image);
    test::write_file(folder / fmt::format("train/{}.png", i + 1),
                     std::string(png.begin(), png.end()));
    images += fmt::format("{}{{\"id\":{},\"file_name\":\"{}.png\",\"width\":{},\"height\":{}}}",
                          i == 0 ? "" : ",", i + 1, i + 1, one.width, one.height);
    for (int k = 0; k < one.objects; ++k) {
      annotations += fmt::format(
          "{}{{\"id\":{},\"image_id\":{},\"category_id\":7,\"iscrowd\":{},\"area\":64,\"bbox\":[{},"
          "2,8,8],"
          "\"segmentation\":[[{},2,{},2,{},10,{},10]]}}",
          annotations.empty() ? "" : ",", 100 * i + static_cast<size_t>(k) + 1, i + 1,
          one.crowd && k == 0 ? 1 : 0, k, k, k + 8, k + 8, k);
    }
  }
  test::write_file(folder / "annotations/instances_train.json",
                   fmt::format("{{\"images\":[{}],\"annotations\":[{}],\"categories\":[{{\"id\":7,"
                               "\"name\":\"box \\\"b\\\"\"}}]}}",
                               images, annotations));
}

class Overfit : public ::testing::Test {
 protected:
  Overfit() {
    context_.folder = folder_ / "out";
    context_.runs = folder_ / "runs";
    context_.options.data = (folder_ / "data").string();
    context_.options.epochs = 20;
    context_.options.threads = 2;
    context_.program = folder_ / "program";
    fs::create_directories(context_.folder);
  }
  // Stands for `vig`: keeps its arguments and leaves what training leaves.
  void write_program(const std::string& weights) {
    const std::string run = (context_.runs / "overfit").string();
    test::write_file(context_.program,
                     "#!/bin/sh\necho \"$@\" >'" + (folder_ / "arguments").string() +
                         "'\nmkdir -p '" + run + "'\ncp '" + weights + "' '" + run +
                         "/last.safetensors'\nprintf '%s\\n' "
                         "epoch,step,lr,train_loss,val_box_ap,val_box_ap50,val_mask_ap,"
                         "val_mask_ap50 2,4,1e-3,2.5,0.1,0.25,0.05,0.2 "
                         "20,40,1e-5,0.125,0.9,1,0.8,0.96 >'" +
                         run + "/metrics.csv'\n");
    fs::permissions(context_.program, fs::perms::owner_all);
  }

  TempDir folder_;
  StudyContext context_;
};

TEST_F(Overfit, TakesEightImagesAndReadsTheRun) {
  std::vector<MadeImage> list(12, {64, 48, 2});
  list[0] = {48, 64, 2};        // tall
  list[2] = {64, 48, 6};        // too many objects
  list[3] = {64, 48, 3, true};  // a crowd among them
  list[4] = {64, 64, 5};
  write_images(folder_ / "data", list);
  ModelRequest request;
  request.model = "test_vig_h_maskrcnn";
  request.fields = {{"classes", "1"}};
  ModelSource source = find_source(request);
  source.classes = {"box \"b\""};
  const std::string weights = (folder_ / "weights.safetensors").string();
  save_model(source, weights);
  write_program(weights);

  const Row first = overfit().measure("2", context_);
  EXPECT_EQ(first.number("step"), 4);
  EXPECT_EQ(first.number("loss"), 2.5);
  EXPECT_EQ(first.number("box_ap50"), 0.25);
  EXPECT_EQ(first.number("mask_ap50"), 0.2);
  const std::string arguments = test::read_file(folder_ / "arguments");
  for (const char* words : {"--model vig_h_t_maskrcnn", "--epochs 20", "--eval-every 2",
                            "--set dims=64,128,256,128", "--flip 0"}) {
    EXPECT_NE(arguments.find(words), std::string::npos) << words << "\n" << arguments;
  }
  const CocoSplits made = open_coco((context_.folder / "images").string());
  for (const auto& split : {made.train, made.val}) {
    ASSERT_TRUE(split.has_value());
    EXPECT_EQ(split->classes(), source.classes);
    std::vector<int64_t> ids;
    for (size_t i = 0; i < split->size(); ++i) ids.push_back(split->image_id(i));
    EXPECT_EQ(ids, (std::vector<int64_t>{2, 5, 6, 7, 8, 9, 10, 11}));
    EXPECT_EQ(split->objects(1).objects.size(), 5u);
    EXPECT_EQ(split->objects(0).objects[1].box, (Box{1, 2, 9, 10}));
    EXPECT_EQ(split->objects(0).objects[1].mask.area(), 64u);
    EXPECT_EQ(split->load(0).image->width, 64);
  }
  test::expect_error(ErrorCode::kInput, {"metrics.csv: no line of epoch 3"},
                     [&] { overfit().measure("3", context_); });
  // The images are made once.
  fs::remove_all(folder_ / "data");
  EXPECT_EQ(overfit().measure("20", context_).number("box_ap"), 0.9);
  // The engine runs the weights; they know nothing.
  const Row engine = overfit().measure("engine", context_);
  EXPECT_LT(engine.number("box_ap50").value(), 0.5);
  EXPECT_TRUE(engine.number("mask_ap50").has_value());
}

TEST_F(Overfit, ValidatesTenTimes) {
  const std::vector<std::string> keys = overfit().keys({});
  ASSERT_EQ(keys.size(), 11u);
  EXPECT_EQ(keys[0], "20");
  EXPECT_EQ(keys[9], "200");
  EXPECT_EQ(keys[10], "engine");
  EXPECT_EQ(overfit().keys(context_.options)[0], "2");
}

TEST_F(Overfit, RefusesWhatIsTooLittle) {
  write_program("/dev/null");
  write_images(folder_ / "data", std::vector<MadeImage>(7, {64, 48, 2}));
  test::expect_error(ErrorCode::kInput, {"7 images", "expected 8"},
                     [&] { overfit().measure("2", context_); });
  context_.options.data.clear();
  test::expect_error(ErrorCode::kUsage, {"--data"}, [&] { overfit().measure("2", context_); });
  context_.options.epochs = 15;
  test::expect_error(ErrorCode::kUsage, {"--epochs", "multiple of 10"},
                     [&] { overfit().keys(context_.options); });
}

TEST_F(Overfit, TheGoalIsJudgedByTheEngine) {
  Results results;
  results.conditions = {"Made-up CPU", "AVX2", "2", "1", "data=coco-mini epochs=20"};
  EXPECT_NE(overfit().present({}).markdown.find("not measured yet"), std::string::npos);
  Row last;
  last.key = "20";
  last.set("box_ap50", 0.99);
  last.set("mask_ap50", 0.99);
  results.rows.push_back(last);
  EXPECT_NE(overfit().present(results).markdown.find("not measured yet"), std::string::npos);
  Row engine = last;
  engine.key = "engine";
  engine.set("mask_ap50", 0.95);
  results.rows.push_back(engine);
  EXPECT_NE(overfit().present(results).markdown.find("**holds**"), std::string::npos);
  results.rows.back().set("mask_ap50", 0.949);
  const Presentation shown = overfit().present(results);
  EXPECT_NE(shown.markdown.find("**does not hold**"), std::string::npos);
  EXPECT_EQ(test::xml_problem(shown.svg), "");
}

}  // namespace
}  // namespace vig::study
