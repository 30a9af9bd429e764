// Modules and operators that the engine runs as a graph.
#include <charconv>
#include <cmath>

#include "vig/base/error.h"
#include "vig/graph/init.h"
#include "vig/kernels/deformable.h"
#include "vig/models/adapter.h"
#include "vig/models/deformable_attention.h"
#include "vig/models/mask_rcnn.h"
#include "vig/models/upernet.h"
#include "vig/verify/operators.h"

namespace vig {
namespace {

int narrow(int64_t value) { return static_cast<int>(value); }

// The four maps of a pyramid as inputs, and their rows.
struct PyramidInput {
  Pyramid maps;
  std::vector<std::vector<float>> rows;
  int64_t batch = 0;
};

PyramidInput pyramid_input(Comparison& c, Builder& b) {
  PyramidInput input;
  for (size_t k = 0; k < input.maps.size(); ++k) {
    const std::string name = fmt::format("input/{}", k);
    const Shape& shape = c.shape(name, 4);
    input.maps[k] = b.input(name, {narrow(shape[2]), narrow(shape[3]), narrow(shape[1])});
    input.rows.push_back(c.rows(name));
    input.batch = shape[0];
  }
  return input;
}

// Queries and features as sequences [batch, rows, channels].
struct SequenceInput {
  Value queries, features;
  std::vector<std::vector<float>> rows;
  int64_t batch = 0;
};

SequenceInput sequence_input(Comparison& c, Builder& b, const std::vector<GridSize>& queries,
                             const std::vector<GridSize>& features) {
  SequenceInput input;
  const Shape& shape = c.shape("query", 3);
  const int d = narrow(shape[2]);
  input.batch = shape[0];
  const auto add = [&](const char* name, const std::vector<GridSize>& grids) {
    input.rows.push_back(c.floats(name, {input.batch, positions_of(grids), d}));
    // One grid is a map, several are rows.
    if (grids.size() == 1) return b.input(name, {grids[0].height, grids[0].width, d});
    return b.input(name, {1, narrow(positions_of(grids)), d});
  };
  input.queries = add("query", queries);
  input.features = add("feat", features);
  return input;
}

}  // namespace

void verify_extractor(Comparison& c) {
  const GridSize grid = c.size("grid");
  if (grid.height % 2 != 0 || grid.width % 2 != 0) {
    fail("{}: a grid of {} x {}, expected even sides", c.golden().file, grid.height, grid.width);
  }
  const GridSizes grids = {
      {2 * grid.height, 2 * grid.width}, grid, {grid.height / 2, grid.width / 2}};
  AdapterConfig config;
  config.deform_heads = c.count("heads");
  config.deform_points = c.count("points");
  config.deform_ratio = static_cast<float>(c.number("ratio"));
  config.cffn_ratio = static_cast<float>(c.number("cffn_ratio"));
  Builder b;
  const SequenceInput in = sequence_input(c, b, grids, {grid});
  const std::string name = "extractor";
  b.output("output", extractor(b, in.queries, in.features, name, config, grids, 0.0));
  Graph graph = std::move(b).finish();
  std::vector<std::string> tensors = {"output"};
  for (const std::string& module : c.names_under("act/")) {
    const int node = graph.find_module(name + "." + module);
    if (node < 0) fail("{}: the block has no module \"{}\"", c.golden().file, module);
    graph.outputs.push_back({module, node});
    tensors.push_back("act/" + module);
  }
  const auto found = c.run(graph, in.rows, in.batch, name + ".");
  for (size_t i = 0; i < tensors.size(); ++i) c.tensor(tensors[i], found[i]);
}

void verify_feature_pyramid(Comparison& c) {
  Builder b;
  const PyramidInput in = pyramid_input(c, b);
  const std::vector<Value> levels = feature_pyramid(b, in.maps, c.count("out_channels"));
  for (size_t k = 0; k < levels.size(); ++k) b.output(fmt::format("output/{}", k), levels[k]);
  const Graph graph = std::move(b).finish();
  const auto found = c.run(graph, in.rows, in.batch, "neck.");
  for (size_t k = 0; k < found.size(); ++k) c.map(graph.outputs[k].name, found[k]);
}

void verify_pyramid_pooling(Comparison& c) {
  const Shape& shape = c.shape("input", 4);
  const int channels = c.count("channels");
  Builder b;
  const Value x = b.input("input", {narrow(shape[2]), narrow(shape[3]), narrow(shape[1])});
  const std::vector<int> scales = c.counts_of("scales");
  for (size_t i = 0; i < scales.size(); ++i) {
    const std::string name = fmt::format("{}.1", i), scale = fmt::format("{}", scales[i]);
    const Value pooled = b.adaptive_pool(x, scales[i]);
    Value y = b.conv(pooled, name + ".conv", channels, {.bias = false});
    y = b.activation(b.batch_norm(y, name + ".bn"), Elementwise::kRelu);
    b.output("pool/" + scale, pooled);
    b.output("output/" + scale,
             b.resize(y, b.grid(x).height, b.grid(x).width, Resampling::kBilinear));
  }
  const Graph graph = std::move(b).finish();
  const auto found = c.run(graph, {c.rows("input")}, shape[0]);
  for (size_t k = 0; k < found.size(); ++k) c.map(graph.outputs[k].name, found[k]);
}

void verify_uper_head(Comparison& c) {
  UperHeadConfig config;
  config.head_channels = c.count("channels");
  config.auxiliary_channels = c.count("aux_channels");
  config.pool_scales = c.counts_of("pool_scales");
  const int classes = c.count("num_classes");
  Builder b;
  const PyramidInput in = pyramid_input(c, b);
  uper_head(b, in.maps, config, classes);
  Graph graph = std::move(b).finish();
  std::vector<std::string> tensors = {"output"};
  for (const auto& [tensor, module] :
       {std::pair("act/fpn_bottleneck", "decode_head.fpn_bottleneck"),
        std::pair("act/psp_bottleneck", "decode_head.bottleneck")}) {
    if (!c.has(tensor)) continue;
    graph.outputs.push_back({tensor, graph.find_module(module)});
    tensors.push_back(tensor);
  }
  const auto found = c.run(graph, in.rows, in.batch);
  for (size_t i = 0; i < tensors.size(); ++i) c.map(tensors[i], found[i]);
  const Shape& third = c.shape("input/2", 4);
  const Grid map{narrow(third[2]), narrow(third[3]), narrow(third[1])};
  const Graph more = auxiliary_head(map, config, classes, 1);
  c.map("output_aux", c.run(more, {in.rows[2]}, in.batch).at(0));
}

void verify_deformable_module(Comparison& c) {
  const std::vector<GridSize> queries = c.sizes("query_grid"), features = c.sizes("feat_grid");
  DeformableShape shape;
  shape.heads = c.count("heads");
  shape.points = c.count("points");
  shape.value_dim = static_cast<int>(c.count("d_model") * c.number("ratio"));
  shape.levels = features;
  shape.queries = queries;
  Builder b;
  const SequenceInput in = sequence_input(c, b, queries, features);
  b.output("output", deformable_attention(b, in.queries, in.features, "attn", shape));
  c.tensor("output", c.run(std::move(b).finish(), in.rows, in.batch, "attn.").at(0));
}

// Positions in 0..1 of the map and weights are given; the kernel takes offsets from the queries,
// which stand in one row here, and logits.
void verify_deformable_core(Comparison& c) {
  const Shape& sampled = c.shape("sampling_locations", 6);
  const int64_t batch = sampled[0], queries = sampled[1], heads = sampled[2], levels = sampled[3],
                points = sampled[4];
  const std::vector<float> locations = c.floats("sampling_locations");
  const std::vector<float> weights =
      c.floats("attention_weights", {batch, queries, heads, levels, points});
  const std::vector<int64_t> sizes = c.whole("spatial_shapes", {levels, 2});
  std::vector<DeformableGrid> grids;
  int64_t cells = 0;
  for (int64_t l = 0; l < levels; ++l) {
    grids.push_back({sizes[static_cast<size_t>(2 * l)], sizes[static_cast<size_t>(2 * l + 1)]});
    if (grids.back().height < 1 || grids.back().width < 1 || grids.back().height > 65536 ||
        grids.back().width > 65536) {
      fail("{}: a level of {} x {}", c.golden().file, grids.back().height, grids.back().width);
    }
    cells += grids.back().height * grids.back().width;
  }
  const int64_t width = c.shape("output", 3)[2];
  if (width % heads != 0) fail("{}: {} channels of {} heads", c.golden().file, width, heads);
  const std::vector<float> values = c.floats("value", {batch, cells, heads, width / heads});
  const int64_t samples = heads * levels * points;
  std::vector<float> offsets, logits;
  for (const float weight : weights) logits.push_back(std::log(weight));
  for (size_t i = 0; i < locations.size(); ++i) {
    const int64_t query = static_cast<int64_t>(i) / (2 * samples) % queries;
    const DeformableGrid& grid = grids[i / 2 / static_cast<size_t>(points) % grids.size()];
    const double middle =
        i % 2 == 0 ? (static_cast<double>(query) + 0.5) / static_cast<double>(queries) : 0.5;
    const auto size = static_cast<double>(i % 2 == 0 ? grid.width : grid.height);
    offsets.push_back(static_cast<float>((locations[i] - middle) * size));
  }
  const DeformableGrid row{1, queries};
  std::vector<float> found(static_cast<size_t>(batch * queries * width));
  for (int64_t image = 0; image < batch; ++image) {
    DeformableArgs args;
    args.levels = grids.data();
    args.level_count = levels;
    args.queries = &row;
    args.query_grids = 1;
    args.heads = heads;
    args.points = points;
    args.head_dim = width / heads;
    args.values = values.data() + image * cells * width;
    args.values_stride = args.out_stride = width;
    args.offsets = offsets.data() + image * queries * 2 * samples;
    args.offsets_stride = 2 * samples;
    args.logits = logits.data() + image * queries * samples;
    args.logits_stride = samples;
    args.out = found.data() + image * queries * width;
    args.last_query = queries;
    deformable(args);
  }
  c.tensor("output", found);
}

// bias/headsH_levelsL_pointsP: where fresh samples lie.
void verify_fresh_offsets(Comparison& c) {
  for (const std::string& name : c.names_under("bias/")) {
    std::array<int, 3> numbers{};
    size_t at = 0;
    for (int& number : numbers) {
      at = name.find_first_of("0123456789", at);
      if (at == std::string::npos) fail("{}: expected three numbers in {}", c.golden().file, name);
      const auto [end, error] =
          std::from_chars(name.data() + at, name.data() + name.size(), number);
      if (error != std::errc() || number < 1 || number > 1024) {
        fail("{}: expected numbers from 1 to 1024 in {}", c.golden().file, name);
      }
      at = static_cast<size_t>(end - name.data());
    }
    const auto& [heads, levels, points] = numbers;
    c.floats("bias/" + name, {int64_t{2} * heads * levels * points});
    DeformableShape shape{
        heads, points, heads, std::vector<GridSize>(static_cast<size_t>(levels), {1, 1}), {{1, 1}}};
    Builder b;
    const Value x = b.input("query", {1, 1, heads}), y = b.input("feat", {1, levels, heads});
    b.output("output", deformable_attention(b, x, y, "attn", shape));
    for (const ParamSpec& spec : std::move(b).finish().params) {
      if (spec.name != "attn.sampling_offsets.bias") continue;
      std::vector<float> values(static_cast<size_t>(spec.shape.elements()));
      fill_random(spec, 1, values.data());
      c.tensor("bias/" + name, values);
    }
  }
}

}  // namespace vig
