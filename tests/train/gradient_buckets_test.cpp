// When stretches of gradients are handed over, and what they hold by then.
#include "vig/train/processes/gradient_buckets.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "vig/weights/load.h"

namespace vig::test {
namespace {

using train::GradientBuckets;
using train::Parameters;

// Of 64 values each, so that no padding lies between.
Parameters make_parameters(int count) {
  std::vector<ParamSpec> specs;
  for (int i = 0; i < count; ++i) {
    specs.push_back({"p" + std::to_string(i), Shape{64}, ones_init()});
  }
  return Parameters(specs, *random_weights(specs, 1), at::kCPU);
}

// x * p0 * p1 * ...: all are ones, so each has the gradient x, and the last has it first.
void run_backward(const Parameters& parameters, float x, int unused = -1) {
  at::Tensor y = at::full({64}, x);
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (static_cast<int>(i) != unused) y = y * parameters[i];
  }
  y.sum().backward();
}

// Stands in for the other processes: they give twice what this one has.
struct Others {
  std::vector<std::vector<float>> given;  // first number and size of each stretch handed over
  size_t waited = 0;
  GradientBuckets::Start start() {
    return [this](const at::Tensor& gradients) -> std::function<void()> {
      given.push_back({gradients[0].item<float>(), static_cast<float>(gradients.numel())});
      return [this, gradients] {
        ++waited;
        gradients.mul_(3);
      };
    };
  }
};

void expect_gradients(const Parameters& parameters, const std::vector<float>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const at::Tensor& gradient = parameters[i].grad();
    EXPECT_TRUE(gradient.eq(expected[i]).all().item<bool>()) << i << ": " << gradient[0];
  }
}

TEST(GradientBuckets, AreHandedOverWhileBackwardRuns) {
  Parameters parameters = make_parameters(5);
  Parameters* shards[] = {&parameters};
  std::vector<float> first_gradient;  // of p0, when each stretch is handed over
  std::vector<int64_t> sizes;
  GradientBuckets buckets(
      shards,
      [&](const at::Tensor& gradients) -> std::function<void()> {
        first_gradient.push_back(parameters[0].grad()[0].item<float>());
        sizes.push_back(gradients.numel());
        return [gradients] { gradients.mul_(3); };
      },
      128);
  ASSERT_EQ(buckets.size(), 3u);
  for (int step = 0; step < 3; ++step) {
    first_gradient.clear();
    sizes.clear();
    parameters.zero_gradients();
    buckets.begin(1);
    run_backward(parameters, 2);
    EXPECT_EQ(buckets.started(), 3u);
    buckets.finish();
    EXPECT_EQ(sizes, (std::vector<int64_t>{128, 128, 64}));
    EXPECT_EQ(first_gradient, (std::vector<float>{0, 0, 2}));
    expect_gradients(parameters, {6, 6, 6, 6, 6});
  }
}

TEST(GradientBuckets, CoverWhatLearnsOnce) {
  for (const int64_t floats : {1, 64, 65, 200, 100000}) {
    Parameters parameters = make_parameters(7);
    parameters.freeze(0);
    parameters.freeze(3);
    Parameters* shards[] = {&parameters};
    Others others;
    GradientBuckets buckets(shards, others.start(), floats);
    buckets.begin(1);
    run_backward(parameters, 1);
    buckets.finish();
    EXPECT_EQ(others.waited, buckets.size());
    expect_gradients(parameters, {0, 3, 3, 0, 3, 3, 3});
    float total = 0;
    for (const auto& stretch : others.given) total += stretch[1];
    EXPECT_EQ(total, 5 * 64);
  }
}

TEST(GradientBuckets, NoneWhereNothingLearns) {
  Parameters parameters = make_parameters(2);
  parameters.freeze(0);
  parameters.freeze(1);
  Parameters* shards[] = {&parameters};
  Others others;
  GradientBuckets buckets(shards, others.start());
  EXPECT_EQ(buckets.size(), 0u);
  buckets.begin(1);
  buckets.finish();
}

TEST(GradientBuckets, WaitForEveryPart) {
  Parameters parameters = make_parameters(4);
  Parameters* shards[] = {&parameters};
  Others others;
  GradientBuckets buckets(shards, others.start(), 64);
  buckets.begin(3);
  run_backward(parameters, 1);
  run_backward(parameters, 2);
  EXPECT_EQ(buckets.started(), 0u);
  run_backward(parameters, 4);
  EXPECT_EQ(buckets.started(), 4u);
  buckets.finish();
  expect_gradients(parameters, {21, 21, 21, 21});
}

// A parameter that a step does not use holds up those before it until the end, and no longer: other
// processes may have used it.
TEST(GradientBuckets, GoInOrderWithAnyMissing) {
  for (const int unused : {0, 1, 2, 3}) {
    Parameters parameters = make_parameters(4);
    Parameters* shards[] = {&parameters};
    Others others;
    GradientBuckets buckets(shards, others.start(), 64);
    buckets.begin(1);
    run_backward(parameters, 5, unused);
    EXPECT_EQ(buckets.started(), static_cast<size_t>(3 - unused));
    buckets.finish();
    ASSERT_EQ(others.given.size(), 4u);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(others.given[3 - i][0], i == unused ? 0 : 5) << unused;
    EXPECT_EQ(others.waited, 4u);
  }
}

TEST(GradientBuckets, AProcessWithoutImagesStillTakesPart) {
  Parameters parameters = make_parameters(3);
  Parameters* shards[] = {&parameters};
  Others others;
  GradientBuckets buckets(shards, others.start(), 64);
  buckets.begin(0);
  EXPECT_EQ(buckets.started(), 0u);
  buckets.finish();
  EXPECT_EQ(others.waited, 3u);
}

TEST(GradientBuckets, AreSummedOverShardsFirst) {
  Parameters parameters = make_parameters(6);
  std::vector<Parameters> more;
  for (int i = 0; i < 3; ++i) more.push_back(parameters.shard());
  Parameters* shards[] = {&parameters, &more[0], &more[1], &more[2]};
  Others others;
  GradientBuckets buckets(shards, others.start(), 128);
  for (int step = 0; step < 20; ++step) {
    const int idle = step % 4;  // has no images in this step
    shards[idle]->zero_gradients();
    buckets.begin(2 * 3);
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 4; ++i) {
        if (i == idle) continue;
        threads.emplace_back([&, i] {
          shards[i]->zero_gradients();
          run_backward(*shards[i], static_cast<float>(1 << i));
          run_backward(*shards[i], 100);
        });
      }
    }
    EXPECT_EQ(buckets.started(), 3u);
    buckets.finish();
    const float sum = static_cast<float>(15 - (1 << idle) + 300);
    expect_gradients(parameters, std::vector<float>(6, 3 * sum));
  }
}

}  // namespace
}  // namespace vig::test
