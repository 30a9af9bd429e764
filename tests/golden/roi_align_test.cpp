// RoIAlign against results of the original operator, and the level that it takes of a pyramid.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "golden/operator_case.h"
#include "kernels/on_targets.h"
#include "vig/kernels/reference/roi_align.h"

namespace vig {
namespace {

using test::OperatorCase;

// A tensor [n, C, H, W] as maps [H, W, C], and back.
std::vector<float> channels_last(const std::vector<float>& planes, const Shape& shape) {
  const int64_t channels = shape[1], cells = shape[2] * shape[3];
  std::vector<float> rows(planes.size());
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < cells; ++i) {
        rows[static_cast<size_t>((n * cells + i) * channels + c)] =
            planes[static_cast<size_t>((n * channels + c) * cells + i)];
      }
    }
  }
  return rows;
}

struct Maps {
  Maps(const OperatorCase& golden, const std::string& name)
      : shape(golden.view(name).shape), values(channels_last(golden.read(name), shape)) {}
  int64_t elements() const { return shape[1] * shape[2] * shape[3]; }
  RoiMap map(float scale, int64_t image) const {
    return {values.data() + image * elements(), shape[1], shape[2], shape[3], scale};
  }
  Shape shape;
  std::vector<float> values;
};

struct Kernels {
  void (*forward)(const RoiAlignArgs&);
  void (*backward)(const RoiAlignBackwardArgs&);
};

void expect_golden(const Kernels& kernels) {
  const OperatorCase golden("roi-align", "dense");
  const Maps input(golden, "input");
  const std::vector<float> rois = golden.read("rois");
  const int64_t channels = input.shape[1];
  for (const auto& [side, ratio] : {std::pair(7, 0), {14, 0}, {7, 2}}) {
    const std::string name =
        "sr" + std::to_string(ratio) + "_" + std::to_string(side) + "x" + std::to_string(side);
    const Shape& shape = golden.view("output/" + name).shape;
    const std::vector<float> want = channels_last(golden.read("output/" + name), shape);
    const bool trained = side == 7;
    const std::vector<float> grad =
        trained ? channels_last(golden.read("do/" + name), shape) : std::vector<float>();
    std::vector<float> out(want.size()), dmap(input.values.size(), 0.0f);
    const int64_t cells = int64_t{side} * side * channels;
    for (int64_t r = 0; r < shape[0]; ++r) {
      const float* roi = rois.data() + 5 * r;
      const auto image = static_cast<int64_t>(roi[0]);
      RoiAlignArgs args;
      args.map = input.map(0.25f, image);
      args.channels = args.out_stride = channels;
      args.box = roi + 1;
      args.side = side;
      args.sampling_ratio = ratio;
      args.out = out.data() + r * cells;
      kernels.forward(args);
      if (!trained) continue;
      RoiAlignBackwardArgs back;
      back.forward = args;
      back.grad_out = grad.data() + r * cells;
      back.grad_out_stride = back.dmap_stride = channels;
      back.dmap = dmap.data() + image * input.elements();
      kernels.backward(back);
    }
    EXPECT_LE(test::relative_distance(out, want), 2e-5) << name;
    if (!trained) continue;
    const std::vector<float> dwant = channels_last(golden.read("grad/" + name), input.shape);
    EXPECT_LE(test::relative_distance(dmap, dwant), 2e-5) << name;
  }
}

class RoiAlignGoldenOnTarget : public test::OnTarget {};

TEST_P(RoiAlignGoldenOnTarget, MatchesTheGoldenCase) {
  expect_golden({roi_align, roi_align_backward});
}

VIG_ON_EVERY_TARGET(RoiAlignGoldenOnTarget);

TEST(RoiAlignReferenceGolden, MatchesTheGoldenCase) {
  expect_golden({reference::roi_align, reference::roi_align_backward});
}

TEST(RoiPyramidGolden, MatchesTheGoldenCase) {
  const OperatorCase golden("roi-levels", "dense");
  std::vector<Maps> maps;
  std::vector<RoiMap> levels;
  for (int l = 0; l < 4; ++l) maps.emplace_back(golden, "feat/" + std::to_string(l));
  for (int l = 0; l < 4; ++l) {
    levels.push_back(maps[static_cast<size_t>(l)].map(0.25f / static_cast<float>(1 << l), 0));
  }
  const std::vector<float> rois = golden.read("rois");
  const auto* want_level = static_cast<const int64_t*>(golden.view("level").data);
  const Shape& shape = golden.view("output").shape;
  const std::vector<float> want = channels_last(golden.read("output"), shape);
  std::vector<float> out(want.size());
  for (int64_t r = 0; r < shape[0]; ++r) {
    const float* box = rois.data() + 5 * r + 1;
    EXPECT_EQ(roi_level(box, 56.0f, 4), want_level[r]) << "box " << r;
    RoiPyramidArgs args;
    args.maps = levels.data();
    args.levels = 4;
    args.channels = args.out_stride = shape[1];
    args.box = box;
    args.out = out.data() + r * shape[1] * 49;
    roi_align_pyramid(args);
  }
  EXPECT_LE(test::relative_distance(out, want), 2e-5);
}

}  // namespace
}  // namespace vig
