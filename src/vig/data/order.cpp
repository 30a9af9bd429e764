#include "vig/data/order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/random.h"

namespace vig {

std::vector<size_t> plain_order(size_t size) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

std::vector<size_t> epoch_order(size_t size, uint64_t seed, uint64_t epoch) {
  std::vector<size_t> order = plain_order(size);
  RandomStream stream = RandomStream(seed).fork("epoch order").fork(epoch);
  for (size_t i = size; i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
  return order;
}

std::vector<std::vector<size_t>> make_batches(std::span<const size_t> order, size_t batch_size,
                                              LastBatch last, int rank, int ranks) {
  if (rank < 0 || rank >= ranks) {
    fail_usage("[data] process {} of {}, expected it to be among them, counted from 0", rank,
               ranks);
  }
  if (batch_size < static_cast<size_t>(ranks)) {
    fail_usage("[data] a batch of {} samples for {} processes, expected at least one for each",
               batch_size, ranks);
  }
  std::vector<std::vector<size_t>> batches;
  for (size_t begin = 0; begin < order.size(); begin += batch_size) {
    const size_t size = std::min(batch_size, order.size() - begin);
    if (size < batch_size && last == LastBatch::kDrop) break;
    std::vector<size_t>& batch = batches.emplace_back();
    for (size_t i = static_cast<size_t>(rank); i < size; i += static_cast<size_t>(ranks)) {
      batch.push_back(order[begin + i]);
    }
  }
  return batches;
}

}  // namespace vig
