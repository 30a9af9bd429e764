#include "vig/verify/dense.h"

#include "vig/base/error.h"
#include "vig/pipeline/detect_trace.h"
#include "vig/pipeline/detector.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/runner.h"
#include "vig/pipeline/segmenter.h"
#include "vig/tasks/label_pixels.h"
#include "vig/tasks/proposals.h"
#include "vig/verify/comparison.h"
#include "vig/weights/elements.h"

namespace vig {
namespace {

// Below it the two best classes of a pixel count as equal.
constexpr float kLeastMargin = 1e-4f;

ModelSource source_of(const GoldenCase& golden) {
  const Shape& shape = golden.tensor("input").shape;
  ModelSource source;
  source.name = golden.file;
  source.known = ModelSource::Known::kByHand;
  source.spec = golden.spec;
  source.checkpoint = golden.tensors;
  source.graph = std::make_shared<const Graph>(as_input(golden.file, [&] {
    return build_graph(golden.spec, static_cast<int>(shape[2]), static_cast<int>(shape[3]));
  }));
  source.weights = golden.weights(*source.graph);
  return source;
}

std::vector<RunImage> images_of(const GoldenCase& golden) {
  const TensorView& input = golden.tensor("input");
  const std::vector<float> values = channels_last(to_floats(input), input.shape[0], 3);
  const size_t size = values.size() / golden.images.size();
  std::vector<RunImage> images(golden.images.size());
  for (size_t i = 0; i < images.size(); ++i) {
    images[i].placement = golden.images[i];
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(i * size);
    images[i].write = [input = std::vector(first, first + static_cast<std::ptrdiff_t>(size))](
                          float* out) { std::ranges::copy(input, out); };
  }
  return images;
}

std::vector<float> values_of(const LogitField& field) {
  const auto line = static_cast<size_t>(field.width()) * static_cast<size_t>(field.classes());
  std::vector<float> values(line * static_cast<size_t>(field.height())), scratch;
  for (int y = 0; y < field.height(); ++y) {
    field.row(y, std::span(values).subspan(static_cast<size_t>(y) * line, line), scratch);
  }
  return values;
}

void verify_segmenter(const GoldenCase& golden, const VerifyOptions& options,
                      Comparison comparison) {
  const ModelSource source = source_of(golden);
  const RunImage image = images_of(golden).at(0);
  const int64_t classes = model_classes(golden.spec);
  RunOptions run;
  run.threads = options.threads;
  const Segmenter whole(source, run, {.window = 0}), windows(source, run);
  const Placement& placement = image.placement;
  const Shape shape{1, classes, placement.input_height, placement.input_width};
  for (const auto& [name, segmenter] :
       {std::pair("logits_whole", &whole), std::pair("logits_slide", &windows)}) {
    comparison.values(name, channels_last(comparison.floats(name, shape), 1, classes),
                      values_of(segmenter->logits(image)));
  }
  const Shape pixels{placement.source_height, placement.source_width};
  std::vector<int64_t> expected = comparison.whole("pred", pixels);
  const std::vector<float> margin = comparison.floats("margin", pixels);
  const LabelMap labels = windows.segment(image).labels;
  const std::vector<int64_t> found(labels.labels.begin(), labels.labels.end());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (margin[i] <= kLeastMargin) expected[i] = found[i];
  }
  comparison.counts("pred", expected, found);
}

void verify_detector(const GoldenCase& golden, const VerifyOptions& options,
                     Comparison comparison) {
  RunOptions run;
  run.threads = options.threads;
  const Detector detector(source_of(golden), run);
  const std::vector<RunImage> images = images_of(golden);
  for (size_t i = 0; i < images.size(); ++i) {
    const std::string number = fmt::format("/{}", i);
    DetectTrace trace;
    const Detections found = detector.detect(images[i], &trace);
    std::vector<float> proposals, boxes;
    for (const Proposal& one : trace.proposals) {
      proposals.insert(proposals.end(),
                       {one.box.x1, one.box.y1, one.box.x2, one.box.y2, one.score});
    }
    std::vector<int64_t> labels;
    for (const Detection& one : found) {
      boxes.insert(boxes.end(), {one.box.x1, one.box.y1, one.box.x2, one.box.y2, one.score});
      labels.push_back(one.label);
    }
    comparison.boxes("proposals" + number, proposals);
    comparison.boxes("dets" + number, boxes);
    const Placement& placement = images[i].placement;
    const auto count = static_cast<int64_t>(found.size());
    comparison.counts("labels" + number, comparison.whole("labels" + number, {count}), labels);
    // Only where the case has them are masks spread out: the text alone says how large they are.
    const std::vector<int64_t> expected = comparison.whole(
        "det_masks" + number, {count, placement.source_height, placement.source_width});
    std::vector<int64_t> pixels;
    for (const Detection& one : found) {
      for (const uint8_t pixel : decode_mask(one.mask)) pixels.push_back(pixel);
    }
    comparison.counts("det_masks" + number, expected, pixels);
  }
}

}  // namespace

void verify_outputs(const GoldenCase& golden, const VerifyOptions& options, CaseReport& report) {
  const Comparison comparison(golden, options, report);
  if (golden.spec.config->task() == ModelTask::kDetect) {
    verify_detector(golden, options, comparison);
  } else {
    verify_segmenter(golden, options, comparison);
  }
}

}  // namespace vig
