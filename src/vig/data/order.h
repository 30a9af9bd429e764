// Which samples make up which batch, on which process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vig/base/deal.h"

namespace vig {

// 0 .. size - 1 in an order that depends on seed and epoch alone. size < 2^31.
std::vector<size_t> epoch_order(size_t size, uint64_t seed, uint64_t epoch);

// As many samples as all groups hold, in an order that depends on seed and epoch alone. Every group
// comes equally often, but for one more where that does not divide, of groups drawn anew in each
// epoch; within a group no sample comes again before all of it have. No group is empty.
std::vector<size_t> balanced_order(std::span<const std::vector<size_t>> groups, uint64_t seed,
                                   uint64_t epoch);

// All samples of these shards, of which none is empty, each in the order in which it is read, in an
// order that depends on seed and epoch alone and still reads every shard forward:
//
// 1. The shards are shuffled and taken 16 at a time.
// 2. The samples of such a window are mixed at random. Those of one shard keep their order, but for
//    their first: each shard begins somewhere and continues at its begin after its end.
// 3. Every 4096 samples in a row are shuffled.
std::vector<size_t> shard_order(std::span<const std::vector<size_t>> shards, uint64_t seed,
                                uint64_t epoch);

// How often the sample at each position of an order has come before it.
std::vector<size_t> times_before(std::span<const size_t> order);

// 0 .. size - 1 as they are, for evaluation.
std::vector<size_t> plain_order(size_t size);

enum class LastBatch { kDrop, kKeep };  // when it would be smaller than the others

// Cuts the order into batches of `batch_size` over all processes, which together see exactly the
// batches that one process alone would see. All get equally many batches; in a last one that is
// kept, some may get fewer samples than others, or none. Throws Error (usage) unless 0 <= rank <
// ranks <= batch_size. `deal` need not know the batch.
std::vector<std::vector<size_t>> make_batches(std::span<const size_t> order, size_t batch_size,
                                              LastBatch last, const Deal& deal = {});

}  // namespace vig
