// RoIAlign over a pyramid in training.
#include "vig/torch/roi_align.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "golden/operator_case.h"
#include "support/errors.h"
#include "train/golden_values.h"

namespace vig::train {
namespace {

using test::OperatorCase;

at::Tensor channels_last(const at::Tensor& planes) {
  return planes.permute({0, 2, 3, 1}).contiguous();
}

double apart(const at::Tensor& found, const at::Tensor& want) {
  return (found - want).abs().max().item<double>();
}

TEST(RoiAlignTraining, MatchesTheGoldenCase) {
  const OperatorCase golden("roi-align", "dense");
  for (const bool kernels : {true, false}) {
    for (const int ratio : {0, 2}) {
      const std::string name = "sr" + std::to_string(ratio) + "_7x7";
      const at::Tensor input = channels_last(read(golden, "input")).set_requires_grad(true);
      const RoiAlign options{{0.25f}, 56.0f, 7, ratio};
      const at::Tensor out = roi_align({input}, read(golden, "rois"), options, kernels);
      EXPECT_LE(apart(out, channels_last(read(golden, "output/" + name))), 2e-5);
      (out * channels_last(read(golden, "do/" + name))).sum().backward();
      EXPECT_LE(apart(input.grad(), channels_last(read(golden, "grad/" + name))), 2e-5)
          << name << (kernels ? ", kernels" : ", plain");
    }
  }
}

TEST(RoiAlignTraining, TakesTheLevelOfEachBox) {
  const OperatorCase golden("roi-levels", "dense");
  for (const bool kernels : {true, false}) {
    std::vector<at::Tensor> maps;
    RoiAlign options;
    for (int l = 0; l < 4; ++l) {
      maps.push_back(channels_last(read(golden, "feat/" + std::to_string(l))));
      maps.back().set_requires_grad(true);
      options.scales.push_back(0.25f / static_cast<float>(1 << l));
    }
    const at::Tensor out = roi_align(maps, read(golden, "rois"), options, kernels);
    EXPECT_LE(apart(out, channels_last(read(golden, "output"))), 2e-5);
    // The levels of its boxes get a gradient; the case has none for the last one.
    out.sum().backward();
    for (size_t l = 0; l < 3; ++l) EXPECT_GT(maps[l].grad().abs().max().item<double>(), 0.0);
    EXPECT_FALSE(maps[3].grad().defined());
  }
}

TEST(RoiAlignTraining, NoBoxesAndForeignImages) {
  const at::Tensor map = at::randn({2, 4, 4, 3}).set_requires_grad(true);
  const RoiAlign options{{1.0f}, 56.0f, 7, 0};
  EXPECT_EQ(roi_align({map}, at::empty({0, 5}), options).sizes(),
            (std::vector<int64_t>{0, 7, 7, 3}));
  const at::Tensor boxes = at::tensor({2.0f, 0.0f, 0.0f, 3.0f, 3.0f}).view({1, 5});
  EXPECT_THROW(roi_align({map}, boxes, options), Error);
  EXPECT_THROW(roi_align({map, map}, boxes, options), Error);
}

}  // namespace
}  // namespace vig::train
