// What is drawn is part of what runs and seeds mean, so the numbers themselves are pinned.
#include "vig/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace vig::test {
namespace {

TEST(Random, BitsAreThoseOfSplitMix64) {
  constexpr uint64_t kIncrement = 0x9e3779b97f4a7c15u;
  EXPECT_EQ(mix_bits(kIncrement), 0xe220a8397b1dcdafu);  // the published sequence of seed 0
  EXPECT_EQ(mix_bits(2 * kIncrement), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(mix_bits(3 * kIncrement), 0x06c45d188009454fu);
}

TEST(Random, NamesHashByFnv1a) {
  EXPECT_EQ(hash_name(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_name("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_name("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(hash_name("\xff"), (0xcbf29ce484222325u ^ 0xffu) * 0x100000001b3u);
}

TEST(Random, UnitsKeepToTheirEnds) {
  EXPECT_EQ(unit_open_above(0), 0.0f);
  EXPECT_EQ(unit_open_above(UINT64_MAX), 1.0f - 0x1p-24f);
  EXPECT_EQ(unit_open_below(0), 0x1p-24f);  // has a logarithm
  EXPECT_EQ(unit_open_below(UINT64_MAX), 1.0f);
}

TEST(Random, DrawsFollowTheCounter) {
  const RandomStream stream(7);
  RandomStream drawn = stream;
  for (uint64_t i = 0; i < 5; ++i) EXPECT_EQ(drawn.bits(), stream.bits_at(i));
  // Streams made of it do not depend on what was drawn.
  EXPECT_EQ(drawn.fork(3).bits(), stream.fork(3).bits());
  EXPECT_EQ(drawn.fork("x").bits(), stream.fork(hash_name("x")).bits());
  EXPECT_EQ(drawn.at(3).bits(), stream.at(3).bits());
}

TEST(Random, StreamsDiffer) {
  std::set<uint64_t> first;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const RandomStream stream(seed);
    first.insert(stream.bits_at(0));
    for (uint64_t i = 1; i < 10; ++i) {
      first.insert({stream.fork(i).bits(), stream.at(i).bits(), stream.fork(i).fork(i).bits()});
    }
  }
  EXPECT_EQ(first.size(), 10u * (1 + 9 * 3));
}

TEST(Random, DrawsFillTheirRanges) {
  constexpr int kCount = 30'000;
  RandomStream stream(1);
  std::vector<int> counts(5);
  for (int i = 0; i < kCount; ++i) ++counts.at(stream.below(5));
  for (const int count : counts) EXPECT_NEAR(count, kCount / 5, 300);

  int ever = 0, half = 0, always = 0;
  double sum = 0, least = 10, most = 0, mean = 0, squares = 0;
  for (int i = 0; i < kCount; ++i) {
    ever += stream.chance(0), half += stream.chance(0.5), always += stream.chance(1);
    const double value = stream.uniform(2, 6);
    sum += value, least = std::min(least, value), most = std::max(most, value);
    const double normal = stream.normal();
    mean += normal, squares += normal * normal;
  }
  EXPECT_EQ(ever, 0);
  EXPECT_NEAR(half, kCount / 2, 400);
  EXPECT_EQ(always, kCount);
  EXPECT_NEAR(sum / kCount, 4, 0.05);
  EXPECT_GE(least, 2);
  EXPECT_LT(least, 2.01);
  EXPECT_LT(most, 6);
  EXPECT_GT(most, 5.99);
  EXPECT_NEAR(mean / kCount, 0, 0.03);
  EXPECT_NEAR(squares / kCount, 1, 0.05);
}

}  // namespace
}  // namespace vig::test
