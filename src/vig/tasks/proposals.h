// The regions that may show objects: the best anchors of all levels, moved by their deltas.
#pragma once

#include <span>
#include <vector>

#include "vig/image/box.h"
#include "vig/models/detector_config.h"

namespace vig {

// What the network says of the anchors of a level, in the order of level_anchors.
struct ProposalLevel {
  int height = 0, width = 0;      // in cells
  const float* logits = nullptr;  // [height, width, anchors]
  const float* deltas = nullptr;  // [height, width, anchors, 4]
};

struct Proposal {
  Box box;
  float score = 0;  // sigmoid of the logit
};

// The `per_level` best anchors of each level, decoded, clipped to an image of width x height, the
// empty ones dropped, suppressed among those of their level; then the config.proposals best of
// all, best first. Of equal logits the earlier level and anchor is the better one. A level for each
// of config.strides. Throws where a logit is not finite.
std::vector<Proposal> find_proposals(std::span<const ProposalLevel> levels,
                                     const DetectorConfig& config, int per_level, float width,
                                     float height);

}  // namespace vig
