// The taps of S4 in LibTorch's operations: those of the kernel, and their gradients.
#include "vig/torch/s4_taps.h"

#include <gtest/gtest.h>

#include <vector>

#include "vig/kernels/s4_taps.h"

namespace vig::train {
namespace {

constexpr int64_t kRows = 2, kChannels = 3, kPairs = 2, kSystems = 2, kLength = 6;

at::Tensor noise(at::IntArrayRef sizes, int64_t seed, double low, double high) {
  const at::Tensor position = at::arange(at::empty(sizes).numel(), at::kDouble);
  const at::Tensor unit = ((position + static_cast<double>(seed)) * 12.9898).sin() * 0.5 + 0.5;
  return (low + (high - low) * unit).to(at::kFloat).view(sizes);
}

S4Parameters parameters(int64_t l_kernel) {
  return {noise({kChannels, 1}, 1, -2.5, -1.0),
          noise({kSystems, kPairs}, 2, -1.0, 0.5),
          noise({kSystems, kPairs}, 3, 0.0, 8.0),
          noise({1, kSystems, kPairs, 2}, 4, -1.0, 1.0),
          noise({1, kSystems, kPairs, 2}, 5, -1.0, 1.0),
          noise({kRows, kChannels, kPairs, 2}, 6, -1.0, 1.0),
          l_kernel};
}

std::vector<at::Tensor*> tensors(S4Parameters& space) {
  return {&space.inv_dt, &space.a_real, &space.a_imag, &space.b, &space.p, &space.c};
}

TEST(S4TapsInTraining, AreThoseOfTheKernel) {
  for (const int64_t l_kernel : {int64_t{0}, kLength, kLength + 3}) {
    const S4Parameters space = parameters(l_kernel);
    const at::Tensor found = s4_taps(space, kLength);
    at::Tensor want = at::empty({kRows, kLength, kChannels});
    S4TapsArgs args;
    args.channels = kChannels;
    args.rows = kRows;
    args.pairs = kPairs;
    args.systems = kSystems;
    args.inv_dt = space.inv_dt.data_ptr<float>();
    args.a_real = space.a_real.data_ptr<float>();
    args.a_imag = space.a_imag.data_ptr<float>();
    args.b = space.b.data_ptr<float>();
    args.p = space.p.data_ptr<float>();
    args.c = space.c.data_ptr<float>();
    args.l_kernel = l_kernel;
    args.length = kLength;
    args.taps = want.data_ptr<float>();
    vig::s4_taps(args);
    ASSERT_EQ(found.sizes(), want.sizes());
    EXPECT_LE((found - want).abs().max().item<double>(), 2e-7 * want.abs().max().item<double>())
        << l_kernel;
  }
}

TEST(S4TapsInTraining, HaveTheSlopesOfDifferences) {
  const at::Tensor weights = noise({kRows, kLength, kChannels}, 7, -1.0, 1.0);
  for (const int64_t l_kernel : {int64_t{0}, kLength}) {
    S4Parameters space = parameters(l_kernel);
    const auto loss = [&] { return (s4_taps(space, kLength).to(at::kDouble) * weights).sum(); };
    for (at::Tensor* tensor : tensors(space)) tensor->requires_grad_(true);
    loss().backward();
    const at::NoGradGuard no_grad;
    for (at::Tensor* tensor : tensors(space)) {
      const at::Tensor gradient = tensor->grad().flatten();
      const double largest = gradient.abs().max().item<double>();
      EXPECT_GT(largest, 0.0);
      for (int64_t i = 0; i < gradient.numel(); ++i) {
        float& x = tensor->data_ptr<float>()[i];
        const float at = x;
        constexpr float kDifference = 0x1p-7f;
        x = at + kDifference;
        const double above = loss().item<double>();
        x = at - kDifference;
        const double below = loss().item<double>();
        x = at;
        // The error of differences is the third derivative times kDifference^2 / 6, and rounding.
        EXPECT_NEAR(gradient[i].item<double>(), (above - below) / (2.0 * kDifference),
                    1e-3 * largest)
            << l_kernel << ", number " << i << " of a tensor of " << gradient.numel();
      }
    }
  }
}

}  // namespace
}  // namespace vig::train
