// Work on whole sequences, shared out over images and blocks of channels that never meet.
#pragma once

#include <algorithm>

#include "vig/runtime/kernel_call.h"

namespace vig {

class ChannelBlocks {
 public:
  // As few blocks as give every worker the same number of tasks.
  ChannelBlocks(int64_t channels, const Workload& load) : channels_(channels) {
    const int64_t most = (channels + kNarrowest - 1) / kNarrowest;
    int64_t blocks = 1;
    while (load.batch * blocks % load.threads != 0 && load.batch * blocks < 8 * load.threads &&
           blocks < most) {
      ++blocks;
    }
    width_ = ((channels + blocks - 1) / blocks + kNarrowest - 1) / kNarrowest * kNarrowest;
  }

  int64_t width() const { return width_; }  // of all but perhaps the last
  int64_t count() const { return (channels_ + width_ - 1) / width_; }
  int64_t first(int64_t block) const { return block * width_; }
  int64_t channels(int64_t block) const { return std::min(width_, channels_ - first(block)); }

 private:
  static constexpr int64_t kNarrowest = 16;  // channels of a block: whole vectors

  int64_t channels_;
  int64_t width_;
};

}  // namespace vig
