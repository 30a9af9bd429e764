// The heads of a detector take boxes in batches; what they say of a box is what they say of it
// alone.
#include "vig/pipeline/detector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "pipeline/dense_networks.h"
#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/pipeline/detect_trace.h"
#include "vig/pipeline/runner.h"
#include "vig/runtime/session.h"
#include "vig/runtime/session_pool.h"
#include "vig/tasks/detect_boxes.h"
#include "vig/tasks/paste_mask.h"
#include "vig/tasks/proposals.h"
#include "vig/tasks/roi_features.h"

namespace vig::test {
namespace {

// The pyramid of one image, and the heads for one box at a time.
class OneByOne {
 public:
  OneByOne(const Detector& detector, const RunImage& image)
      : config_(detector.config()),
        session_(detector.runner().sessions().take(image.placement.input_height,
                                                   image.placement.input_width, 1)) {
    image.write(session_->input(0));
    session_->run(1);
    for (int i = 0; i < config_.roi_levels; ++i) {
      const std::string name = "p" + std::to_string(i + 2);
      const Graph& graph = session_->graph();
      const Grid& grid = graph.node(graph.find_output(name)).grid;
      levels_.push_back({grid.height, grid.width, grid.channels, session_->output(name, 0)});
    }
  }

  void run(Session& head, const Box& box, int side) const {
    roi_features(levels_, box, config_, side, head.input(0));
    head.run(1);
  }

 private:
  const DetectorConfig& config_;
  SessionPool::Lease session_;
  std::vector<PyramidLevel> levels_;
};

void expect_as_alone(const Detector& detector, const RunImage& image) {
  DetectTrace trace;
  const Detections found = detector.detect(image, &trace);
  ASSERT_GT(trace.proposals.size(), 256u);  // the batch of the box head
  ASSERT_GT(found.size(), 64u);             // the batch of the mask head

  const OneByOne alone(detector, image);
  const DetectorConfig& config = detector.config();
  const auto box_heads = detector.runner().further_sessions("box_features", 1);
  const SessionPool::Lease box_head = box_heads->take(config.roi_side, config.roi_side, 1);
  const int classes = model_classes(detector.runner().spec());
  std::vector<Box> proposals;
  std::vector<float> logits, deltas;
  for (const Proposal& proposal : trace.proposals) {
    proposals.push_back(proposal.box);
    alone.run(*box_head, proposal.box, config.roi_side);
    const float* const scores = box_head->output("box_cls", 0);
    const float* const moves = box_head->output("box_reg", 0);
    logits.insert(logits.end(), scores, scores + classes + 1);
    deltas.insert(deltas.end(), moves, moves + 4 * classes);
  }
  const std::vector<ScoredBox> expected =
      detect_boxes(proposals, logits, deltas, classes, config, image.placement);

  const auto mask_heads = detector.runner().further_sessions("mask_features", 1);
  const SessionPool::Lease mask_head = mask_heads->take(config.mask_side, config.mask_side, 1);
  const Graph& graph = mask_head->graph();
  const int side = graph.node(graph.find_output("mask_logits")).grid.height;
  const auto scale_x = static_cast<float>(image.placement.scale_x());
  const auto scale_y = static_cast<float>(image.placement.scale_y());
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const auto& [box, label, score] = expected[i];
    EXPECT_EQ(found[i].box, box) << i;
    EXPECT_EQ(found[i].label, label) << i;
    EXPECT_EQ(found[i].score, score) << i;
    alone.run(*mask_head, {box.x1 * scale_x, box.y1 * scale_y, box.x2 * scale_x, box.y2 * scale_y},
              config.mask_side);
    std::vector<float> probabilities;
    for (int cell = 0; cell < side * side; ++cell) {
      const float logit = mask_head->output("mask_logits", 0)[cell * classes + label];
      probabilities.push_back(1.0f / (1.0f + std::exp(-logit)));
    }
    EXPECT_EQ(found[i].mask, paste_mask(probabilities, side, box, image.placement.source_width,
                                        image.placement.source_height))
        << i;
  }
}

TEST(DetectorBatches, BoxesAreClassifiedAsIfEachWereAlone) {
  const TempDir folder;
  const std::string path = (folder / "model.safetensors").string();
  write_dense_network("mini_detector", path);
  const Detector detector(dense_source(path), {.threads = 2}, {.score = 0});
  Runner::Pass pass;
  int images = 0;
  pass.on_image = [&](const RunImage& image) {
    ++images;
    expect_as_alone(detector, image);
  };
  detector.runner().run(ImageFiles({image_file("photos/cat_chelsea.png")}), pass);
  EXPECT_EQ(images, 1);
}

}  // namespace
}  // namespace vig::test
