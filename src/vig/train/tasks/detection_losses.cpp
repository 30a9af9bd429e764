#include "vig/train/tasks/detection_losses.h"

#include <algorithm>

#include "vig/kernels/roi_align.h"

namespace vig::train {
namespace {

at::Tensor indices(const std::vector<int64_t>& positions, const at::Tensor& like) {
  return at::tensor(positions, at::kLong).to(like.device());
}

at::Tensor delta_tensor(const std::vector<BoxDeltas>& deltas, const at::Tensor& like) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(deltas.size()), 4}, at::kFloat);
  for (size_t i = 0; i < deltas.size(); ++i) {
    std::ranges::copy(deltas[i], tensor.data_ptr<float>() + 4 * i);
  }
  return tensor.to(like.device());
}

at::Tensor roi_tensor(std::span<const Box> boxes, std::span<const int64_t> images) {
  at::Tensor rois = at::empty({static_cast<int64_t>(boxes.size()), 5}, at::kFloat);
  float* row = rois.data_ptr<float>();
  for (size_t i = 0; i < boxes.size(); ++i, row += 5) {
    row[0] = static_cast<float>(images[i]);
    row[1] = boxes[i].x1;
    row[2] = boxes[i].y1;
    row[3] = boxes[i].x2;
    row[4] = boxes[i].y2;
  }
  return rois;
}

bool has_mask(const PlacedObject* object) { return !object->mask.pixels.empty(); }

}  // namespace

LossPair proposal_losses(const at::Tensor& logits, const at::Tensor& deltas,
                         std::span<const Box> anchors, std::span<const SampledImage> images,
                         const BoxDeltas& std) {
  std::vector<int64_t> positions, positive;  // in all images' anchors
  std::vector<float> expected;
  std::vector<BoxDeltas> moves;
  double normaliser = 0;
  for (size_t p = 0; p < images.size(); ++p) {
    const Samples& samples = images[p].samples;
    const int64_t first = static_cast<int64_t>(p * anchors.size());
    for (size_t i = 0; i < samples.positive.size(); ++i) {
      const auto object = static_cast<size_t>(samples.matched[i]);
      positive.push_back(first + samples.positive[i]);
      moves.push_back(encode_box(images[p].truth->objects[object].box,
                                 anchors[static_cast<size_t>(samples.positive[i])], std));
      positions.push_back(positive.back());
      expected.push_back(1.0f);
    }
    for (const int64_t position : samples.negative) {
      positions.push_back(first + position);
      expected.push_back(0.0f);
    }
    normaliser += static_cast<double>(std::max<size_t>(samples.positive.size(), 1) +
                                      std::max<size_t>(samples.negative.size(), 1));
  }
  const at::Tensor chosen = logits.reshape({-1}).index_select(0, indices(positions, logits));
  const at::Tensor moved = deltas.reshape({-1, 4}).index_select(0, indices(positive, deltas));
  return {at::binary_cross_entropy_with_logits(chosen, at::tensor(expected).to(logits.device()), {},
                                               {}, at::Reduction::Sum) /
              normaliser,
          (moved - delta_tensor(moves, deltas)).abs().sum() / normaliser};
}

at::Tensor BoxSamples::rois() const { return roi_tensor(boxes, images); }

at::Tensor BoxSamples::positive_rois() const {
  return rois().index_select(0, at::tensor(positive, at::kLong));
}

BoxSamples gather_samples(std::span<const std::vector<Box>> lists,
                          std::span<const SampledImage> images, int classes) {
  BoxSamples all;
  for (size_t p = 0; p < images.size(); ++p) {
    const Samples& samples = images[p].samples;
    const auto add = [&](int64_t position, int64_t label) {
      all.boxes.push_back(lists[p][static_cast<size_t>(position)]);
      all.images.push_back(static_cast<int64_t>(p));
      all.labels.push_back(label);
    };
    for (size_t i = 0; i < samples.positive.size(); ++i) {
      const PlacedObject& object =
          images[p].truth->objects[static_cast<size_t>(samples.matched[i])];
      all.positive.push_back(static_cast<int64_t>(all.boxes.size()));
      all.objects.push_back(&object);
      add(samples.positive[i], object.label);
    }
    for (const int64_t position : samples.negative) add(position, classes);
  }
  return all;
}

LossPair box_losses(const at::Tensor& logits, const at::Tensor& deltas, const BoxSamples& samples,
                    const BoxDeltas& std) {
  const auto count = static_cast<double>(samples.boxes.size());
  std::vector<BoxDeltas> moves;
  std::vector<int64_t> rows;  // of [boxes * classes, 4]
  const int64_t classes = logits.size(1) - 1;
  for (size_t i = 0; i < samples.positive.size(); ++i) {
    const int64_t position = samples.positive[i];
    moves.push_back(
        encode_box(samples.objects[i]->box, samples.boxes[static_cast<size_t>(position)], std));
    rows.push_back(position * classes + samples.objects[i]->label);
  }
  const at::Tensor moved = deltas.reshape({-1, 4}).index_select(0, indices(rows, deltas));
  return {at::cross_entropy_loss(logits, indices(samples.labels, logits)),
          (moved - delta_tensor(moves, deltas)).abs().sum() / count};
}

// RoIAlign is a product for each axis: weights_y * mask * weights_x, both [side, pixels].
std::vector<float> soft_mask_target(const PlacedMask& mask, const Box& box, int height, int width,
                                    int side) {
  const Box clipped = clip_box(box, static_cast<float>(width), static_cast<float>(height));
  const auto cells = static_cast<size_t>(side);
  const auto columns = static_cast<size_t>(width), rows = static_cast<size_t>(height);
  std::vector<float> across(cells * columns), down(cells * rows);
  roi_axis_weights(clipped.x1, clipped.x2, 1.0f, side, 0, width, across.data());
  roi_axis_weights(clipped.y1, clipped.y2, 1.0f, side, 0, height, down.data());
  std::vector<float> target(cells * cells), line(cells);
  const Part& part = mask.part;
  for (int y = 0; y < part.height; ++y) {
    const uint8_t* pixels =
        mask.pixels.data() + static_cast<size_t>(y) * static_cast<size_t>(part.width);
    const auto row = static_cast<size_t>(part.y + y);
    if (row >= rows) break;
    const int seen = std::min(part.width, width - part.x);
    for (size_t i = 0; i < cells; ++i) {
      const float* weights = across.data() + i * columns + part.x;
      float sum = 0;
      for (int x = 0; x < seen; ++x) sum += pixels[x] != 0 ? weights[x] : 0.0f;
      line[i] = sum;
    }
    for (size_t j = 0; j < cells; ++j) {
      const float weight = down[j * rows + row];
      if (weight == 0) continue;
      for (size_t i = 0; i < cells; ++i) target[j * cells + i] += weight * line[i];
    }
  }
  return target;
}

at::Tensor mask_targets(const BoxSamples& samples, int height, int width, int side) {
  at::Tensor targets =
      at::zeros({static_cast<int64_t>(samples.positive.size()), side, side}, at::kFloat);
  float* out = targets.data_ptr<float>();
  for (size_t i = 0; i < samples.positive.size(); ++i, out += int64_t{side} * side) {
    if (!has_mask(samples.objects[i])) continue;
    const Box& box = samples.boxes[static_cast<size_t>(samples.positive[i])];
    const std::vector<float> soft =
        soft_mask_target(samples.objects[i]->mask, box, height, width, side);
    std::ranges::transform(soft, out, [](float x) { return x >= 0.5f ? 1.0f : 0.0f; });
  }
  return targets;
}

at::Tensor mask_loss(const at::Tensor& logits, const at::Tensor& targets,
                     const BoxSamples& samples) {
  std::vector<int64_t> positions, labels;
  for (size_t i = 0; i < samples.objects.size(); ++i) {
    if (!has_mask(samples.objects[i])) continue;
    positions.push_back(static_cast<int64_t>(i));
    labels.push_back(samples.objects[i]->label);
  }
  if (positions.empty()) return logits.sum() * 0;
  const at::Tensor which = indices(positions, logits);
  const at::Tensor maps = logits.permute({0, 3, 1, 2}).index({which, indices(labels, logits)});
  return at::binary_cross_entropy_with_logits(maps,
                                              targets.to(logits.device()).index_select(0, which));
}

}  // namespace vig::train
