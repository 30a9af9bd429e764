// Maps on other grids against the published operators: resizing, and the pooling of a pyramid,
// whose whole module the engine runs.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "golden/operator_case.h"
#include "kernels/on_targets.h"
#include "support/tree.h"
#include "vig/graph/builder.h"
#include "vig/kernels/map_resize.h"
#include "vig/kernels/pool.h"
#include "vig/kernels/position.h"
#include "vig/kernels/reference/map_resize.h"
#include "vig/kernels/reference/pool.h"
#include "vig/kernels/reference/position.h"
#include "vig/runtime/packed_model.h"
#include "vig/runtime/session.h"

namespace vig {
namespace {

using Values = std::vector<float>;

// A tensor [batch, channels, height, width] with its channels last.
struct Map {
  explicit Map(const TensorView& view) : shape(view.shape), rows(to_floats(view)) {
    const Values planes = rows;
    for (int64_t i = 0; i < shape.elements(); ++i) {
      const int64_t at = i % (height() * width()), plane = i / (height() * width());
      const int64_t row = plane / channels() * height() * width() + at;
      rows[static_cast<size_t>(row * channels() + plane % channels())] =
          planes[static_cast<size_t>(i)];
    }
  }
  int64_t batch() const { return shape[0]; }
  int64_t channels() const { return shape[1]; }
  int64_t height() const { return shape[2]; }
  int64_t width() const { return shape[3]; }

  Shape shape;
  Values rows;
};

const char* const kSizes[] = {"13x20", "14x18", "1x1", "3x9", "5x4"};

double resize_error(const std::string& name, bool nearest, void (*kernel)(const MapResizeArgs&)) {
  const test::OperatorCase golden("interpolate", "dense");
  const Map in(golden.view("input")), want(golden.view(name));
  const MapGrids grids = (nearest ? MapGrids::nearest : MapGrids::bilinear)(
      in.height(), in.width(), want.height(), want.width());
  Values out(want.rows.size());
  MapResizeArgs args;
  args.grids = &grids;
  args.in = in.rows.data();
  args.in_stride = args.channels = args.out_stride = in.channels();
  args.last_row = want.batch() * want.height() * want.width();
  args.out = out.data();
  kernel(args);
  return test::relative_distance(out, want.rows);
}

double position_error(const std::string& table, const std::string& name,
                      void (*kernel)(const PositionArgs&)) {
  const test::OperatorCase golden("interpolate", "dense");
  const Map in(golden.view(table)), want(golden.view(name));
  const int64_t size = in.height() * in.width() * in.channels();
  const int64_t out_size = want.height() * want.width() * want.channels();
  Values out(want.rows.size());
  for (int64_t i = 0; i < in.batch(); ++i) {
    kernel({in.rows.data() + i * size, in.height(), in.width(), in.channels(),
            out.data() + i * out_size, want.height(), want.width()});
  }
  return test::relative_distance(out, want.rows);
}

double pool_error(int cells, void (*kernel)(const CellPoolArgs&)) {
  const test::OperatorCase golden("ppm", "dense");
  const Map in(golden.view("input")), want(golden.view("pool/" + std::to_string(cells)));
  Values out(want.rows.size());
  for (int64_t i = 0; i < in.batch(); ++i) {
    const int64_t channels = in.channels(), positions = in.height() * in.width();
    kernel({in.rows.data() + i * positions * channels,
            channels,
            {in.height(), in.width(), channels},
            cells,
            out.data() + i * cells * cells * channels,
            channels});
  }
  return test::relative_distance(out, want.rows);
}

class MapsGoldenOnTarget : public test::OnTarget {};

TEST_P(MapsGoldenOnTarget, ResizingIsThePublishedOne) {
  for (const std::string size : kSizes) {
    EXPECT_LE(resize_error("bilinear/align_false/" + size, false, map_resize), 1e-6) << size;
    EXPECT_EQ(resize_error("nearest/" + size, true, map_resize), 0.0) << size;
  }
  // By a factor that makes whole sizes: the same positions.
  for (const char* factor : {"2", "4"}) {
    const std::string name = std::string("bilinear_scale/") + factor;
    EXPECT_LE(resize_error(name, false, map_resize), 1e-6) << factor;
  }
}

TEST_P(MapsGoldenOnTarget, PoolingIsThePublishedOne) {
  for (const int cells : {1, 2, 3, 6}) EXPECT_LE(pool_error(cells, pool_cells), 1e-6) << cells;
}

VIG_ON_EVERY_TARGET(MapsGoldenOnTarget);

// Tables of positions are resized bicubically, with half-pixel centres. What the case has besides,
// corners that stay in place and halves by a factor, is used by no operation.
TEST(PositionGolden, ResizingIsThePublishedOne) {
  for (const auto kernel : {resize_positions, reference::resize_positions}) {
    for (const std::string size : kSizes) {
      EXPECT_LE(position_error("input", "bicubic/align_false/" + size, kernel), 3e-6) << size;
    }
    EXPECT_LE(position_error("pos/input", "pos/10x17", kernel), 3e-6);
    EXPECT_GT(position_error("input", "bicubic/align_true/13x20", kernel), 1e-2);
  }
}

TEST(MapsReferenceGolden, AreThePublishedOnes) {
  for (const std::string size : kSizes) {
    EXPECT_LE(resize_error("bilinear/align_false/" + size, false, reference::map_resize), 1e-6);
    EXPECT_EQ(resize_error("nearest/" + size, true, reference::map_resize), 0.0);
  }
  for (const int cells : {1, 2, 3, 6}) EXPECT_LE(pool_error(cells, reference::pool_cells), 1e-6);
}

// Pooling, a product with its norm and function, and resizing back, as one network.
TEST(PyramidPoolingGolden, TheEngineRunsTheModule) {
  const test::OperatorCase golden("ppm", "dense");
  const Map in(golden.view("input"));
  Builder b;
  const Value x = b.input("map", {static_cast<int>(in.height()), static_cast<int>(in.width()),
                                  static_cast<int>(in.channels())});
  const std::vector<int> scales = {1, 2, 3, 6};
  for (size_t i = 0; i < scales.size(); ++i) {
    const std::string name = "param/" + std::to_string(i) + ".1";
    Value y = b.conv(b.adaptive_pool(x, scales[i]), name + ".conv", 4, {.bias = false});
    y = b.activation(b.batch_norm(y, name + ".bn"), Elementwise::kRelu);
    b.output(std::to_string(scales[i]),
             b.resize(y, b.grid(x).height, b.grid(x).width, Resampling::kBilinear));
  }
  const Graph graph = std::move(b).finish();
  LoadOptions options;
  options.ignore_unexpected = [](std::string_view) { return true; };
  const auto weights =
      load_weights(graph.params,
                   std::make_shared<Checkpoint>(Checkpoint::open(std::string(test::kFixtures) +
                                                                 "/golden/dense/ppm.safetensors")),
                   options);
  Session session(PackedModel::make(graph, weights), graph, {.batch = 2, .threads = 2});
  for (int image = 0; image < 2; ++image) {
    const auto first = in.rows.begin() + image * in.shape.elements() / 2;
    std::copy_n(first, in.shape.elements() / 2, session.input("map", image));
  }
  session.run(2);
  for (const int scale : scales) {
    const Map want(golden.view("output/" + std::to_string(scale)));
    Values found;
    for (int image = 0; image < 2; ++image) {
      const float* values = session.output(std::to_string(scale), image);
      found.insert(found.end(), values, values + want.shape.elements() / 2);
    }
    EXPECT_LE(test::relative_distance(found, want.rows), 5e-6) << scale;
  }
}

}  // namespace
}  // namespace vig
