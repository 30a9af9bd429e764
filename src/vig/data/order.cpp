#include "vig/data/order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/random.h"

namespace vig {

namespace {

void shuffle(std::span<size_t> indices, RandomStream stream) {
  for (size_t i = indices.size(); i > 1; --i) std::swap(indices[i - 1], indices[stream.below(i)]);
}

}  // namespace

std::vector<size_t> plain_order(size_t size) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

std::vector<size_t> epoch_order(size_t size, uint64_t seed, uint64_t epoch) {
  std::vector<size_t> order = plain_order(size);
  shuffle(order, RandomStream(seed).fork("epoch order").fork(epoch));
  return order;
}

std::vector<size_t> balanced_order(std::span<const std::vector<size_t>> groups, uint64_t seed,
                                   uint64_t epoch) {
  size_t size = 0;
  for (const std::vector<size_t>& group : groups) size += group.size();
  const RandomStream stream = RandomStream(seed).fork("balanced order").fork(epoch);
  std::vector<size_t> turns = plain_order(groups.size());
  shuffle(turns, stream.fork("turns"));
  std::vector<size_t> order;
  for (size_t turn = 0; turn < turns.size(); ++turn) {
    const RandomStream own = stream.fork("group").fork(turns[turn]);
    std::vector<size_t> pass = groups[turns[turn]];
    const size_t share = size / groups.size() + (turn < size % groups.size() ? 1 : 0);
    for (size_t i = 0; i < share; ++i) {
      if (i % pass.size() == 0) shuffle(pass, own.fork(i / pass.size()));
      order.push_back(pass[i % pass.size()]);
    }
  }
  shuffle(order, stream.fork("whole"));
  return order;
}

std::vector<size_t> shard_order(std::span<const std::vector<size_t>> shards, uint64_t seed,
                                uint64_t epoch) {
  constexpr size_t kWindow = 16, kBlock = 4096;
  const RandomStream stream = RandomStream(seed).fork("shard order").fork(epoch);
  std::vector<size_t> turns = plain_order(shards.size());
  shuffle(turns, stream.fork("shards"));
  std::vector<size_t> order;
  for (size_t begin = 0; begin < turns.size(); begin += kWindow) {
    const std::span<const size_t> window =
        std::span(turns).subspan(begin, std::min(kWindow, turns.size() - begin));
    std::vector<size_t> mixed;  // the shard of each sample, by its position in the window
    std::vector<size_t> next;   // sample of each shard
    for (size_t i = 0; i < window.size(); ++i) {
      const size_t size = shards[window[i]].size();
      mixed.insert(mixed.end(), size, i);
      next.push_back(stream.fork("begin").fork(window[i]).below(size));
    }
    shuffle(mixed, stream.fork("window").fork(begin));
    for (const size_t i : mixed) {
      const std::vector<size_t>& samples = shards[window[i]];
      order.push_back(samples[next[i]]);
      next[i] = (next[i] + 1) % samples.size();
    }
  }
  for (size_t begin = 0; begin < order.size(); begin += kBlock) {
    shuffle(std::span(order).subspan(begin, std::min(kBlock, order.size() - begin)),
            stream.fork("block").fork(begin));
  }
  return order;
}

std::vector<size_t> times_before(std::span<const size_t> order) {
  std::vector<size_t> times, seen;
  for (const size_t sample : order) {
    if (sample >= seen.size()) seen.resize(sample + 1);
    times.push_back(seen[sample]++);
  }
  return times;
}

std::vector<std::vector<size_t>> make_batches(std::span<const size_t> order, size_t batch_size,
                                              LastBatch last, const Deal& deal) {
  if (deal.rank < 0 || deal.rank >= deal.ranks || deal.together < 1) {
    fail_usage("[data] process {} of {}, expected it to be among them, counted from 0", deal.rank,
               deal.ranks);
  }
  if (batch_size < static_cast<size_t>(deal.ranks)) {
    fail_usage("[data] a batch of {} samples for {} processes, expected at least one for each",
               batch_size, deal.ranks);
  }
  std::vector<std::vector<size_t>> batches;
  for (size_t begin = 0; begin < order.size(); begin += batch_size) {
    const size_t size = std::min(batch_size, order.size() - begin);
    if (size < batch_size && last == LastBatch::kDrop) break;
    std::vector<size_t>& batch = batches.emplace_back();
    Deal own = deal;
    own.batch = static_cast<int64_t>(size);
    for (int64_t i = 0; own.position(i) < own.batch; ++i) {
      batch.push_back(order[begin + static_cast<size_t>(own.position(i))]);
    }
  }
  return batches;
}

}  // namespace vig
