#include "vig/models/adapter.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/ranges.h>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/deformable_attention.h"

namespace vig {
namespace {

constexpr float kNormEps = 1e-6f;
constexpr int kMaxExtraExtractors = 32;
constexpr Init kLinearInit = truncated_normal_init(0.02f);

std::string own(const char* name) { return std::string(kBackbone) + name; }

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
  raw[0] = b.named(b.max_pool(x, {3, 2, 1}), name + ".stem");
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

void check(const AdapterConfig& adapter, const PlainBackbone& plain, const Grid& image) {
  if (image.height % 32 != 0 || image.width % 32 != 0) {
    fail_usage("[adapter] an image of {}x{}, expected sides that are multiples of 32", image.height,
               image.width);
  }
  if (plain.patch_size != 16) {
    fail_usage("[adapter] patch_size is {}, expected 16", plain.patch_size);
  }
  if (adapter.extra_extractors > kMaxExtraExtractors) {
    fail_usage("[adapter] {} extra_extractors, expected at most {}", adapter.extra_extractors,
               kMaxExtraExtractors);
  }
}

}  // namespace

void AdapterConfig::visit(FieldVisitor& visitor) {
  visitor.visit("conv_inplane", conv_inplane);
  visitor.visit("deform_heads", deform_heads);
  visitor.visit("deform_points", deform_points);
  visitor.visit("deform_ratio", deform_ratio);
  visitor.visit("cffn_ratio", cffn_ratio);
  visitor.visit("interactions", interactions, 0);
  visitor.visit("extra_extractors", extra_extractors, 0);
}

std::vector<BlockRange> interaction_blocks(const AdapterConfig& config, int depth) {
  const std::vector<int>& list = config.interactions;
  std::vector<BlockRange> ranges;
  if (list.size() == 1) {
    if (list[0] < 1 || depth % list[0] != 0) {
      fail_usage("[adapter] interactions={} do not divide a depth of {}", list[0], depth);
    }
    const int length = depth / list[0];
    for (int i = 0; i < list[0]; ++i) ranges.push_back({i * length, (i + 1) * length - 1});
    return ranges;
  }
  if (list.size() % 2 != 0 || list.size() > 2 * static_cast<size_t>(depth)) {
    fail_usage(
        "[adapter] interactions={}, expected the first and the last block of each, of a depth of "
        "{}",
        fmt::join(list, ","), depth);
  }
  for (size_t i = 0; i < list.size(); i += 2) {
    ranges.push_back({list[i], list[i + 1]});
    if (list[i] > list[i + 1] || list[i + 1] >= depth) {
      fail_usage(
          "[adapter] an interaction of blocks {} to {} of interactions={}, expected blocks "
          "of a depth of {}",
          list[i], list[i + 1], fmt::join(list, ","), depth);
    }
  }
  return ranges;
}

bool AdapterConfig::is_left_out(std::string_view tensor, std::string_view begin, int depth) const {
  if (!tensor.starts_with(begin)) return false;
  tensor.remove_prefix(begin.size());
  int number = -1;
  const auto [end, error] = std::from_chars(tensor.data(), tensor.data() + tensor.size(), number);
  if (error != std::errc() || number < 0 || number >= depth) return false;
  if (end == tensor.data() + tensor.size() || *end != '.') return false;
  return std::ranges::none_of(interaction_blocks(*this, depth), [&](const BlockRange& range) {
    return range.first <= number && number <= range.last;
  });
}

Value injector(Builder& b, Value x, Value c, const std::string& name, const AdapterConfig& config,
               const GridSizes& grids) {
  const Value found = attention(b, x, c, name, config, {size_of(b.grid(x))}, grids);
  return b.named(b.residual(x, b.scale(found, name + ".gamma", 0.0f)), name);
}

Value extractor(Builder& b, Value c, Value x, const std::string& name, const AdapterConfig& config,
                const GridSizes& grids, double drop_rate) {
  c = b.residual(c, attention(b, c, x, name, config, grids, {size_of(b.grid(x))}));
  const Value u = b.named(b.layer_norm(c, name + ".ffn_norm", kNormEps), name + ".ffn_norm");
  return b.named(b.residual(c, conv_ffn(b, u, name + ".ffn", config, grids), drop_rate), name);
}

Pyramid adapter_maps(Builder& b, Value image, const AdapterConfig& config,
                     const PlainBackbone& plain, const BackboneUse& use) {
  vig::check(config, plain, b.grid(image));
  const std::vector<BlockRange> interactions = interaction_blocks(config, plain.depth);
  if (use.task == ModelTask::kSegment && interactions.size() != 4) {
    fail_usage("[adapter] {} interactions, expected 4: each adds its tokens to one of four maps",
               interactions.size());
  }
  const int own_level = plain.depth + 1, d = plain.embed_dim;
  Value x = b.named(plain.tokens(), own("tokens"));

  b.set_level(own_level);
  const Pyramid prior = spatial_prior(b, image, own("spm"), config.conv_inplane, d);
  std::vector<Value> levels;
  GridSizes grids;
  for (int k = 0; k < 3; ++k) {
    levels.push_back(
        b.add_row(prior[static_cast<size_t>(k) + 1], own("level_embed"), 3, k, normal_init(1.0f)));
    grids.push_back(size_of(b.grid(levels.back())));
  }
  Value c = rows_of(b, levels);

  std::vector<Value> tokens;  // after each interaction
  for (size_t i = 0; i < interactions.size(); ++i) {
    const std::string name = fmt::format("{}interactions.{}", kBackbone, i);
    x = injector(b, x, c, name + ".injector", config, grids);
    for (int block = interactions[i].first; block <= interactions[i].last; ++block) {
      b.set_level(block);  // the block begins the next one
      x = plain.block(x, block);
    }
    b.set_level(own_level);
    c = extractor(b, c, x, name + ".extractor", config, grids, use.drop_path);
    for (int j = 0; i + 1 == interactions.size() && j < config.extra_extractors; ++j) {
      c = extractor(b, c, x, fmt::format("{}.extra_extractors.{}", name, j), config, grids,
                    use.drop_path);
    }
    tokens.push_back(b.named(x, name + ".x"));
    b.named(c, name + ".c");
  }

  const std::vector<Value> parts = maps_of(b, c, grids);
  Pyramid maps = {b.upsample_conv(parts[0], own("up"), d, kaiming_normal(4 * int64_t{d})), parts[0],
                  parts[1], parts[2]};
  maps[0] = b.add(b.named(maps[0], own("up")), prior[0]);
  for (size_t k = 0; k < maps.size(); ++k) {
    const Grid grid = b.grid(maps[k]);
    const Value y = use.task == ModelTask::kSegment ? tokens[k] : tokens.back();
    const Value there = b.resize(y, grid.height, grid.width, Resampling::kBilinear);
    maps[k] = b.batch_norm(b.add(maps[k], there), fmt::format("{}norm{}", kBackbone, k + 1));
    b.named(maps[k], fmt::format("{}f{}", kBackbone, k + 1));
  }
  return maps;
}

}  // namespace vig
