// How processes share a batch.
#pragma once

#include <cstdint>

namespace vig {

// Dealt out in turn, `together` samples at a time.
struct Deal {
  int rank = 0, ranks = 1;
  int64_t together = 1;

  // Position in the whole batch of sample `index` of this process.
  int64_t position(int64_t index) const {
    return (index / together * ranks + rank) * together + index % together;
  }
};

}  // namespace vig
