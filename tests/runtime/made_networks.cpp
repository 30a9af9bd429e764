#include "runtime/made_networks.h"

#include "support/init.h"
#include "vig/graph/builder.h"
#include "vig/models/deformable_attention.h"

namespace vig::test {
namespace {

// A scan over the sequence, so that every token sees every other.
Value mixed(Builder& b, Value x, const std::string& name) {
  const Value u = b.layer_norm(x, name + ".norm", 1e-5f);
  const Value qkv = b.linear(u, name + ".qkv", 2 * (4 + 4 + 8), false, kInit);
  const Value gate = b.linear(u, name + ".gate", 2 * 2 * 4, true, kInit);
  const Value o = b.gla(qkv, gate, {2, 4, 8, GlaDirection::kBoth});
  return b.residual(x, b.linear(o, name + ".out", b.grid(x).channels, true, kInit));
}

enum class Tokens { kFront, kMiddle, kEnds };

Graph with_tokens(int height, int width, Tokens where) {
  constexpr int kChannels = 16, kRows = 4, kCols = 3;
  Builder b;
  Value x = b.conv(b.input("image", {height, width, 3}), "patches", kChannels, {8, 8, 0});
  const Grid grid = b.grid(x);
  const int positions = static_cast<int>(grid.positions());
  const Value token = b.tokens("cls_token", 1, kChannels, kInit);
  AddPositionOp op{kRows, kCols, grid.height, grid.width, {}};
  int at = 0;
  if (where == Tokens::kFront) {
    x = b.insert_rows(x, token, 0);
    op.extra = {{0, 0}};
  } else if (where == Tokens::kMiddle) {
    at = positions / 2;
    x = b.insert_rows(x, token, at);
    op.extra = {{kRows * kCols / 2, at}};
  } else {
    x = b.insert_rows(x, token, positions);
    x = b.insert_rows(x, b.tokens("first_token", 2, kChannels, kInit), 0);
    op.extra = {{0, 0}, {1, 1}, {kRows * kCols + 2, positions + 2}};
    at = positions + 2;
  }
  x = b.named(b.add_position(x, "pos_embed", op, kInit), "tokens");
  x = mixed(b, x, "block");
  b.output("features", b.select_rows(x, where == Tokens::kMiddle ? 0 : 1, 1, positions));
  x = b.layer_norm(b.select_rows(x, at, 1, 1), "norm", 1e-5f);
  b.output("logits", b.linear(x, "head", 7, true, kInit));
  return std::move(b).finish();
}

}  // namespace

Graph make_convolutions(int height, int width) {
  Builder b;
  Value x = b.input("image", {height, width, 3});
  x = b.conv(x, "stem", 12, {.kernel = 5, .stride = 2, .padding = 2, .bias = false});
  x = b.named(b.batch_norm(x, "bn1"), "bn1");
  x = b.activation(x, Elementwise::kRelu);
  x = b.named(b.max_pool(x, {3, 2, 1}), "pool");
  // A residual block: the sum and its function go into the second convolution with its norm.
  Value y = b.conv(x, "block.0", 12, {.kernel = 3, .padding = 1, .groups = 3});
  y = b.activation(b.batch_norm(y, "block.1", {1e-3f, 0.1f}), Elementwise::kRelu);
  y = b.batch_norm(b.conv(y, "block.2", 12, {.bias = false}), "block.3");
  x = b.named(b.activation(b.residual(x, y), Elementwise::kRelu), "block");
  b.output("stride4", x);
  // Depthwise with stride, bias and norm; groups of 1 x 1; TensorFlow's padding.
  y = b.depthwise_conv(x, "local.0", {.kernel = 5, .stride = 2, .bias = true}, kInit);
  y = b.activation(b.batch_norm(y, "local.1"), Elementwise::kSilu);
  y = b.conv(y, "local.2", 20, {.groups = 2});
  y = b.depthwise_conv(y, "local.3", {.kernel = 3, .padding = 0, .bias = true}, kInit);
  x = b.named(y, "local");
  // Squeeze-excite.
  y = b.activation(b.linear(b.mean_pool(x), "gate.0", 6, true, kInit), Elementwise::kSilu);
  y = b.activation(b.linear(y, "gate.1", 20, true, kInit), Elementwise::kSigmoid);
  x = b.named(b.channel_gate(x, y), "gate");
  x = b.conv(x, "same.0", 18, {.kernel = 3, .stride = 2, .padding = kSamePadding});
  x = b.depthwise_conv(x, "same.1", {.kernel = 5, .stride = 2, .padding = kSamePadding}, kInit);
  x = b.activation(b.batch_norm(x, "same.2"), Elementwise::kGelu);
  x = b.batch_norm(x, "last_norm");  // nothing to fold it into
  x = b.conv(x, "last", 10, {.kernel = 1, .stride = 2, .padding = 1});
  b.output("logits", b.linear(b.mean_pool(x), "head", 7, true, kInit));
  return std::move(b).finish();
}

Graph make_front_token(int height, int width) { return with_tokens(height, width, Tokens::kFront); }
Graph make_middle_token(int height, int width) {
  return with_tokens(height, width, Tokens::kMiddle);
}
Graph make_end_tokens(int height, int width) { return with_tokens(height, width, Tokens::kEnds); }

Graph make_scans(int height, int width) {
  constexpr int kChannels = 20, kStates = 3, kWidth = kChannels + 2 * kStates;
  Builder b;
  Value x = b.conv(b.input("image", {height, width, 3}), "patches", kChannels,
                   {.kernel = 8, .stride = 8, .padding = kEndPadding});
  const Grid grid = b.grid(x);
  const auto operands = [&](Value u, const std::string& name, int sets) {
    return b.linear(u, name, sets * kWidth, true, kInit);
  };
  const auto norm = [&](Value v, const std::string& name) {
    return b.layer_norm(v, name + ".norm", 1e-5f);
  };
  SelectiveScanOp op;
  op.channels = kChannels;
  op.states = kStates;
  // Subgrids, each with its own rows of the parameters; then a gate.
  for (int part = 0; part < 4; ++part) {
    op.directions.push_back(
        {{ScanOrder::kSubgrid, false, part}, 0, 0, 1, part * kWidth, 1, part * kWidth + kChannels});
  }
  Value u = norm(x, "quarters");
  Value y = b.selective_scan({u, operands(u, "quarters", 4)}, op,
                             {{"quarters.a", "quarters.d", "quarters.step_bias"}});
  x = b.named(b.add(x, y), "quarters");
  // Snakes with moves, where only u follows the path.
  op.directions.clear();
  for (const ScanOrder order : {ScanOrder::kSnakeRows, ScanOrder::kSnakeColumns}) {
    for (const bool backward : {false, true}) {
      op.directions.push_back({{order, backward}, 0, 0, 1, 0, 1, kChannels});
    }
  }
  op.taking = SelectiveScanOp::Taking::kOnlyUAlongPath;
  op.shared = op.moves = true;
  op.bias_factor = 2.0f;
  op.scale = 0.25f;
  op.gate = 1;
  op.gate_first = 5;
  u = norm(x, "snakes");
  y = b.selective_scan({u, operands(u, "snakes", 1)}, op,
                       {{"snakes.a", "snakes.d", "snakes.step_bias", {}, "snakes.moves"}});
  x = b.named(b.add(x, y), "snakes");
  // Windows and columns, along which a convolution has brought the tokens already.
  SelectiveScanOp along;
  along.channels = kChannels;
  along.states = kStates;
  along.taking = SelectiveScanOp::Taking::kSequences;
  along.released_columns = true;
  std::vector<Value> sequences;
  u = norm(x, "paths");
  for (const ScanPath path :
       {ScanPath{ScanOrder::kWindows, true, 3}, ScanPath{ScanOrder::kColumns}}) {
    const int number = static_cast<int>(sequences.size());
    const std::string name = "path" + std::to_string(number);
    Value v = b.conv1d(u, name + ".conv", {3, 0, 0, path, true}, kInit, kInit);
    v = b.activation(v, Elementwise::kSilu);
    sequences.insert(sequences.end(), {v, operands(v, name, 1)});
    along.directions.push_back({path, number, 0, number + 1, 0, number + 1, kChannels});
  }
  y = b.selective_scan(
      sequences, along,
      {{"path0.a", "path0.d", "path0.step_bias"}, {"path2.a", "path2.d", "path2.step_bias"}}, grid);
  x = b.named(b.add(x, y), "paths");
  x = norm(x, "last");
  b.output("logits", b.linear(b.mean_pool(x), "head", 7, true, kInit));
  return std::move(b).finish();
}

Graph make_two_inputs(int height, int width) {
  Builder b;
  const Value image = b.input("image", {height, width, 3});
  Value x = b.conv(image, "stem", 8, {.kernel = 2, .stride = 2});
  const Grid half = b.grid(x);
  const Value map = b.input("map", {half.height, half.width, 5});
  x = b.add(x, b.linear(map, "map", 8, true, kInit));
  b.output("stride2", b.linear(x, "shared", 6, true, kInit));
  x = b.conv(x, "down", 8, {.kernel = 3, .stride = 2, .padding = 1});
  b.output("stride4", b.linear(x, "shared", 6, true, kInit));
  b.output("logits", b.linear(b.mean_pool(x), "head", 7, true, kInit));
  return std::move(b).finish();
}

Graph make_deformable(int height, int width) {
  constexpr int kChannels = 24;
  Builder b;
  const Value image = b.input("image", {height, width, 3});
  const auto map = [&](const std::string& name, int stride) {
    return b.conv(image, name, kChannels,
                  {.kernel = stride, .stride = stride, .padding = kEndPadding});
  };
  const auto norm = [&](Value v, const std::string& name) { return b.layer_norm(v, name, 1e-6f); };
  Value x = map("tokens", 8);
  // A sequence of three maps of other sizes.
  Value c = map("fine", 4);
  std::vector<GridSize> levels;
  for (const Value level : {c, map("middle", 8), map("coarse", 16)}) {
    levels.push_back({b.grid(level).height, b.grid(level).width});
    if (levels.size() > 1) {
      c = b.insert_rows(c, level, static_cast<int>(b.grid(c).positions()));
    }
  }
  const std::vector<GridSize> tokens = {{b.grid(x).height, b.grid(x).width}};
  // Tokens look at the three maps, then the three maps at the tokens, in heads of other widths.
  Value y = deformable_attention(b, norm(x, "in.query"), norm(c, "in.feat"), "in.attn",
                                 {3, 4, kChannels, levels, tokens});
  x = b.named(b.residual(x, b.scale(y, "in.gamma", 0.0f)), "injected");
  y = deformable_attention(b, norm(c, "out.query"), norm(x, "out.feat"), "out.attn",
                           {2, 3, kChannels / 2, tokens, levels});
  c = b.named(b.residual(c, y), "extracted");
  b.output("features", c);
  b.output("logits", b.linear(b.mean_pool(norm(c, "last")), "head", 7, true, kInit));
  return std::move(b).finish();
}

Graph make_maps(int height, int width) {
  Builder b;
  const Value image = b.input("image", {height, width, 3});
  const Value fine = b.conv(image, "fine", 20, {.kernel = 4, .stride = 4});
  const Value coarse = b.conv(fine, "coarse", 24, {.kernel = 3, .stride = 2, .padding = 1});
  const Grid top = b.grid(coarse), bottom = b.grid(fine);
  // Pyramid pooling.
  std::vector<Value> parts = {b.add_row(coarse, "level_embed", 3, 1, kInit)};
  for (const int cells : {1, 2, 3, 6}) {
    const std::string name = "pool" + std::to_string(cells);
    Value x = b.named(b.adaptive_pool(coarse, cells), name);
    x = b.conv(x, name + ".conv", 9, {.bias = false});
    x = b.activation(b.batch_norm(x, name + ".bn"), Elementwise::kRelu);
    parts.push_back(b.resize(x, top.height, top.width, Resampling::kBilinear));
  }
  Value x = b.named(b.concat_channels(parts), "pooled");
  x = b.conv(x, "bottleneck", 20, {.kernel = 3, .padding = 1});
  // Sums with what is resized: up by either rule, down, and to the same size.
  const Value lateral = b.conv(fine, "lateral", 20, {});
  const Value up = b.resize(x, bottom.height, bottom.width, Resampling::kBilinear);
  Value sum = b.named(b.add(lateral, up), "sum");
  sum = b.add(b.resize(x, bottom.height, bottom.width, Resampling::kNearest), sum);
  sum = b.add(sum, b.resize(sum, bottom.height, bottom.width, Resampling::kBilinear));
  const Value down = b.resize(sum, top.height, top.width, Resampling::kBilinear);
  x = b.named(b.add(x, down), "down");
  // Doubling, with a residual and a function behind it, and without.
  const Value target = b.resize(fine, 2 * top.height, 2 * top.width, Resampling::kNearest);
  Value y = b.upsample_conv(x, "up", 20, kInit);
  y = b.named(b.activation(b.add(y, target), Elementwise::kGelu), "doubled");
  y = b.named(b.drop_channels(y, 0.3f), "dropped");
  b.output("map", b.conv(y, "classes", 5, {}));
  y = b.batch_norm(b.upsample_conv(y, "up_again", 7, kInit), "bn");
  y = b.drop_channels(b.drop_channels(y, 0.5f), 0.1f);
  b.output("logits", b.linear(b.mean_pool(y), "head", 7, true, kInit));
  return std::move(b).finish();
}

Graph make_grid_layer(int height, int width) {
  Builder b;
  Value x = b.input("image", {height, width, 3});
  x = b.activation(b.conv(x, "stem", 19, {.kernel = 5, .stride = 5}), Elementwise::kRelu);
  x = b.named(b.linear_of_grid(x, "fc1", 37, kInit), "fc1");
  x = b.activation(x, Elementwise::kRelu);
  b.output("logits", b.linear_of_grid(x, "fc2", 7, kInit));
  return std::move(b).finish();
}

}  // namespace vig::test
