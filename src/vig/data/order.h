// Which samples make up which batch, on which process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vig {

// 0 .. size - 1 in an order that depends on seed and epoch alone. size < 2^31.
std::vector<size_t> epoch_order(size_t size, uint64_t seed, uint64_t epoch);

// 0 .. size - 1 as they are, for evaluation.
std::vector<size_t> plain_order(size_t size);

enum class LastBatch { kDrop, kKeep };  // when it would be smaller than the others

// Cuts the order into batches of `batch_size` over all processes. Of each, process `rank` of
// `ranks` gets the elements rank, rank + ranks, rank + 2 * ranks, ...: together they see exactly
// the batches that one process alone would see. All get equally many batches; in a last one that is
// kept, some may get one sample less than others, or none. Throws Error (usage) unless 0 <= rank <
// ranks <= batch_size.
std::vector<std::vector<size_t>> make_batches(std::span<const size_t> order, size_t batch_size,
                                              LastBatch last, int rank = 0, int ranks = 1);

}  // namespace vig
