#include "vig/models/adapter.h"

#include <cmath>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/deformable_attention.h"

namespace vig {
namespace {

constexpr float kNormEps = 1e-6f;
constexpr int kMaxExtraExtractors = 32;
constexpr Init kLinearInit = truncated_normal_init(0.02f);
constexpr const char* kPrefix = "backbone.";

std::string own(const char* name) { return std::string(kPrefix) + name; }

// The rows of grids, one grid behind the other.
Value rows_of(Builder& b, const std::vector<Value>& maps) {
  Value rows = maps[0];
  for (size_t i = 1; i < maps.size(); ++i) {
    rows = b.insert_rows(rows, maps[i], static_cast<int>(b.grid(rows).positions()));
  }
  return rows;
}

// Such rows as grids again.
std::vector<Value> maps_of(Builder& b, Value rows, const GridSizes& grids) {
  std::vector<Value> maps;
  int64_t first = 0;
  for (const GridSize& grid : grids) {
    maps.push_back(b.select_rows(rows, static_cast<int>(first), grid.height, grid.width));
    first += grid.positions();
  }
  return maps;
}

Value attention(Builder& b, Value queries, Value features, const std::string& name,
                const AdapterConfig& config, const GridSizes& query_grids,
                const GridSizes& levels) {
  const int d = b.grid(queries).channels;
  DeformableShape shape;
  shape.heads = config.deform_heads;
  shape.points = config.deform_points;
  shape.value_dim = static_cast<int>(static_cast<float>(d) * config.deform_ratio);
  shape.levels = levels;
  shape.queries = query_grids;
  if (shape.value_dim < 1 || shape.value_dim % shape.heads != 0) {
    fail_usage("[{}] deform_heads {} do not divide the value width {} (embed_dim * deform_ratio)",
               name, shape.heads, shape.value_dim);
  }
  // Of every query: heads x points in each level.
  check_width(name, "deform_points", config.deform_points, config.deform_heads);
  const Value q =
      b.named(b.layer_norm(queries, name + ".query_norm", kNormEps), name + ".query_norm");
  const Value f =
      b.named(b.layer_norm(features, name + ".feat_norm", kNormEps), name + ".feat_norm");
  return deformable_attention(b, q, f, name + ".attn", shape);
}

// fc2(gelu(dwconv(fc1(c)))), the convolution on each grid by itself with one filter.
Value conv_ffn(Builder& b, Value c, const std::string& name, const AdapterConfig& config,
               const GridSizes& grids) {
  const int d = b.grid(c).channels;
  const int hidden = static_cast<int>(static_cast<float>(d) * config.cffn_ratio);
  if (hidden < 1) {
    fail_usage("[{}] cffn_ratio {} of {} channels is no channel", name, config.cffn_ratio, d);
  }
  const Value wide = b.named(b.linear(c, name + ".fc1", hidden, true, kLinearInit), name + ".fc1");
  std::vector<Value> maps = maps_of(b, wide, grids);
  for (Value& map : maps) {
    map = b.depthwise_conv(map, name + ".dwconv.dwconv", {.bias = true}, kaiming_normal(9));
  }
  Value x = b.named(rows_of(b, maps), name + ".dwconv");
  x = b.named(b.activation(x, Elementwise::kGelu), name + ".act");
  return b.named(b.linear(x, name + ".fc2", d, true, kLinearInit), name);
}

GridSize size_of(const Grid& grid) { return {grid.height, grid.width}; }

// c1 to c4, at strides 4, 8, 16 and 32.
Pyramid spatial_prior(Builder& b, Value image, const std::string& name, int width, int d) {
  const auto conv = [&](Value x, const std::string& layer, int number, int channels, int stride) {
    const Value y = conv_norm(b, x, fmt::format("{}.{}.{}", name, layer, number),
                              fmt::format("{}.{}.{}", name, layer, number + 1), channels,
                              {.kernel = 3, .stride = stride, .padding = 1}, 1e-5f);
    return b.activation(y, Elementwise::kRelu);
  };
  Value x = conv(image, "stem", 0, width, 2);
  x = conv(x, "stem", 3, width, 1);
  x = conv(x, "stem", 6, width, 1);
  Pyramid raw;
  raw[0] = b.max_pool(x, {3, 2, 1});
  raw[1] = conv(raw[0], "conv2", 0, 2 * width, 2);
  raw[2] = conv(raw[1], "conv3", 0, 4 * width, 2);
  raw[3] = conv(raw[2], "conv4", 0, 4 * width, 2);
  Pyramid maps;
  for (size_t k = 0; k < maps.size(); ++k) {
    maps[k] = b.conv(raw[k], fmt::format("{}.fc{}", name, k + 1), d, {}, kaiming_normal(d));
    b.named(maps[k], fmt::format("{}.c{}", name, k + 1));
  }
  return maps;
}

void check(const VigAdapter& adapter, const Grid& image, ModelTask task) {
  if (image.height % 32 != 0 || image.width % 32 != 0) {
    fail_usage("[adapter] an image of {}x{}, expected sides that are multiples of 32", image.height,
               image.width);
  }
  if (adapter.patch_size != 16) {
    fail_usage("[adapter] patch_size is {}, expected 16", adapter.patch_size);
  }
  if (adapter.extra_extractors > kMaxExtraExtractors) {
    fail_usage("[adapter] {} extra_extractors, expected at most {}", adapter.extra_extractors,
               kMaxExtraExtractors);
  }
  if (adapter.depth % adapter.interactions != 0) {
    fail_usage("[adapter] {} interactions do not divide a depth of {}", adapter.interactions,
               adapter.depth);
  }
  if (task == ModelTask::kSegment && adapter.interactions != 4) {
    fail_usage("[adapter] {} interactions, expected 4: each adds its tokens to one of four maps",
               adapter.interactions);
  }
}

}  // namespace

void AdapterConfig::visit(FieldVisitor& visitor) {
  visitor.visit("conv_inplane", conv_inplane);
  visitor.visit("deform_heads", deform_heads);
  visitor.visit("deform_points", deform_points);
  visitor.visit("deform_ratio", deform_ratio);
  visitor.visit("cffn_ratio", cffn_ratio);
  visitor.visit("interactions", interactions);
  visitor.visit("extra_extractors", extra_extractors, 0);
}

Value injector(Builder& b, Value x, Value c, const std::string& name, const AdapterConfig& config,
               const GridSizes& grids) {
  const Value found = attention(b, x, c, name, config, {size_of(b.grid(x))}, grids);
  return b.residual(x, b.scale(found, name + ".gamma", 0.0f));
}

Value extractor(Builder& b, Value c, Value x, const std::string& name, const AdapterConfig& config,
                const GridSizes& grids, double drop_rate) {
  c = b.residual(c, attention(b, c, x, name, config, grids, {size_of(b.grid(x))}));
  const Value u = b.named(b.layer_norm(c, name + ".ffn_norm", kNormEps), name + ".ffn_norm");
  return b.residual(c, conv_ffn(b, u, name + ".ffn", config, grids), drop_rate);
}

Pyramid VigAdapter::maps(Builder& b, Value image, const BackboneUse& use) const {
  VigBackboneConfig::check();
  vig::check(*this, b.grid(image), use.task);
  const int own_level = head_level(*this), d = embed_dim;
  Value x = b.named(vig_tokens(b, image, *this, use.image_size, kPrefix), own("tokens"));

  b.set_level(own_level);
  const Pyramid prior = spatial_prior(b, image, own("spm"), conv_inplane, d);
  std::vector<Value> levels;
  GridSizes grids;
  for (int k = 0; k < 3; ++k) {
    levels.push_back(
        b.add_row(prior[static_cast<size_t>(k) + 1], own("level_embed"), 3, k, normal_init(1.0f)));
    grids.push_back(size_of(b.grid(levels.back())));
  }
  Value c = rows_of(b, levels);

  const int blocks = depth / interactions;
  std::vector<Value> tokens;  // after each interaction
  for (int i = 0; i < interactions; ++i) {
    const std::string name = fmt::format("{}interactions.{}", kPrefix, i);
    x = injector(b, x, c, name + ".injector", *this, grids);
    for (int block = i * blocks; block < (i + 1) * blocks; ++block) {
      b.set_level(block);  // the block begins the next one
      x = vig_block(b, x, block, *this, use.drop_path, kPrefix);
    }
    b.set_level(own_level);
    c = extractor(b, c, x, name + ".extractor", *this, grids, use.drop_path);
    for (int j = 0; i + 1 == interactions && j < extra_extractors; ++j) {
      c = extractor(b, c, x, fmt::format("{}.extra_extractors.{}", name, j), *this, grids,
                    use.drop_path);
    }
    tokens.push_back(b.named(x, name + ".x"));
    b.named(c, name + ".c");
  }

  const std::vector<Value> parts = maps_of(b, c, grids);
  Pyramid maps = {b.upsample_conv(parts[0], own("up"), d, kaiming_normal(4 * int64_t{d})), parts[0],
                  parts[1], parts[2]};
  maps[0] = b.add(maps[0], prior[0]);
  for (size_t k = 0; k < maps.size(); ++k) {
    const Grid grid = b.grid(maps[k]);
    const Value y = use.task == ModelTask::kSegment ? tokens[k] : tokens.back();
    const Value there = b.resize(y, grid.height, grid.width, Resampling::kBilinear);
    maps[k] = b.batch_norm(b.add(maps[k], there), fmt::format("{}norm{}", kPrefix, k + 1));
    b.named(maps[k], fmt::format("{}f{}", kPrefix, k + 1));
  }
  return maps;
}

std::map<std::string, std::string> VigAdapter::shown_by(const TensorShapes& shapes) const {
  return image_size_shown_by(shapes, own("pos_embed"), 0, patch_size);
}

}  // namespace vig
