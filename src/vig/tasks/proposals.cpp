#include "vig/tasks/proposals.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "vig/base/error.h"
#include "vig/tasks/anchors.h"
#include "vig/tasks/box_coder.h"
#include "vig/tasks/suppress.h"

namespace vig {
namespace {

// Indices of the `most` largest logits, largest first.
std::vector<size_t> best_anchors(const float* logits, size_t count, size_t most) {
  if (!std::all_of(logits, logits + count, [](float logit) { return std::isfinite(logit); })) {
    fail("the network's outputs are not finite");
  }
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto better = [&](size_t a, size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  most = std::min(most, count);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                    better);
  order.resize(most);
  return order;
}

struct Ranked {
  Box box;
  float logit = 0;
};

void add_level(const ProposalLevel& level, int stride, const DetectorConfig& config, int per_level,
               float width, float height, std::vector<Ranked>& all) {
  const std::vector<Box> cell = cell_anchors(config, stride);
  const size_t anchors = cell.size();
  const size_t count =
      static_cast<size_t>(level.height) * static_cast<size_t>(level.width) * anchors;
  std::vector<Box> boxes;
  std::vector<float> logits;
  for (const size_t index : best_anchors(level.logits, count, static_cast<size_t>(per_level))) {
    const size_t position = index / anchors;
    const auto columns = static_cast<size_t>(level.width);
    const auto x = static_cast<float>(position % columns * static_cast<size_t>(stride));
    const auto y = static_cast<float>(position / columns * static_cast<size_t>(stride));
    Box anchor = cell[index % anchors];
    anchor = {anchor.x1 + x, anchor.y1 + y, anchor.x2 + x, anchor.y2 + y};
    const float* delta = level.deltas + 4 * index;
    const Box box =
        clip_box(decode_box({delta[0], delta[1], delta[2], delta[3]}, anchor, config.proposal_std),
                 width, height);
    if (!(box.width() > 0 && box.height() > 0)) continue;
    boxes.push_back(box);
    logits.push_back(level.logits[index]);
  }
  for (const size_t kept : suppress_boxes(boxes, logits, config.proposal_overlap)) {
    all.push_back({boxes[kept], logits[kept]});
  }
}

}  // namespace

std::vector<Proposal> find_proposals(std::span<const ProposalLevel> levels,
                                     const DetectorConfig& config, int per_level, float width,
                                     float height) {
  if (levels.size() != config.strides.size()) {
    fail_usage("{} levels of proposals, expected {}", levels.size(), config.strides.size());
  }
  std::vector<Ranked> all;
  for (size_t i = 0; i < levels.size(); ++i) {
    add_level(levels[i], config.strides[i], config, per_level, width, height, all);
  }
  std::ranges::stable_sort(all, [](const Ranked& a, const Ranked& b) { return a.logit > b.logit; });
  if (all.size() > static_cast<size_t>(config.proposals)) {
    all.resize(static_cast<size_t>(config.proposals));
  }
  std::vector<Proposal> proposals;
  for (const Ranked& one : all) {
    proposals.push_back({one.box, 1.0f / (1.0f + std::exp(-one.logit))});
  }
  return proposals;
}

}  // namespace vig
