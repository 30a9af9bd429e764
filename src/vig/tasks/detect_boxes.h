// From the outputs of the box head for proposals to the boxes of objects.
#pragma once

#include <span>
#include <vector>

#include "vig/image/box.h"
#include "vig/image/preprocess.h"
#include "vig/models/detector_config.h"

namespace vig {

struct ScoredBox {
  Box box;
  int label = 0;
  float score = 0;
};

// Of boxes of all classes: suppressed among those of their class, then the config.detections best
// of all, best first; of equal scores the earlier one.
std::vector<ScoredBox> choose_boxes(std::span<const ScoredBox> candidates,
                                    const DetectorConfig& config);

// `logits` is [proposals, classes + 1], the last of them for no object; `deltas` is [proposals,
// classes, 4]. Proposals are positions in the network's input, the result in the image: decoded,
// clipped to the resized image and mapped back by `placement`, where the softmax of the logits is
// above config.min_score; then chosen. Throws where a logit is not finite.
std::vector<ScoredBox> detect_boxes(std::span<const Box> proposals, std::span<const float> logits,
                                    std::span<const float> deltas, int classes,
                                    const DetectorConfig& config, const Placement& placement);

}  // namespace vig
