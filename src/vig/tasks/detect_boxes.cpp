#include "vig/tasks/detect_boxes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "vig/base/error.h"
#include "vig/tasks/box_coder.h"
#include "vig/tasks/suppress.h"

namespace vig {
namespace {

void softmax(std::span<const float> logits, std::vector<float>& scores) {
  const float most = *std::ranges::max_element(logits);
  float sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) fail("the network's outputs are not finite");
    scores[i] = std::exp(logits[i] - most);
    sum += scores[i];
  }
  for (float& score : scores) score /= sum;
}

}  // namespace

std::vector<ScoredBox> choose_boxes(std::span<const ScoredBox> candidates,
                                    const DetectorConfig& config) {
  std::map<int, std::vector<size_t>> by_class;
  for (size_t i = 0; i < candidates.size(); ++i) by_class[candidates[i].label].push_back(i);
  std::vector<size_t> kept;
  for (const auto& [label, members] : by_class) {
    std::vector<Box> boxes;
    std::vector<float> scores;
    for (const size_t i : members) {
      boxes.push_back(candidates[i].box);
      scores.push_back(candidates[i].score);
    }
    for (const size_t i : suppress_boxes(boxes, scores, config.box_overlap)) {
      kept.push_back(members[i]);
    }
  }
  std::ranges::sort(kept, [&](size_t a, size_t b) {
    return candidates[a].score != candidates[b].score ? candidates[a].score > candidates[b].score
                                                      : a < b;
  });
  if (kept.size() > static_cast<size_t>(config.detections)) {
    kept.resize(static_cast<size_t>(config.detections));
  }
  std::vector<ScoredBox> chosen;
  for (const size_t i : kept) chosen.push_back(candidates[i]);
  return chosen;
}

std::vector<ScoredBox> detect_boxes(std::span<const Box> proposals, std::span<const float> logits,
                                    std::span<const float> deltas, int classes,
                                    const DetectorConfig& config, const Placement& placement) {
  const auto count = static_cast<size_t>(classes);
  if (logits.size() != proposals.size() * (count + 1) ||
      deltas.size() != proposals.size() * count * 4) {
    fail_usage("{} logits and {} deltas for {} proposals of {} classes", logits.size(),
               deltas.size(), proposals.size(), classes);
  }
  const auto width = static_cast<float>(placement.resized_width);
  const auto height = static_cast<float>(placement.resized_height);
  const auto scale_x = static_cast<float>(placement.scale_x());
  const auto scale_y = static_cast<float>(placement.scale_y());
  std::vector<ScoredBox> candidates;
  std::vector<float> scores(count + 1);
  for (size_t i = 0; i < proposals.size(); ++i) {
    softmax(logits.subspan(i * (count + 1), count + 1), scores);
    for (size_t label = 0; label < count; ++label) {
      if (!(scores[label] > config.min_score)) continue;
      const float* delta = deltas.data() + (i * count + label) * 4;
      const Box box = clip_box(
          decode_box({delta[0], delta[1], delta[2], delta[3]}, proposals[i], config.box_std), width,
          height);
      candidates.push_back(
          {{box.x1 / scale_x, box.y1 / scale_y, box.x2 / scale_x, box.y2 / scale_y},
           static_cast<int>(label),
           scores[label]});
    }
  }
  return choose_boxes(candidates, config);
}

}  // namespace vig
