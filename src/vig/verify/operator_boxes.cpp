// Operators on boxes, proposals and masks.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "vig/base/error.h"
#include "vig/image/mask.h"
#include "vig/kernels/nms.h"
#include "vig/kernels/roi_align.h"
#include "vig/tasks/anchors.h"
#include "vig/tasks/box_coder.h"
#include "vig/tasks/detect_boxes.h"
#include "vig/tasks/paste_mask.h"
#include "vig/tasks/proposals.h"
#include "vig/tasks/roi_features.h"
#include "vig/tasks/suppress.h"
#include "vig/verify/operators.h"

namespace vig {
namespace {

std::vector<float> flat(std::span<const Box> boxes) {
  std::vector<float> values;
  for (const Box& box : boxes) values.insert(values.end(), {box.x1, box.y1, box.x2, box.y2});
  return values;
}

// The number at the end of a name, "iou0.5".
float number_in(const Comparison& c, std::string_view name) {
  const size_t digit = name.find_first_of("0123456789");
  float value = 0;
  if (digit == std::string_view::npos ||
      std::from_chars(name.data() + digit, name.data() + name.size(), value).ec != std::errc()) {
    fail("{}: expected a number in the name \"{}\"", c.golden().file, name);
  }
  return value;
}

std::vector<int64_t> wide(const std::vector<int>& values) { return {values.begin(), values.end()}; }

}  // namespace

void verify_anchors(Comparison& c) {
  DetectorConfig config;
  config.strides = c.counts_of("strides");
  config.anchor_scale = static_cast<float>(c.numbers("scales").at(0));
  config.anchor_ratios.clear();
  for (const double ratio : c.numbers("ratios")) {
    config.anchor_ratios.push_back(static_cast<float>(ratio));
  }
  const std::vector<GridSize> grids = c.sizes("grids");
  for (size_t level = 0; level < grids.size(); ++level) {
    const std::string number = fmt::format("/{}", level);
    const int stride = config.strides.at(level);
    const auto ratios = static_cast<int64_t>(config.anchor_ratios.size());
    c.floats("anchors" + number, {grids[level].positions() * ratios, 4});  // before any is made
    c.tensor("base" + number, flat(cell_anchors(config, stride)));
    c.tensor("anchors" + number,
             flat(level_anchors(config, stride, grids[level].height, grids[level].width)));
  }
}

void verify_box_coder(Comparison& c) {
  const std::vector<Box> anchors = c.box_list("boxes"), truths = c.box_list("gt");
  const GridSize image = c.size("max_shape");
  const auto count = static_cast<int64_t>(anchors.size());
  const std::vector<float> deltas = c.floats("deltas", {count, 4});
  c.floats("gt", {count, 4});
  for (const auto& [name, list] : c.text("stds").items()) {
    BoxDeltas std{};
    for (size_t k = 0; k < 4; ++k) std[k] = static_cast<float>(list.at(k).get<double>());
    std::vector<Box> unclipped, clipped;
    std::vector<float> encoded;
    for (size_t i = 0; i < anchors.size(); ++i) {
      const float* d = deltas.data() + 4 * i;
      unclipped.push_back(decode_box({d[0], d[1], d[2], d[3]}, anchors[i], std));
      clipped.push_back(clip_box(unclipped.back(), static_cast<float>(image.width),
                                 static_cast<float>(image.height)));
      const BoxDeltas code = encode_box(truths[i], anchors[i], std);
      encoded.insert(encoded.end(), code.begin(), code.end());
    }
    c.tensor("decoded_unclipped/" + name, flat(unclipped));
    c.tensor("decoded/" + name, flat(clipped));
    c.tensor("encoded/" + name, encoded);
  }
}

void verify_nms(Comparison& c) {
  const std::vector<Box> boxes = c.box_list("boxes");
  const auto count = static_cast<int64_t>(boxes.size());
  const std::vector<float> corners = c.floats("boxes"), scores = c.floats("scores", {count});
  for (const std::string& name : c.names_under("keep/")) {
    const std::vector<size_t> kept = suppress_boxes(boxes, scores, number_in(c, name));
    c.integers("keep/" + name, {kept.begin(), kept.end()});
  }
  const std::vector<std::string> batched = c.names_under("keep_batched/");
  if (batched.empty()) return;
  const std::vector<int64_t> labels = c.whole("idxs", {count});
  const std::vector<int> narrow(labels.begin(), labels.end());
  for (const std::string& name : batched) {
    c.integers("keep_batched/" + name,
               wide(nms_by_class(corners.data(), scores.data(), narrow.data(), count,
                                 number_in(c, name))));
  }
}

void verify_final_boxes(Comparison& c) {
  DetectorConfig config;
  config.min_score = static_cast<float>(c.number("score_thr"));
  config.box_overlap = static_cast<float>(c.number("iou_threshold"));
  config.detections = c.count("max_per_img");
  const Shape& shape = c.shape("scores", 2);
  const int64_t classes = shape[1] - 1;
  const std::vector<float> scores = c.floats("scores");
  const std::vector<float> boxes = c.floats("boxes", {shape[0], 4 * classes});
  std::vector<ScoredBox> candidates;
  for (int64_t i = 0; i < shape[0]; ++i) {
    for (int64_t label = 0; label < classes; ++label) {
      const float* box = boxes.data() + (i * classes + label) * 4;
      const float score = scores[static_cast<size_t>(i * shape[1] + label)];
      if (!(score > config.min_score)) continue;
      candidates.push_back({{box[0], box[1], box[2], box[3]}, static_cast<int>(label), score});
    }
  }
  std::vector<float> found;
  std::vector<int64_t> labels;
  for (const ScoredBox& one : choose_boxes(candidates, config)) {
    found.insert(found.end(), {one.box.x1, one.box.y1, one.box.x2, one.box.y2, one.score});
    labels.push_back(one.label);
  }
  c.boxes("dets", found);
  c.integers("labels", labels);
}

void verify_proposals(Comparison& c) {
  DetectorConfig config;
  config.strides = c.counts_of("strides");
  config.proposals = c.count("max_per_img");
  config.proposal_overlap = static_cast<float>(c.number("iou_threshold"));
  std::vector<std::vector<float>> memory;
  std::vector<ProposalLevel> levels;
  for (size_t i = 0; i < config.strides.size(); ++i) {
    const std::string cls = fmt::format("cls/{}", i), reg = fmt::format("reg/{}", i);
    const Shape& shape = c.shape(cls, 4);
    c.floats(reg, {shape[0], 4 * shape[1], shape[2], shape[3]});
    if (shape[0] != 1 || shape[1] != static_cast<int64_t>(config.anchor_ratios.size())) {
      fail("{}: {} is {}, expected one image and {} anchors", c.golden().file, cls, shape.str(),
           config.anchor_ratios.size());
    }
    memory.push_back(c.rows(cls));
    memory.push_back(c.rows(reg));
    levels.push_back({static_cast<int>(shape[2]), static_cast<int>(shape[3])});
  }
  for (size_t i = 0; i < levels.size(); ++i) {
    levels[i].logits = memory[2 * i].data();
    levels[i].deltas = memory[2 * i + 1].data();
  }
  const GridSize image = c.size("img_shape");
  std::vector<float> found;
  for (const Proposal& one :
       find_proposals(levels, config, c.count("nms_pre"), static_cast<float>(image.width),
                      static_cast<float>(image.height))) {
    found.insert(found.end(), {one.box.x1, one.box.y1, one.box.x2, one.box.y2, one.score});
  }
  c.boxes("output", found);
}

void verify_roi_align(Comparison& c) {
  const Shape& in = c.shape("input", 4);
  c.box_list("rois", 5, 1);  // corners within reach
  const std::vector<float> maps = c.rows("input"), rois = c.floats("rois");
  const auto scale = static_cast<float>(c.number("spatial_scale"));
  const int64_t count = c.shape("rois", 2)[0];
  c.floats("rois", {count, 5});
  for (const std::string& name : c.names_under("output/")) {
    if (!name.starts_with("sr")) continue;  // another definition, which no network here has
    const Shape& shape = c.shape("output/" + name, 4);
    if (shape[0] != count || shape[1] != in[1] || shape[2] != shape[3]) {
      fail("{}: output/{} is {}, expected square features of {} boxes", c.golden().file, name,
           shape.str(), count);
    }
    std::vector<float> found(static_cast<size_t>(shape.elements()));
    for (int64_t r = 0; r < count; ++r) {
      const float* roi = rois.data() + 5 * r;
      if (!(roi[0] >= 0 && roi[0] < static_cast<float>(in[0]))) {
        fail("{}: box {} is of image {}, expected one of {}", c.golden().file, r, roi[0], in[0]);
      }
      const auto image = static_cast<int64_t>(roi[0]);
      RoiAlignArgs args;
      args.map = {maps.data() + image * in[1] * in[2] * in[3], in[1], in[2], in[3], scale};
      args.channels = args.out_stride = in[1];
      args.box = roi + 1;
      args.side = shape[2];
      args.sampling_ratio = static_cast<int>(number_in(c, name.substr(0, name.find('_'))));
      args.out = found.data() + r * shape[1] * shape[2] * shape[3];
      roi_align(args);
    }
    c.map("output/" + name, found);
  }
}

void verify_roi_levels(Comparison& c) {
  DetectorConfig config;
  config.strides = c.counts_of("strides");
  config.roi_levels = static_cast<int>(config.strides.size());
  std::vector<std::vector<float>> memory;
  std::vector<PyramidLevel> levels;
  for (size_t i = 0; i < config.strides.size(); ++i) {
    const std::string name = fmt::format("feat/{}", i);
    const Shape& shape = c.shape(name, 4);
    memory.push_back(c.rows(name));
    levels.push_back({static_cast<int>(shape[2]), static_cast<int>(shape[3]),
                      static_cast<int>(shape[1]), nullptr});
  }
  for (size_t i = 0; i < levels.size(); ++i) levels[i].values = memory[i].data();
  const std::vector<Box> boxes = c.box_list("rois", 5, 1);
  const Shape& shape = c.shape("output", 4);
  c.floats("output",
           {static_cast<int64_t>(boxes.size()), levels.at(0).channels, shape[2], shape[2]});
  std::vector<int64_t> found_levels;
  std::vector<float> found(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < boxes.size(); ++i) {
    found_levels.push_back(roi_level(boxes[i], config));
    roi_features(levels, boxes[i], config, static_cast<int>(shape[2]),
                 found.data() + i * found.size() / boxes.size());
  }
  c.integers("level", found_levels);
  c.map("output", found);
}

void verify_mask_paste(Comparison& c) {
  const GridSize image = c.size("image");
  const std::vector<Box> boxes = c.box_list("boxes");
  const auto count = static_cast<int64_t>(boxes.size());
  const int64_t side = c.shape("masks", 3)[2];
  const std::vector<float> masks = c.floats("masks", {count, side, side});
  const std::vector<float> soft = c.floats("soft", {count, image.height, image.width});
  std::vector<int64_t> hard = c.whole("output", {count, image.height, image.width}), pasted;
  std::vector<float> found(soft.size());
  const auto pixels = static_cast<size_t>(image.positions());
  for (size_t i = 0; i < boxes.size(); ++i) {
    const std::span<const float> mask(masks.data() + i * static_cast<size_t>(side * side),
                                      static_cast<size_t>(side * side));
    SpreadMask spread(mask, static_cast<int>(side), boxes[i]);
    std::vector<float> column(static_cast<size_t>(image.height));
    for (int x = 0; x < image.width; ++x) {
      spread.column(x, column);
      for (int y = 0; y < image.height; ++y) {
        found[i * pixels + static_cast<size_t>(y * image.width + x)] =
            column[static_cast<size_t>(y)];
      }
    }
    const Mask runs = paste_mask(mask, static_cast<int>(side), boxes[i], image.width, image.height);
    for (const uint8_t pixel : decode_mask(runs)) pasted.push_back(pixel);
  }
  // At the threshold itself rounding decides.
  for (size_t i = 0; i < hard.size(); ++i) {
    if (std::abs(soft[i] - 0.5f) <= 1e-5f) hard[i] = pasted[i];
  }
  c.values("soft", soft, found);
  c.counts("output", hard, pasted);
}

void verify_polygons(Comparison& c) {
  const GridSize image = c.size("image");
  for (const std::string& number : c.names_under("poly/")) {
    c.whole("mask/" + number, {image.height, image.width});
    const std::vector<double> corners = c.doubles("poly/" + number);
    const bool near = std::ranges::all_of(corners, [](double x) { return std::abs(x) <= 1e5; });
    if (!near || corners.size() % 2 != 0) {
      fail("{}: poly/{} is no list of corners near the image", c.golden().file, number);
    }
    const Mask mask = polygon_mask(corners, image.width, image.height);
    std::vector<int64_t> pixels;
    for (const uint8_t pixel : decode_mask(mask)) pixels.push_back(pixel);
    c.integers("mask/" + number, pixels);
    const Box bounds = mask.bounds();
    c.tensor("bbox/" + number, {bounds.x1, bounds.y1, bounds.width(), bounds.height()});
  }
}

}  // namespace vig
