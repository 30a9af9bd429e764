#include "vig/data/mixup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "support/errors.h"

namespace vig {
namespace {

TEST(Beta, HasItsMeanAndVariance) {
  constexpr int kDraws = 40000;
  for (const auto& [a, b] :
       {std::pair{0.8, 0.8}, {1.0, 1.0}, {0.2, 0.2}, {2.0, 5.0}, {30.0, 1.5}}) {
    RandomStream stream(1);
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double x = draw_beta(a, b, stream);
      ASSERT_GE(x, 0.0);
      ASSERT_LE(x, 1.0);
      sum += x;
      squares += x * x;
    }
    const double mean = a / (a + b), variance = mean * (1 - mean) / (a + b + 1);
    const double found = sum / kDraws;
    EXPECT_NEAR(found, mean, 5 * std::sqrt(variance / kDraws)) << a << " " << b;
    EXPECT_NEAR(squares / kDraws - found * found, variance, 0.04 * variance) << a << " " << b;
  }
}

TEST(Beta, OfOneAndOneIsUniform) {
  constexpr int kDraws = 20000;
  RandomStream stream(2);
  std::vector<double> draws(kDraws);
  for (double& x : draws) x = draw_beta(1, 1, stream);
  std::sort(draws.begin(), draws.end());
  double farthest = 0;  // Kolmogorov and Smirnov: above 1.95 / sqrt(n) once in a thousand
  for (int i = 0; i < kDraws; ++i) {
    farthest = std::max(farthest, std::abs(draws[i] - (i + 0.5) / kDraws));
  }
  EXPECT_LT(farthest, 1.95 / std::sqrt(kDraws));
}

TEST(Beta, TinyShapesGiveTheEnds) {
  RandomStream stream(3);
  int ones = 0;
  for (int i = 0; i < 1000; ++i) {
    const double x = draw_beta(1e-30, 1e-30, stream);
    ASSERT_TRUE(x == 0.0 || x == 1.0) << x;
    ones += x == 1.0;
  }
  EXPECT_NEAR(ones, 500, 80);
}

// How often each kind is drawn.
struct Kinds {
  int none = 0, mixup = 0, cutmix = 0;
};
Kinds count_kinds(const MixupOptions& options, int batches) {
  Kinds kinds;
  for (int i = 0; i < batches; ++i) {
    const BatchMixup mix = draw_mixup(options, 32, RandomStream(4).fork(i));
    kinds.none += mix.kind == BatchMixup::Kind::kNone;
    kinds.mixup += mix.kind == BatchMixup::Kind::kMixup;
    kinds.cutmix += mix.kind == BatchMixup::Kind::kCutmix;
  }
  return kinds;
}

TEST(Mixing, SwitchesBetweenItsKinds) {
  MixupOptions options;
  EXPECT_EQ(count_kinds(options, 100).none, 100);
  options.mixup = 0.8f;
  EXPECT_EQ(count_kinds(options, 100).mixup, 100);
  options.cutmix = 1.0f;
  Kinds kinds = count_kinds(options, 4000);
  EXPECT_EQ(kinds.none, 0);
  EXPECT_NEAR(kinds.cutmix, 2000, 160);
  options.switch_probability = 0.1f;
  options.probability = 0.5f;
  kinds = count_kinds(options, 4000);
  EXPECT_NEAR(kinds.none, 2000, 160);
  EXPECT_NEAR(kinds.cutmix, 200, 70);
  options.mixup = 0.0f;
  EXPECT_EQ(count_kinds(options, 4000).mixup, 0);
}

TEST(Mixing, CutmixLambdaIsTheRealArea) {
  MixupOptions options;
  options.cutmix = 1.0f;
  for (const int size : {1, 2, 7, 32, 224}) {
    for (int i = 0; i < 500; ++i) {
      const BatchMixup mix = draw_mixup(options, size, RandomStream(5).fork(i));
      ASSERT_LE(0, mix.x_begin);
      ASSERT_LE(mix.x_begin, mix.x_end);
      ASSERT_LE(mix.x_end, size);
      ASSERT_LE(0, mix.y_begin);
      ASSERT_LE(mix.y_begin, mix.y_end);
      ASSERT_LE(mix.y_end, size);
      const double area = (mix.x_end - mix.x_begin) * (mix.y_end - mix.y_begin);
      ASSERT_DOUBLE_EQ(mix.lambda, 1.0 - area / (size * size));
      const auto whole = [&](int begin, int end) { return begin > 0 && end < size; };
      if (whole(mix.x_begin, mix.x_end) && whole(mix.y_begin, mix.y_end)) {
        ASSERT_EQ(mix.x_end - mix.x_begin, mix.y_end - mix.y_begin);
        ASSERT_EQ((mix.x_end - mix.x_begin) % 2, 0);  // as much on either side of its middle
      }
    }
  }
  // Of a box of side r, r - r^2 / 4 falls inside along each axis. With r^2 = u uniform the mean of
  // (r - u / 4)^2 is 1/2 - 1/5 + 1/48.
  double sum = 0;
  for (int i = 0; i < 4000; ++i) sum += draw_mixup(options, 1000, RandomStream(5).fork(i)).lambda;
  EXPECT_NEAR(sum / 4000, 1.0 - (0.3 + 1.0 / 48), 0.02);
}

// Image i has the value i + 1 everywhere and the label i.
struct Batch {
  std::vector<float> images, targets;
  std::vector<int> labels;
  int count, size;

  Batch(int n, int side) : labels(static_cast<size_t>(n)), count(n), size(side) {
    const size_t floats = static_cast<size_t>(side) * static_cast<size_t>(side) * 3;
    for (int i = 0; i < n; ++i) images.insert(images.end(), floats, static_cast<float>(i + 1));
    std::iota(labels.begin(), labels.end(), 0);
    targets.assign(static_cast<size_t>(n) * static_cast<size_t>(n), -1.0f);
  }
  const float* image(int i) const { return images.data() + floats() * static_cast<size_t>(i); }
  size_t floats() const { return static_cast<size_t>(size) * static_cast<size_t>(size) * 3; }
  float target(int i, int label) const { return targets[static_cast<size_t>(i * count + label)]; }
};

TEST(Mixing, LabelWeightsAreTheSharesOfTheImages) {
  for (const bool cutmix : {false, true}) {
    for (const int count : {1, 2, 3, 7, 8}) {
      for (int trial = 0; trial < 20; ++trial) {
        Batch batch(count, 9);
        MixupOptions options;
        (cutmix ? options.cutmix : options.mixup) = 1.0f;
        mixup_batch(options, RandomStream(6).fork(trial), batch.labels, 9, count,
                    batch.images.data(), batch.targets.data());
        for (int i = 0; i < count; ++i) {
          const int half = count / 2;
          const int partner = i == 2 * half ? i : (i + half) % (2 * half);
          const float* image = batch.image(i);
          float total = 0;
          for (int k = 0; k < count; ++k) total += batch.target(i, k);
          EXPECT_NEAR(total, 1.0f, 1e-6f);
          if (partner == i) {
            EXPECT_EQ(batch.target(i, i), 1.0f);
            EXPECT_EQ(std::count(image, image + batch.floats(), i + 1.0f),
                      static_cast<int64_t>(batch.floats()));
          } else if (cutmix) {
            const auto pasted = std::count(image, image + batch.floats(), partner + 1.0f);
            const auto kept = std::count(image, image + batch.floats(), i + 1.0f);
            EXPECT_EQ(pasted + kept, static_cast<int64_t>(batch.floats()));
            EXPECT_NEAR(batch.target(i, partner), static_cast<double>(pasted) / batch.floats(),
                        1e-6);
            EXPECT_NEAR(batch.target(i, i), static_cast<double>(kept) / batch.floats(), 1e-6);
          } else {
            const float expected =
                batch.target(i, i) * (i + 1) + batch.target(i, partner) * (partner + 1);
            for (size_t k = 0; k < batch.floats(); ++k) ASSERT_NEAR(image[k], expected, 1e-5f);
          }
        }
      }
    }
  }
}

// Dealt out to processes, a batch is mixed as it is in one, if each gets an even share.
TEST(Mixing, SharesOfABatchAreMixedLikeTheWhole) {
  constexpr int kCount = 24, kSize = 6;
  MixupOptions options;
  options.mixup = 0.8f;
  options.cutmix = 1.0f;
  options.smoothing = 0.1f;
  for (int trial = 0; trial < 8; ++trial) {
    const RandomStream stream = RandomStream(10).fork(trial);
    Batch whole(kCount, kSize);
    mixup_batch(options, stream, whole.labels, kSize, kCount, whole.images.data(),
                whole.targets.data());
    for (const int processes : {2, 3, 4, 6, 12}) {
      const int share = kCount / processes;
      for (int process = 0; process < processes; ++process) {
        Batch part(kCount, kSize);
        part.labels.resize(static_cast<size_t>(share));
        for (int i = 0; i < share; ++i) {
          const int from = process + i * processes;
          part.labels[static_cast<size_t>(i)] = from;
          std::fill_n(part.images.begin() + i * static_cast<int>(part.floats()), part.floats(),
                      from + 1.0f);
        }
        mixup_batch(options, stream, part.labels, kSize, kCount, part.images.data(),
                    part.targets.data());
        for (int i = 0; i < share; ++i) {
          const int from = process + i * processes;
          ASSERT_TRUE(std::equal(part.image(i), part.image(i + 1), whole.image(from)));
          for (int k = 0; k < kCount; ++k) ASSERT_EQ(part.target(i, k), whole.target(from, k));
        }
      }
    }
  }
}

TEST(Mixing, CutmixSwapsTheBoxAndNothingElse) {
  constexpr int kSize = 5;
  BatchMixup mix;
  mix.kind = BatchMixup::Kind::kCutmix;
  mix.x_begin = 1;
  mix.x_end = 4;
  mix.y_begin = 2;
  mix.y_end = 3;
  std::vector<float> images(2 * kSize * kSize * 3);
  std::iota(images.begin(), images.end(), 0.0f);
  std::vector<float> mixed = images;
  mixup_images(mix, 2, kSize, mixed.data());
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < kSize * kSize * 3; ++k) {
      const int y = k / 3 / kSize, x = k / 3 % kSize;
      const bool other = y == 2 && x >= 1 && x < 4;
      const int from = other ? 1 - i : i;
      ASSERT_EQ(mixed[i * 75 + k], images[from * 75 + k]) << i << " " << y << " " << x;
    }
  }
}

TEST(Mixing, SmoothingIsExact) {
  const std::vector<int> labels = {3, 0, 3};
  std::vector<float> targets(3 * 10, -1.0f);
  mixup_targets(BatchMixup(), labels, 10, 0.1f, targets.data());
  for (int i = 0; i < 3; ++i) {
    for (int c = 0; c < 10; ++c) {
      EXPECT_FLOAT_EQ(targets[i * 10 + c], c == labels[i] ? 0.91f : 0.01f);
    }
  }
  BatchMixup mix;
  mix.kind = BatchMixup::Kind::kMixup;
  mix.lambda = 0.75;
  const std::vector<int> pair = {1, 2};
  std::vector<float> two(2 * 4, -1.0f);
  mixup_targets(mix, pair, 4, 0.2f, two.data());
  const std::vector<float> expected = {0.05f, 0.65f, 0.25f, 0.05f, 0.05f, 0.25f, 0.65f, 0.05f};
  for (size_t i = 0; i < two.size(); ++i) EXPECT_FLOAT_EQ(two[i], expected[i]) << i;

  const std::vector<int> equal = {1, 1};
  mixup_targets(mix, equal, 4, 0.0f, two.data());
  EXPECT_EQ(two, std::vector<float>({0, 1, 0, 0, 0, 1, 0, 0}));
  float alone = -1;
  mixup_targets(mix, std::vector<int>{0}, 1, 0.1f, &alone);
  EXPECT_EQ(alone, 1.0f);
}

TEST(Mixing, IsAFunctionOfTheStream) {
  MixupOptions options;
  options.mixup = 0.8f;
  options.cutmix = 1.0f;
  const auto run = [&](uint64_t batch_index) {
    Batch batch(4, 6);
    mixup_batch(options, RandomStream(8).fork("mix").fork(batch_index), batch.labels, 6, 4,
                batch.images.data(), batch.targets.data());
    batch.images.insert(batch.images.end(), batch.targets.begin(), batch.targets.end());
    return batch.images;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(Mixing, SmallestBatches) {
  MixupOptions options;
  options.mixup = 1.0f;
  mixup_batch(options, RandomStream(9), {}, 4, 3, nullptr, nullptr);
  Batch batch(1, 1);
  mixup_batch(options, RandomStream(9), batch.labels, 1, 1, batch.images.data(),
              batch.targets.data());
  EXPECT_EQ(batch.images, std::vector<float>({1, 1, 1}));
  EXPECT_EQ(batch.targets, std::vector<float>({1}));
}

TEST(Mixing, InvalidOptionsAreNamed) {
  std::vector<float> targets(4, 7.0f);
  for (const int bad : {-1, 2, 1 << 30}) {
    test::expect_error(ErrorCode::kInput, {"label", std::to_string(bad), "0 to 1"}, [&] {
      mixup_targets(BatchMixup(), std::vector<int>{0, bad}, 2, 0.0f, targets.data());
    });
  }
  EXPECT_EQ(targets, std::vector<float>(4, 7.0f));
  const auto refused = [](const std::string& word, auto set) {
    MixupOptions options;
    set(options);
    test::expect_error(ErrorCode::kUsage, {"mixing", word}, [&] { check_mixup_options(options); });
  };
  refused("mixup is -1", [](MixupOptions& o) { o.mixup = -1; });
  refused("cutmix is nan", [](MixupOptions& o) { o.cutmix = std::nanf(""); });
  refused("mix-switch is 1.5", [](MixupOptions& o) { o.switch_probability = 1.5f; });
  refused("mix-probability is 2", [](MixupOptions& o) { o.probability = 2; });
  refused("smoothing is inf", [](MixupOptions& o) { o.smoothing = INFINITY; });
  check_mixup_options(MixupOptions());
}

}  // namespace
}  // namespace vig
