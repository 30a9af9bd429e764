#include "vig/graph/builder.h"

#include <algorithm>
#include <utility>

#include "vig/base/error.h"

namespace vig {
namespace {

std::string grid_str(const Grid& grid) {
  return fmt::format("{} x {} x {}", grid.height, grid.width, grid.channels);
}

}  // namespace

Value Builder::input(const std::string& name, Grid grid) {
  if (grid.height < 1 || grid.width < 1 || grid.channels < 1) {
    fail("[input] {} is {}, expected at least 1 x 1 x 1", name, grid_str(grid));
  }
  if (graph_.find_input(name) >= 0) fail("[input] there are two inputs \"{}\"", name);
  const Value value = append(InputOp{name}, {}, grid);
  graph_.inputs.push_back({name, value.id});
  return value;
}

Value Builder::append(Op op, std::vector<int> inputs, Grid grid, std::vector<int> params) {
  graph_.nodes.push_back({std::move(op), std::move(inputs), std::move(params), grid});
  return Value{static_cast<int>(graph_.nodes.size()) - 1};
}

int Builder::param(const std::string& name, Shape shape, Init init) {
  const auto [found, fresh] = params_.emplace(name, static_cast<int>(graph_.params.size()));
  if (!fresh) {
    const Shape& first = graph_.params[found->second].shape;
    if (first == shape) return found->second;
    fail("parameter {} is declared as {} and as {}", name, first.str(), shape.str());
  }
  ParamSpec spec{name, std::move(shape), init};
  spec.decayed = spec.shape.rank() > 1;  // not vectors and biases
  spec.head = head_;
  spec.level = level_;
  graph_.params.push_back(std::move(spec));
  return found->second;
}

Grid Builder::windows(const char* op, const std::string& name, const Grid& in, int kernel,
                      int stride, int padding) const {
  if (kernel < 1 || stride < 1 || padding < kEndPadding) {
    fail("[{}] kernel {}, stride {} and padding {}, expected at least 1, 1 and 0 ({})", op, kernel,
         stride, padding, name);
  }
  if (padding >= 0 && (in.height + 2 * padding < kernel || in.width + 2 * padding < kernel)) {
    fail(
        "[{}] grid {} x {} is too small for kernel {} with padding {} ({}); the input must be "
        "larger",
        op, in.height, in.width, kernel, padding, name);
  }
  return {window_count(in.height, kernel, stride, padding),
          window_count(in.width, kernel, stride, padding), in.channels};
}

Value Builder::conv(Value x, const std::string& name, int out_channels, ConvShape shape) {
  const int64_t in = grid(x).channels / std::max(shape.groups, 1);
  const Init init = fan_in_uniform(std::max<int64_t>(in * shape.kernel * shape.kernel, 1));
  return conv(x, name, out_channels, shape, init, init);
}

Value Builder::conv(Value x, const std::string& name, int out_channels, ConvShape shape,
                    Init weight, Init bias) {
  const Grid in = grid(x);
  const auto [kernel, stride, padding, groups, has_bias] = shape;
  if (groups < 1 || in.channels % groups != 0 || out_channels % groups != 0) {
    fail("[conv] {} and {} channels do not split into {} groups ({})", in.channels, out_channels,
         groups, name);
  }
  Grid out = windows("conv", name, in, kernel, stride, padding);
  out.channels = out_channels;
  std::vector<int> params = {
      param(name + ".weight", {out_channels, in.channels / groups, kernel, kernel}, weight)};
  if (has_bias) params.push_back(param(name + ".bias", {out_channels}, bias));
  return append(ConvOp{kernel, stride, padding, groups}, {x.id}, out, std::move(params));
}

Value Builder::depthwise_conv(Value x, const std::string& name, DepthwiseShape shape, Init weight,
                              Init bias) {
  const Grid in = grid(x);
  const int kernel = shape.kernel, padding = shape.padding.value_or(kernel / 2);
  if (kernel % 2 == 0) fail("[dwconv] kernel is {}, expected an odd one ({})", kernel, name);
  const Grid out = windows("dwconv", name, in, kernel, shape.stride, padding);
  std::vector<int> params = {param(name + ".weight", {in.channels, 1, kernel, kernel}, weight)};
  if (shape.bias) params.push_back(param(name + ".bias", {in.channels}, bias));
  return append(DepthwiseConvOp{kernel, shape.stride, padding}, {x.id}, out, std::move(params));
}

Value Builder::max_pool(Value x, PoolShape shape) {
  if (2 * shape.padding > shape.kernel) {
    fail("[max_pool] padding {} is more than half of kernel {}", shape.padding, shape.kernel);
  }
  const Grid out = windows("max_pool", "", grid(x), shape.kernel, shape.stride, shape.padding);
  return append(MaxPoolOp{shape.kernel, shape.stride, shape.padding}, {x.id}, out);
}

Value Builder::linear(Value x, const std::string& name, int out_channels, bool bias, Init weight,
                      Init bias_init) {
  Grid out = grid(x);
  std::vector<int> params = {param(name + ".weight", {out_channels, out.channels}, weight)};
  if (bias) params.push_back(param(name + ".bias", {out_channels}, bias_init));
  out.channels = out_channels;
  return append(LinearOp{}, {x.id}, out, std::move(params));
}

Value Builder::layer_norm(Value x, const std::string& name, float eps) {
  const Grid in = grid(x);
  const int weight = param(name + ".weight", {in.channels}, ones_init());
  const int bias = param(name + ".bias", {in.channels}, {});
  return append(LayerNormOp{eps}, {x.id}, in, {weight, bias});
}

Value Builder::rms_norm(Value x, const std::string& name, float eps, int groups) {
  const Grid in = grid(x);
  if (groups < 1 || in.channels % groups != 0) {
    fail("[rms_norm] {} channels do not split into {} groups ({})", in.channels, groups, name);
  }
  const int weight = param(name + ".weight", {in.channels / groups}, ones_init());
  return append(RmsNormOp{eps, groups}, {x.id}, in, {weight});
}

Value Builder::batch_norm(Value x, const std::string& name, BatchNormOp op) {
  const Shape channels{grid(x).channels};
  std::vector<int> params = {param(name + ".weight", channels, ones_init()),
                             param(name + ".bias", channels, {}),
                             param(name + ".running_mean", channels, {}),
                             param(name + ".running_var", channels, ones_init())};
  for (size_t statistic : {size_t{2}, size_t{3}}) graph_.params[params[statistic]].trained = false;
  return append(op, {x.id}, grid(x), std::move(params));
}

Value Builder::activation(Value x, Elementwise function) {
  return append(ActivationOp{function}, {x.id}, grid(x));
}

Value Builder::add(Value a, Value b) {
  if (grid(a) != grid(b)) {
    fail("[add] operands are {} and {}, expected equal grids", grid_str(grid(a)),
         grid_str(grid(b)));
  }
  return append(AddOp{}, {a.id, b.id}, grid(a));
}

Value Builder::residual(Value x, Value branch, double drop_rate) {
  const Value sum = add(x, branch);
  graph_.nodes[sum.id].op = AddOp{true, drop_rate};
  return sum;
}

Value Builder::mul(Value a, Value b) {
  if (grid(a) != grid(b)) {
    fail("[mul] operands are {} and {}, expected equal grids", grid_str(grid(a)),
         grid_str(grid(b)));
  }
  return append(MulOp{}, {a.id, b.id}, grid(a));
}

Value Builder::channel_gate(Value x, Value gate) {
  if (grid(gate) != Grid{1, 1, grid(x).channels}) {
    fail("[channel_gate] gate is {}, expected 1 x 1 x {}", grid_str(grid(gate)), grid(x).channels);
  }
  return append(ChannelGateOp{}, {x.id, gate.id}, grid(x));
}

Value Builder::scale(Value x, const std::string& name, float init) {
  const int weight = param(name, {grid(x).channels}, constant_init(init));
  return append(ScaleOp{}, {x.id}, grid(x), {weight});
}

Value Builder::scale(Value x, const std::string& name, const Shape& shape, Init init) {
  if (shape.elements() != grid(x).channels) {
    fail("[scale] the parameter is {}, expected a number for each of {} channels ({})", shape.str(),
         grid(x).channels, name);
  }
  return append(ScaleOp{}, {x.id}, grid(x), {param(name, shape, init)});
}

Value Builder::add_position(Value x, const std::string& name, int rows, int cols, Init init) {
  return add_position(x, name, {rows, cols, grid(x).height, grid(x).width, {}}, init);
}

Value Builder::add_position(Value x, const std::string& name, AddPositionOp op, Init init) {
  if (op.rows < 1 || op.cols < 1) {
    fail("[add_position] table is {} x {}, expected at least 1 x 1 ({})", op.rows, op.cols, name);
  }
  const auto extra =
      std::ranges::count_if(op.extra, [](ExtraRow row) { return row.sequence != kNoSequenceRow; });
  const int64_t table_rows =
      static_cast<int64_t>(op.rows) * op.cols + static_cast<int64_t>(op.extra.size());
  const int64_t rows = static_cast<int64_t>(op.height) * op.width + extra;
  if (op.height < 1 || op.width < 1 || rows != grid(x).positions()) {
    fail("[add_position] {} rows, expected {} x {} and {} extra ones ({})", grid(x).positions(),
         op.height, op.width, extra, name);
  }
  // In rising order, so that both rows of an extra token follow from those before it.
  ExtraRow before{-1, -1};
  for (const ExtraRow row : op.extra) {
    const bool unread = row.sequence == kNoSequenceRow;
    if (row.table <= before.table || row.table >= table_rows ||
        (!unread && (row.sequence <= before.sequence || row.sequence >= rows))) {
      fail(
          "[add_position] extra row {} of the table at {} of the sequence, expected rising rows "
          "below {} and {} ({})",
          row.table, row.sequence, table_rows, rows, name);
    }
    before = {row.table, unread ? before.sequence : row.sequence};
  }
  const int table = param(name, {1, table_rows, grid(x).channels}, init);
  return append(std::move(op), {x.id}, grid(x), {table});
}

Value Builder::rotary(Value x, const RotaryTables& tables, RotaryOp op) {
  const Grid in = grid(x);
  if (op.rows < 1 || op.cols < 1 || in.channels % 2 != 0) {
    fail("[rotary] tables of {} x {} for {} channels, expected at least 1 x 1 and pairs ({})",
         op.rows, op.cols, in.channels, tables.cos);
  }
  const Shape shape{int64_t{op.rows} * op.cols, in.channels};
  const std::vector<int> params = {param(tables.cos, shape, tables.cos_init),
                                   param(tables.sin, shape, tables.sin_init)};
  for (const int table : params) graph_.params[table].trained = false;
  return append(op, {x.id}, in, params);
}

Value Builder::tokens(const std::string& name, int count, int channels, Init init) {
  if (count < 1 || channels < 1) {
    fail("[tokens] {} rows of {} channels, expected at least 1 of each ({})", count, channels,
         name);
  }
  const int rows = param(name, {1, count, channels}, init);
  return append(TokensOp{}, {}, {1, count, channels}, {rows});
}

Value Builder::insert_rows(Value x, Value rows, int at) {
  const Grid in = grid(x), more = grid(rows);
  if (in.channels != more.channels || at < 0 || at > in.positions()) {
    fail("[insert_rows] {} into {} before row {}, expected equal channels and a row of it",
         grid_str(more), grid_str(in), at);
  }
  const int64_t length = in.positions() + more.positions();
  return append(InsertRowsOp{at}, {x.id, rows.id}, {1, static_cast<int>(length), in.channels});
}

Value Builder::select_rows(Value x, int first, int height, int width) {
  const Grid in = grid(x);
  if (first < 0 || height < 1 || width < 1 ||
      first + static_cast<int64_t>(height) * width > in.positions()) {
    fail("[select_rows] {} x {} rows from {} on, expected rows of {}", height, width, first,
         grid_str(in));
  }
  return append(SelectRowsOp{first}, {x.id}, {height, width, in.channels});
}

Value Builder::swiglu(Value x) {
  Grid out = grid(x);
  if (out.channels % 2 != 0) fail("[swiglu] {} channels, expected an even number", out.channels);
  out.channels /= 2;
  return append(SwiGluOp{}, {x.id}, out);
}

Value Builder::gated_mix(Value gate, Value a, Value b) {
  if (grid(gate) != grid(a) || grid(gate) != grid(b)) {
    fail("[gated_mix] operands are {}, {} and {}, expected equal grids", grid_str(grid(gate)),
         grid_str(grid(a)), grid_str(grid(b)));
  }
  return append(GatedMixOp{}, {gate.id, a.id, b.id}, grid(a));
}

Value Builder::gla(Value qkv, Value gate, GlaOp op) {
  const Grid in = grid(qkv);
  if (op.heads < 1 || op.key_dim < 1 || op.value_dim < 1) {
    fail("[gla] {} heads of key width {} and value width {}, expected at least 1 of each", op.heads,
         op.key_dim, op.value_dim);
  }
  const int channels = op.heads * (2 * op.key_dim + op.value_dim);
  if (in.channels != channels) {
    fail("[gla] qkv has {} channels, expected {} for {} heads", in.channels, channels, op.heads);
  }
  const Grid expected{in.height, in.width, gla_gate_channels(op)};
  if (grid(gate) != expected) {
    fail("[gla] gate is {}, expected {}", grid_str(grid(gate)), grid_str(expected));
  }
  return append(op, {qkv.id, gate.id}, {in.height, in.width, op.heads * op.value_dim});
}

Value Builder::attention(Value qkv, AttentionOp op) {
  Grid out = grid(qkv);
  if (op.heads < 1 || out.channels % (3 * op.heads) != 0) {
    fail("[attention] qkv has {} channels, expected a multiple of 3 times {} heads", out.channels,
         op.heads);
  }
  out.channels /= 3;
  return append(op, {qkv.id}, out);
}

Value Builder::window_attention(Value qkv, const std::string& table, const std::string& bias,
                                WindowAttentionOp op, Init init) {
  Grid out = grid(qkv);
  if (op.heads < 1 || out.channels % (3 * op.heads) != 0) {
    fail("[window_attention] qkv has {} channels, expected a multiple of 3 times {} heads ({})",
         out.channels, op.heads, table);
  }
  if (op.window_height < 1 || op.window_width < 1) {
    fail("[window_attention] window is {} x {}, expected at least 1 x 1 ({})", op.window_height,
         op.window_width, table);
  }
  const int64_t rows = (2 * int64_t{op.window_height} - 1) * (2 * int64_t{op.window_width} - 1);
  const std::vector<int> params = {param(table, {rows, op.heads}, init),
                                   param(bias, {out.channels}, {})};
  out.channels /= 3;
  return append(op, {qkv.id}, out, params);
}

Value Builder::window_attention(Value qkv, WindowAttentionOp op) {
  Grid out = grid(qkv);
  if (op.heads < 1 || out.channels % (3 * op.heads) != 0 || op.window_height < 1 ||
      op.window_width < 1 || op.shifted) {
    fail(
        "[window_attention] qkv has {} channels in windows of {} x {}, expected a multiple of 3 "
        "times {} heads, windows of at least 1 x 1 and no shift without a table",
        out.channels, op.window_height, op.window_width, op.heads);
  }
  out.channels /= 3;
  return append(op, {qkv.id}, out);
}

Value Builder::space_to_depth(Value x) {
  const Grid in = grid(x);
  return append(SpaceToDepthOp{}, {x.id},
                {(in.height + 1) / 2, (in.width + 1) / 2, 4 * in.channels});
}

Value Builder::token_linear(Value x, const std::string& name, Init weight, Init bias) {
  const int64_t tokens = grid(x).positions();
  const std::vector<int> params = {param(name + ".weight", {tokens, tokens}, weight),
                                   param(name + ".bias", {tokens}, bias)};
  return append(TokenLinearOp{}, {x.id}, grid(x), params);
}

Value Builder::select_channels(Value x, int first, int count) {
  Grid out = grid(x);
  if (first < 0 || count < 1 || int64_t{first} + count > out.channels) {
    fail("[select_channels] {} channels from {} on, expected channels of {}", count, first,
         grid_str(out));
  }
  out.channels = count;
  return append(SelectChannelsOp{first}, {x.id}, out);
}

Value Builder::mean_pool(Value x) { return append(MeanPoolOp{}, {x.id}, {1, 1, grid(x).channels}); }

Value Builder::named(Value value, const std::string& name) {
  graph_.modules.push_back({name, value.id});
  return value;
}

void Builder::output(const std::string& name, Value value) {
  graph_.outputs.push_back({name, value.id});
}

}  // namespace vig
