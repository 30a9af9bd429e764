// Whole runs of segmentation and detection on images that a miniature overfits.
#include <gtest/gtest.h>

#include "support/errors.h"
#include "train/dense_fixtures.h"
#include "vig/image/decode.h"
#include "vig/pipeline/model_source.h"
#include "vig/train/tasks/detection.h"
#include "vig/train/tasks/segmentation.h"
#include "vig/weights/model_info.h"

namespace vig::test {
namespace {

using train::TrainedModel;
using train::TrainOptions;

class DenseRun : public ::testing::Test {
 protected:
  std::string labelled(int train = 8, int val = 8) {
    write_files(folder_ / "labelled", labelled_images(train, val));
    return (folder_ / "labelled").string();
  }
  std::string annotated(int train = 8, int val = 8) {
    write_files(folder_ / "annotated", annotated_images(train, val));
    return (folder_ / "annotated").string();
  }
  std::string out(const std::string& name) { return (folder_ / name).string(); }

  TempDir folder_;
};

TEST_F(DenseRun, SegmentationOverfitsItsImages) {
  TrainOptions options = tiny_segmentation();
  options.epochs = 90;
  const RunRecord record = run_training(options, labelled(), out("run"));
  EXPECT_EQ(record.summary.task.subject, "3 classes of pixels");
  EXPECT_EQ(record.summary.height, kMadeSide);
  ASSERT_FALSE(record.rows.empty());
  const train::MetricsRow& last = record.rows.back();
  EXPECT_GT(last.val[train::kMeanIou], 0.9);
  EXPECT_GT(last.val[train::kPixelAccuracy], 0.95);
  EXPECT_LT(last.train_loss, 0.5 * record.losses.front());
  EXPECT_NE(record.result.best.find("mIoU"), std::string::npos);
  const std::string table = read_file(out("run") + "/metrics.csv");
  EXPECT_NE(table.find("train_pixels,val_loss,val_miou,val_pixels"), std::string::npos) << table;

  // The file says all that the engine needs.
  ModelRequest request;
  request.model = out("run") + "/best.safetensors";
  const ModelSource source = find_source(request);
  EXPECT_EQ(source.spec.name, "test_vig_upernet");
  EXPECT_EQ(source.classes, (std::vector<std::string>{"ground", "rectangle", "disc"}));
  EXPECT_EQ(source.spec.recipe.crop, kMadeSide);
  EXPECT_EQ(read_smallest_scale(source.checkpoint->metadata()), 1.0);
  EXPECT_NO_THROW(source_weights(source));
}

TEST_F(DenseRun, DetectionOverfitsItsImages) {
  TrainOptions options = tiny_detection();
  options.epochs = 90;
  const RunRecord record = run_training(options, annotated(), out("run"));
  EXPECT_EQ(record.summary.task.subject, "2 classes of objects");
  ASSERT_FALSE(record.rows.empty());
  const train::MetricsRow& last = record.rows.back();
  EXPECT_GT(last.val[train::kBoxAp50], 0.9);
  EXPECT_GT(last.val[train::kMaskAp50], 0.9);
  EXPECT_GT(last.val[train::kMaskAp], 0.5);
  double sum = 0;
  for (const double part : last.train) sum += part;
  EXPECT_NEAR(sum, last.train_loss, 1e-3 * sum) << "the loss is the sum of the five";
  EXPECT_NE(record.result.best.find("mask AP"), std::string::npos);
}

// Two anchors in a cell instead of three, in training and in the engine.
TEST_F(DenseRun, DetectionLearnsWithOtherAnchors) {
  TrainOptions options = tiny_detection();
  options.epochs = 90;
  options.fields["anchor_ratios"] = "0.8,1.25";
  const RunRecord record = run_training(options, annotated(), out("run"));
  EXPECT_GT(record.rows.back().val[train::kBoxAp50], 0.5);
  ModelRequest request;
  request.model = out("run") + "/best.safetensors";
  const ModelSource source = find_source(request);
  EXPECT_EQ(source.spec.config->detector()->anchor_ratios, (std::vector<float>{0.8f, 1.25f}));
  const Graph& graph = *source.graph;
  EXPECT_EQ(graph.node(graph.find_output("rpn_reg0")).grid.channels, 8);
  EXPECT_NO_THROW(source_weights(source));
}

TEST_F(DenseRun, SegmentationResumesToTheBit) {
  TrainOptions options = tiny_segmentation();
  options.epochs = 3;
  options.batch = 4;
  options.norm_group = 2;
  options.eval_every = 1;
  options.view.resize_min = 0.5f;
  options.view.resize_max = 2.0f;
  options.view.photometric = true;
  options.fields = {{"drop_path", "0.2"}};
  const std::string data = labelled(9, 2);
  const RunRecord whole = run_training(options, data, out("whole"));
  run_training(options, data, out("stopped"), 4);
  const RunRecord rest = run_training(options, data, out("stopped"));
  EXPECT_EQ(rest.summary.first_step, 4);
  EXPECT_EQ(rest.rows.back().val, whole.rows.back().val);
  expect_same_runs(out("stopped"), out("whole"));
}

TEST_F(DenseRun, DetectionResumesToTheBit) {
  TrainOptions options = tiny_detection();
  options.epochs = 3;
  options.batch = 4;
  options.norm_group = 2;
  options.eval_every = 1;
  options.view = {.resize_min = 0.8f,
                  .resize_max = 1.25f,
                  .flip_vertical = 0.5f,
                  .transpose = 0.5f,
                  .photometric = true};
  const std::string data = annotated(9, 2);
  const RunRecord whole = run_training(options, data, out("whole"));
  run_training(options, data, out("stopped"), 4);
  const RunRecord rest = run_training(options, data, out("stopped"));
  EXPECT_EQ(rest.rows.back().train, whole.rows.back().train);
  expect_same_runs(out("stopped"), out("whole"));
}

TEST_F(DenseRun, StepsDoNotDependOnTheThreads) {
  for (const bool detects : {false, true}) {
    TrainOptions options = detects ? tiny_detection() : tiny_segmentation();
    options.epochs = 2;
    options.norm_group = 2;
    const std::string data = detects ? annotated() : labelled();
    std::vector<std::vector<double>> losses;
    for (const int threads : {1, 2, 4}) {
      options.threads = threads;
      losses.push_back(
          run_training(options, data, out(fmt::format("{}-{}", detects, threads))).losses);
    }
    ASSERT_EQ(losses[0].size(), 2u);
    for (size_t i = 1; i < losses.size(); ++i) {
      EXPECT_NEAR(losses[i][0], losses[0][0], 1e-5 * losses[0][0]);
      EXPECT_NEAR(losses[i][1], losses[0][1], 1e-3 * losses[0][1]);
    }
  }
}

TEST_F(DenseRun, ImagesAreHeldOutWhereThereIsNoSplit) {
  TrainOptions options = tiny_detection();
  options.epochs = 1;
  options.val_share = 0.25;
  const RunRecord record = run_training(options, annotated(8, 0), out("run"));
  EXPECT_EQ(record.summary.train_images, 6u);
  EXPECT_EQ(record.summary.val_images, 2u);
  const std::string list = read_file(out("run") + "/validation.txt");
  EXPECT_EQ(std::ranges::count(list, '\n'), 2) << list;
}

TEST_F(DenseRun, PreviewWritesTrainingImages) {
  TrainOptions options = tiny_segmentation();
  options.epochs = 1;
  options.preview = 3;
  run_training(options, labelled(), out("segment"));
  TrainOptions detector = tiny_detection();
  detector.epochs = 1;
  detector.preview = 100;
  run_training(detector, annotated(), out("detect"));
  for (const auto& [run, count] : {std::pair{"segment", 3}, {"detect", 8}}) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(out(run) + "/preview")) {
      const Image image = load_image(entry.path().string()).image;
      EXPECT_GE(image.width, kMadeSide);
      EXPECT_GE(image.height, kMadeSide);
      ++files;
    }
    EXPECT_EQ(files, count);
  }
}

TEST_F(DenseRun, AClassifierBecomesTheBackbone) {
  // A classifier with the config of the miniature.
  TrainOptions classifier = tiny_options("small");
  classifier.fields = {{"embed_dim", "32"}, {"heads", "2"}, {"depth", "4"}};
  classifier.size = 64;
  classifier.epochs = 1;
  write_files(folder_ / "classes", striped_images(3, 8));
  run_training(classifier, (folder_ / "classes").string(), out("classifier"));

  TrainOptions options = tiny_segmentation();
  options.model = out("classifier") + "/last.safetensors";
  options.size = 0;
  options.epochs = 1;
  const RunRecord record = run_training(options, labelled(), out("run"));
  EXPECT_EQ(record.summary.model, "test_vig_upernet") << "found by the classifier's name";
  const train::Beginning& from = record.summary.beginning;
  EXPECT_EQ(from.file, options.model);
  const auto task = train::open_task(options, labelled(), 1);
  const TrainedModel& model = task->model();
  const auto stored = tensor_bytes(options.model);
  int64_t loaded = 0;
  for (size_t i = 0; i < model.parameters.size(); ++i) {
    const ParamSpec& spec = model.parameters.spec(i);
    const std::string prefix = "backbone.";
    if (!spec.name.starts_with(prefix)) continue;
    const auto found = stored.find(spec.name.substr(prefix.size()));
    if (found == stored.end()) continue;
    EXPECT_EQ(found->second.size(), static_cast<size_t>(spec.shape.elements()) * sizeof(float));
    EXPECT_EQ(std::memcmp(found->second.data(), model.parameters[i].data_ptr<float>(),
                          found->second.size()),
              0)
        << spec.name;
    loaded += spec.shape.elements();
  }
  EXPECT_EQ(from.loaded, loaded);
  EXPECT_GT(loaded, 10000);
  EXPECT_GT(from.fresh, 0);
  const std::string names = fmt::format("{}", fmt::join(from.fresh_names, " "));
  for (const char* part : {"backbone.spm", "backbone.interactions", "decode_head"}) {
    EXPECT_NE(names.find(part), std::string::npos) << names;
  }
  EXPECT_NE(from.fresh_reason.find("classifier"), std::string::npos);

  // The other task, by the architecture's name.
  TrainOptions detector = tiny_detection();
  detector.model = options.model;
  detector.arch = "test_vig_maskrcnn";
  const auto other = train::open_task(detector, annotated(), 1);
  EXPECT_EQ(other->model().beginning.loaded, loaded);
}

TEST_F(DenseRun, RefusesModelsForOtherTasks) {
  TrainOptions options = tiny_segmentation();
  options.model = "test_vig_maskrcnn";
  expect_error(ErrorCode::kUsage, {"test_vig_maskrcnn is a model for detection", "segmentation"},
               [&] { train::open_task(options, labelled(), 1); });
  options.model = "gmlp_t";
  expect_error(ErrorCode::kUsage, {"no model for segmentation with gmlp_t as backbone"},
               [&] { train::open_task(options, labelled(), 1); });
  options = tiny_segmentation();
  options.size = 50;
  expect_error(ErrorCode::kUsage, {"--size is 50", "multiple of 32"},
               [&] { train::open_task(options, labelled(), 1); });
  options = tiny_segmentation();
  options.probe = true;
  expect_error(ErrorCode::kUsage, {"--probe is for classifiers"},
               [&] { train::open_task(options, labelled(), 1); });
}

}  // namespace
}  // namespace vig::test
