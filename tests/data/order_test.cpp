#include "vig/data/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/errors.h"

namespace vig::test {
namespace {

using Batches = std::vector<std::vector<size_t>>;

TEST(EpochOrder, IsAPermutationOfItsOwn) {
  for (const size_t size : {0u, 1u, 2u, 3u, 17u, 1000u}) {
    std::vector<size_t> order = epoch_order(size, 1, 2);
    EXPECT_EQ(order, epoch_order(size, 1, 2));
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, plain_order(size));
  }
  EXPECT_NE(epoch_order(100, 1, 2), epoch_order(100, 1, 3));
  EXPECT_NE(epoch_order(100, 1, 2), epoch_order(100, 2, 2));
  EXPECT_NE(epoch_order(100, 1, 2), epoch_order(100, 2, 1));
}

// A resumed run must find the order of the run it continues, on any machine and in any version.
TEST(EpochOrder, StaysAsItIs) {
  EXPECT_EQ(epoch_order(8, 0, 0), (std::vector<size_t>{3, 0, 5, 7, 4, 2, 6, 1}));
  EXPECT_EQ(epoch_order(8, 42, 7), (std::vector<size_t>{4, 3, 5, 1, 0, 7, 2, 6}));
}

TEST(EpochOrder, EveryOrderIsEquallyLikely) {
  std::map<std::vector<size_t>, int> counts;
  for (uint64_t epoch = 0; epoch < 2400; ++epoch) ++counts[epoch_order(4, 5, epoch)];
  ASSERT_EQ(counts.size(), 24u);
  double chi_squared = 0;  // 23 degrees of freedom: above 50 once in a thousand seeds
  for (const auto& [order, count] : counts) chi_squared += (count - 100.0) * (count - 100.0) / 100;
  EXPECT_LT(chi_squared, 50);
}

std::vector<std::vector<size_t>> made_shards(const std::vector<size_t>& sizes) {
  std::vector<std::vector<size_t>> shards;
  size_t next = 0;
  for (const size_t size : sizes) {
    std::vector<size_t>& shard = shards.emplace_back();
    for (size_t i = 0; i < size; ++i) shard.push_back(next++);
  }
  return shards;
}

TEST(ShardOrder, IsAPermutationOfItsOwn) {
  for (const std::vector<size_t>& sizes :
       std::vector<std::vector<size_t>>{{1}, {3, 1, 2}, std::vector<size_t>(40, 5)}) {
    const auto shards = made_shards(sizes);
    std::vector<size_t> order = shard_order(shards, 1, 2);
    EXPECT_EQ(order, shard_order(shards, 1, 2));
    std::ranges::sort(order);
    EXPECT_EQ(order, plain_order(order.size()));
  }
  const auto shards = made_shards({50, 50});
  EXPECT_NE(shard_order(shards, 1, 2), shard_order(shards, 1, 3));
  EXPECT_NE(shard_order(shards, 1, 2), shard_order(shards, 2, 2));
}

// A resumed run must find the order of the run it continues, on any machine and in any version.
TEST(ShardOrder, StaysAsItIs) {
  EXPECT_EQ(shard_order(made_shards({3, 1, 4}), 42, 7),
            (std::vector<size_t>{5, 2, 4, 3, 7, 6, 0, 1}));
}

// What makes it worth having: at any time few shards are read, and each from one place on.
TEST(ShardOrder, ReadsFewShardsAtATimeAndEachForward) {
  constexpr size_t kShards = 40, kSize = 3000, kBlock = 4096;
  const auto shards = made_shards(std::vector<size_t>(kShards, kSize));
  const std::vector<size_t> order = shard_order(shards, 3, 4);
  for (size_t begin = 0; begin < order.size(); begin += kBlock) {
    std::map<size_t, std::vector<size_t>> read;  // positions by shard
    for (size_t i = begin; i < std::min(begin + kBlock, order.size()); ++i) {
      read[order[i] / kSize].push_back(order[i] % kSize);
    }
    EXPECT_LE(read.size(), 32u);  // of one window, or of two at a border
    size_t far = 0;               // shards of which the block reads no piece in a row
    for (auto& [shard, positions] : read) {
      std::ranges::sort(positions);
      size_t gaps = positions.front() == 0 && positions.back() == kSize - 1 ? 0 : 1;
      for (size_t i = 1; i < positions.size(); ++i) gaps += positions[i] != positions[i - 1] + 1;
      far += gaps > 1 ? 1 : 0;
    }
    EXPECT_EQ(far, 0u) << begin;
  }
}

// Groups of 1, 2, 3 and 17: 23 draws are 5 or 6 of each.
TEST(BalancedOrder, DrawsGroupsEquallyOften) {
  std::vector<std::vector<size_t>> groups(4);
  for (size_t i = 0; i < 23; ++i) groups[i < 1 ? 0 : i < 3 ? 1 : i < 6 ? 2 : 3].push_back(i);
  const auto group_of = [&](size_t sample) {
    return std::ranges::find_if(
               groups,
               [&](const auto& group) { return std::ranges::find(group, sample) != group.end(); }) -
           groups.begin();
  };
  std::map<std::ptrdiff_t, int> six;
  std::set<size_t> seen;
  for (uint64_t epoch = 0; epoch < 40; ++epoch) {
    const std::vector<size_t> order = balanced_order(groups, 7, epoch);
    ASSERT_EQ(order.size(), 23u);
    EXPECT_EQ(order, balanced_order(groups, 7, epoch)) << "of seed and epoch alone";
    EXPECT_NE(order, balanced_order(groups, 8, epoch));
    std::map<std::ptrdiff_t, int> drawn;
    std::map<size_t, int> times;
    for (const size_t sample : order) {
      ++drawn[group_of(sample)];
      ++times[sample];
      seen.insert(sample);
    }
    for (const auto& [group, count] : drawn) {
      EXPECT_TRUE(count == 5 || count == 6) << group << ": " << count;
      six[group] += count == 6 ? 1 : 0;
    }
    // None comes again before all of its group have.
    for (const std::vector<size_t>& group : groups) {
      const auto [least, most] =
          std::ranges::minmax(group, {}, [&](size_t sample) { return times[sample]; });
      EXPECT_LE(times[most] - times[least], 1) << epoch;
    }
  }
  EXPECT_EQ(seen.size(), 23u) << "large groups show other samples in other epochs";
  for (std::ptrdiff_t group = 0; group < 4; ++group) {
    EXPECT_GT(six[group], 15) << group;  // 30 of 40 on average
    EXPECT_LT(six[group], 40) << group;
  }
}

// As EpochOrder: a run that samples evenly resumes with it.
TEST(BalancedOrder, StaysAsItIs) {
  const std::vector<std::vector<size_t>> groups = {{0}, {1, 2}, {3, 4, 5, 6, 7, 8}};
  EXPECT_EQ(balanced_order(groups, 42, 7), (std::vector<size_t>{0, 4, 2, 2, 1, 0, 3, 8, 0}));
}

TEST(BalancedOrder, GroupsAreMixed) {
  std::vector<std::vector<size_t>> groups(2);
  for (size_t i = 0; i < 100; ++i) groups[i / 50].push_back(i);
  const std::vector<size_t> order = balanced_order(groups, 1, 1);
  int changes = 0;
  for (size_t i = 1; i < order.size(); ++i) changes += order[i] / 50 != order[i - 1] / 50;
  EXPECT_NEAR(changes, 50, 20);
}

TEST(BalancedOrder, CountsWhatHasComeBefore) {
  const std::vector<size_t> order = {3, 0, 3, 3, 1, 0};
  EXPECT_EQ(times_before(order), (std::vector<size_t>{0, 0, 1, 2, 0, 1}));
  EXPECT_EQ(times_before({}), std::vector<size_t>());
}

TEST(Batches, CutInOrder) {
  const std::vector<size_t> order = {5, 4, 3, 2, 1, 0, 6};
  EXPECT_EQ(make_batches(order, 3, LastBatch::kDrop), (Batches{{5, 4, 3}, {2, 1, 0}}));
  EXPECT_EQ(make_batches(order, 3, LastBatch::kKeep), (Batches{{5, 4, 3}, {2, 1, 0}, {6}}));
  EXPECT_EQ(make_batches(order, 7, LastBatch::kDrop), (Batches{order}));
  EXPECT_EQ(make_batches(order, 8, LastBatch::kDrop), Batches());
  EXPECT_EQ(make_batches({}, 8, LastBatch::kKeep), Batches());
}

TEST(Batches, ProcessesTogetherSeeWhatOneSees) {
  for (const size_t size : {1u, 10u, 23u, 24u}) {
    const std::vector<size_t> order = epoch_order(size, 1, 1);
    for (const LastBatch last : {LastBatch::kDrop, LastBatch::kKeep}) {
      const Batches whole = make_batches(order, 6, last);
      for (const int ranks : {1, 2, 4, 6}) {
        Batches merged(whole.size());
        for (int rank = 0; rank < ranks; ++rank) {
          const Batches part = make_batches(order, 6, last, {rank, ranks});
          ASSERT_EQ(part.size(), whole.size());
          for (size_t b = 0; b < part.size(); ++b) {
            merged[b].resize(whole[b].size());
            for (size_t i = 0; i < part[b].size(); ++i) {
              merged[b].at(static_cast<size_t>(rank) + i * static_cast<size_t>(ranks)) = part[b][i];
            }
          }
        }
        EXPECT_EQ(merged, whole);
      }
    }
  }
}

// Groups of a batch stay on one process, also in the last batch.
TEST(Batches, GroupsStayTogether) {
  EXPECT_EQ(make_batches(plain_order(23), 12, LastBatch::kKeep, {0, 2, 4}),
            (Batches{{0, 1, 2, 3, 8, 9, 10, 11}, {12, 13, 14, 15, 20, 21, 22}}));
  EXPECT_EQ(make_batches(plain_order(23), 12, LastBatch::kKeep, {1, 2, 4}),
            (Batches{{4, 5, 6, 7}, {16, 17, 18, 19}}));
  EXPECT_EQ(make_batches(plain_order(3), 12, LastBatch::kKeep, {1, 2, 4}), (Batches{{}}));
  EXPECT_EQ((Deal{1, 2, 4}.position(5)), 13);
  EXPECT_EQ((Deal{2, 3, 1}.position(4)), 14);
}

// Sample i and sample i + half of a batch come to the same process, as partners in its share.
TEST(Batches, PairsStayTogether) {
  for (const size_t size : {1u, 2u, 7u, 8u, 9u, 12u, 31u}) {
    for (const int ranks : {1, 2, 3, 5}) {
      std::set<size_t> all;
      for (int rank = 0; rank < ranks; ++rank) {
        Deal deal = {rank, ranks};
        deal.pairs = true;
        const std::vector<size_t> own =
            make_batches(plain_order(size), 40, LastBatch::kKeep, deal).at(0);
        all.insert(own.begin(), own.end());
        for (size_t i = 0; i < own.size() / 2; ++i) {
          EXPECT_EQ(own[i + own.size() / 2], own[i] + size / 2) << size << ' ' << ranks;
        }
        if (own.size() % 2 != 0) {
          EXPECT_EQ(own.back(), size - 1);
        }
      }
      EXPECT_EQ(all.size(), size) << ranks;
    }
  }
  // Groups, too, where there is an even number of them.
  Deal deal = {1, 3, 2};
  deal.pairs = true;
  EXPECT_EQ(make_batches(plain_order(16), 16, LastBatch::kKeep, deal), (Batches{{2, 3, 10, 11}}));
  EXPECT_EQ(make_batches(plain_order(14), 16, LastBatch::kKeep, deal), (Batches{{2, 3, 8, 9}}));
}

TEST(Batches, NonsenseIsRefused) {
  const std::vector<size_t> order = plain_order(10);
  for (const auto& [batch, rank, ranks] :
       {std::tuple{4, 2, 2}, {4, -1, 2}, {4, 0, 0}, {1, 0, 2}, {0, 0, 1}}) {
    expect_error(ErrorCode::kUsage, {"[data]"}, [&, b = batch, r = rank, n = ranks] {
      make_batches(order, static_cast<size_t>(b), LastBatch::kKeep, {r, n});
    });
  }
  expect_error(ErrorCode::kUsage, {"[data]"}, [&] {
    make_batches(order, 4, LastBatch::kKeep, {0, 1, 0});
  });
}

}  // namespace
}  // namespace vig::test
