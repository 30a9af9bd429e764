// How processes share a batch.
#pragma once

#include <cstdint>

namespace vig {

// Dealt out in turn, `together` samples at a time. With `pairs` a batch is dealt out as its first
// half is, and each sample of the second half goes where its partner of the first is, half a batch
// before it: so pairs stay on one process, whatever the number of processes is, in their order. The
// last sample of an odd batch has no partner. Of a batch that is no multiple of twice `together` >
// 1, samples are dealt out in turn instead.
struct Deal {
  int rank = 0, ranks = 1;
  int64_t together = 1;
  bool pairs = false;
  int64_t batch = 0;  // samples of all processes; needed for pairs only

  // Position in the whole batch of sample `index` of this process; not below `batch` if this one
  // has fewer samples.
  int64_t position(int64_t index) const {
    const int64_t turn = index / together, inside = index % together;
    if (!pairs || (together > 1 && batch % (2 * together) != 0)) {
      return (turn * ranks + rank) * together + inside;
    }
    const int64_t half = batch / 2 / together;  // turns of all
    const int64_t own = rank < half ? (half - rank + ranks - 1) / ranks : 0;
    if (turn < own) return (turn * ranks + rank) * together + inside;
    if (turn < 2 * own) return (half + (turn - own) * ranks + rank) * together + inside;
    const bool odd = batch % 2 != 0 && half % ranks == rank && turn == 2 * own;
    return odd ? batch - 1 : batch;
  }
};

}  // namespace vig
