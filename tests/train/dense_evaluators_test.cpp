// What validation makes of single images, and the two heads of a segmentation network.
#include <gtest/gtest.h>

#include <cmath>

#include "train/dense_fixtures.h"
#include "vig/image/mask.h"
#include "vig/train/tasks/detection.h"
#include "vig/train/tasks/detection_evaluator.h"
#include "vig/train/tasks/pixel_loss.h"
#include "vig/train/tasks/segmentation.h"
#include "vig/train/tasks/segmentation_evaluator.h"

namespace vig::test {
namespace {

using train::TrainedModel;
using train::TrainOptions;

TrainedModel segmenter(const TrainOptions& options) {
  const train::ModelPlan plan = plan_model(options, {"a", "b", "c"}, ModelTask::kSegment);
  return make_trained_model(options, plan, kMadeSide, kMadeSide);
}

Image noisy_image(uint64_t seed) {
  RandomStream stream(seed);
  Image image(kMadeSide, kMadeSide);
  for (uint8_t& value : image.rgb) value = static_cast<uint8_t>(stream.below(256));
  return image;
}

// A sample as write_validation leaves it.
template <class Truth>
Sample framed_sample(uint64_t seed, const Recipe& recipe, const Truth& truth) {
  Sample sample{nullptr, make_target(truth)};
  train::frame_validation(noisy_image(seed), recipe, *sample.target);
  return sample;
}

Batch batch_of(const std::vector<Sample>& items) {
  Batch batch;
  batch.items = items;
  for (size_t i = 0; i < items.size(); ++i) batch.samples.push_back(i);
  return batch;
}

TEST(SegmentationEvaluator, GivesTheMeanOverTheImages) {
  const TrainOptions options = tiny_segmentation();
  const TrainedModel model = segmenter(options);
  const at::NoGradGuard no_grad;
  std::vector<Sample> samples;
  double loss = 0, right = 0, labelled = 0;
  for (const uint64_t number : {1, 2}) {
    LabelMap labels(kMadeSide, kMadeSide, static_cast<uint8_t>(number));
    labels.row(3)[7] = kNoLabel;
    samples.push_back(framed_sample(number, model.spec.recipe, labels));
    const auto logits = segmentation_logits(model, model.parameters.views(),
                                            train::validation_image(samples.back()).input, {});
    const auto expected = train::pixel_cross_entropy(
        logits.main, at::from_blob(labels.labels.data(), {1, kMadeSide, kMadeSide}, at::kByte));
    loss += expected.loss.item<double>() / 2;
    right += expected.images[0].right;
    labelled += expected.images[0].labelled;
  }
  const auto evaluator = make_segmentation_evaluator(model, options);
  train::Workers workers(2);
  evaluator->add(batch_of(samples), model.parameters.views(), workers);
  train::Group alone;
  const std::vector<double> figures = evaluator->figures(alone);
  ASSERT_EQ(figures.size(), 3u);
  EXPECT_NEAR(figures[train::kPixelLoss], loss, 1e-5 * loss);
  EXPECT_NEAR(figures[train::kPixelAccuracy], right / labelled, 1e-3);
}

// A crowd is nothing to be found, and an object without a mask is no mask to be found.
TEST(DetectionEvaluator, CountsWhatIsToBeFound) {
  const TrainOptions options = tiny_detection();
  const train::ModelPlan plan = plan_model(options, {"a", "b"}, ModelTask::kDetect);
  const TrainedModel model = make_trained_model(options, plan, kMadeSide, kMadeSide);
  std::vector<uint8_t> pixels(kMadeSide * kMadeSide);
  std::fill_n(pixels.begin(), 8 * kMadeSide, uint8_t{1});
  const Mask mask = encode_mask(pixels, kMadeSide, kMadeSide);
  const auto figures = [&](bool crowd, const Mask& shape) {
    Objects objects;
    objects.image = 1;
    objects.objects.push_back({{0, 0, kMadeSide, 8}, 1, crowd, 8 * kMadeSide, shape});
    const auto evaluator = make_detection_evaluator(model, options);
    train::Workers workers(1);
    evaluator->add(batch_of({framed_sample(1, model.spec.recipe, objects)}),
                   model.parameters.views(), workers);
    train::Group alone;
    std::vector<bool> measured;
    for (const double figure : evaluator->figures(alone)) measured.push_back(std::isfinite(figure));
    return measured;
  };
  EXPECT_EQ(figures(false, mask), (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(figures(false, {}), (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(figures(true, mask), (std::vector<bool>{false, false, false, false}));
}

TEST(SegmentationHeads, DropChannelsOfTheirOwn) {
  TrainOptions options = tiny_segmentation();
  options.fields["head_dropout"] = "0.5";
  const TrainedModel model = segmenter(options);
  const at::NoGradGuard no_grad;
  const at::Tensor images = at::randn({2, kMadeSide, kMadeSide, 3});
  const Graph &graph = model.graph(), &head = model.graphs.at(1);
  for (const bool drops : {false, true}) {
    train::ForwardOptions forward;
    forward.drop_branches = drops;
    forward.seed = 5;
    const auto logits = segmentation_logits(model, model.parameters.views(), images, forward);
    const auto values = train::forward(graph, model.parameters.views(), {images}, forward);
    const at::Tensor map = values.at(static_cast<size_t>(graph.find_module("backbone.f3")));
    const at::Tensor same_draws =
        train::forward(head, model.parameters.views(), {map},
                       forward)[static_cast<size_t>(head.find_output("auxiliary"))];
    EXPECT_TRUE(at::equal(logits.main, values[static_cast<size_t>(graph.find_output("logits"))]));
    EXPECT_EQ(at::equal(logits.auxiliary, same_draws), !drops);
  }
}

}  // namespace
}  // namespace vig::test
