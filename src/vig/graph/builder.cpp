#include "vig/graph/builder.h"

#include <cmath>
#include <utility>

#include "vig/base/error.h"

namespace vig {
namespace {

std::string grid_str(const Grid& grid) {
  return fmt::format("{} x {} x {}", grid.height, grid.width, grid.channels);
}

}  // namespace

Init xavier_uniform(int64_t fan_in, int64_t fan_out, float gain) {
  return {Init::Kind::kUniform, gain * std::sqrt(6.0f / static_cast<float>(fan_in + fan_out))};
}

Builder::Builder(int height, int width) {
  if (height < 1 || width < 1) {
    fail("[input] picture is {} x {}, expected at least 1 x 1", height, width);
  }
  append(InputOp{}, {}, {height, width, 3});
}

Value Builder::append(Op op, std::vector<int> inputs, Grid grid, std::vector<int> params) {
  graph_.nodes.push_back({std::move(op), std::move(inputs), std::move(params), grid});
  return Value{static_cast<int>(graph_.nodes.size()) - 1};
}

int Builder::param(const std::string& name, Shape shape, Init init) {
  ParamSpec spec{name, std::move(shape), init};
  spec.decayed = spec.shape.rank() > 1;  // not vectors and biases
  spec.head = head_;
  spec.level = level_;
  graph_.params.push_back(std::move(spec));
  return static_cast<int>(graph_.params.size()) - 1;
}

Value Builder::conv(Value x, const std::string& name, int out_channels, ConvShape shape) {
  const Grid in = grid(x);
  const auto out_size = [&](int size) {
    return (size + 2 * shape.padding - shape.kernel) / shape.stride + 1;
  };
  if (in.height + 2 * shape.padding < shape.kernel || in.width + 2 * shape.padding < shape.kernel) {
    fail(
        "[conv] grid {} x {} is too small for kernel {} with padding {} ({}); the input must be "
        "larger",
        in.height, in.width, shape.kernel, shape.padding, name);
  }
  const int64_t fan_in = static_cast<int64_t>(in.channels) * shape.kernel * shape.kernel;
  const Init init{Init::Kind::kUniform, 1.0f / std::sqrt(static_cast<float>(fan_in))};
  const int weight =
      param(name + ".weight", {out_channels, in.channels, shape.kernel, shape.kernel}, init);
  const int bias = param(name + ".bias", {out_channels}, init);
  return append(ConvOp{shape.kernel, shape.stride, shape.padding}, {x.id},
                {out_size(in.height), out_size(in.width), out_channels}, {weight, bias});
}

Value Builder::depthwise_conv(Value x, const std::string& name, int kernel, Init init) {
  const Grid in = grid(x);
  if (kernel % 2 == 0) fail("[dwconv] kernel is {}, expected an odd one ({})", kernel, name);
  const int weight = param(name + ".weight", {in.channels, 1, kernel, kernel}, init);
  return append(DepthwiseConvOp{kernel}, {x.id}, in, {weight});
}

Value Builder::linear(Value x, const std::string& name, int out_channels, bool bias, Init init) {
  Grid out = grid(x);
  std::vector<int> params = {param(name + ".weight", {out_channels, out.channels}, init)};
  if (bias) params.push_back(param(name + ".bias", {out_channels}, Init{}));
  out.channels = out_channels;
  return append(LinearOp{}, {x.id}, out, std::move(params));
}

Value Builder::layer_norm(Value x, const std::string& name, float eps) {
  const Grid in = grid(x);
  const int weight = param(name + ".weight", {in.channels}, {Init::Kind::kOnes});
  const int bias = param(name + ".bias", {in.channels}, {Init::Kind::kZeros});
  return append(LayerNormOp{eps}, {x.id}, in, {weight, bias});
}

Value Builder::rms_norm(Value x, const std::string& name, float eps, int groups) {
  const Grid in = grid(x);
  if (groups < 1 || in.channels % groups != 0) {
    fail("[rms_norm] {} channels do not split into {} groups ({})", in.channels, groups, name);
  }
  const int weight = param(name + ".weight", {in.channels / groups}, {Init::Kind::kOnes});
  return append(RmsNormOp{eps, groups}, {x.id}, in, {weight});
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

Value Builder::scale(Value x, const std::string& name, float init) {
  const int weight = param(name, {grid(x).channels}, {Init::Kind::kConstant, init});
  return append(ScaleOp{}, {x.id}, grid(x), {weight});
}

Value Builder::add_position(Value x, const std::string& name, int rows, int cols, Init init) {
  if (rows < 1 || cols < 1) {
    fail("[add_position] table is {} x {}, expected at least 1 x 1 ({})", rows, cols, name);
  }
  const int table = param(name, {1, static_cast<int64_t>(rows) * cols, grid(x).channels}, init);
  return append(AddPositionOp{rows, cols}, {x.id}, grid(x), {table});
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

Value Builder::mean_pool(Value x) { return append(MeanPoolOp{}, {x.id}, {1, 1, grid(x).channels}); }

Value Builder::named(Value value, const std::string& name) {
  graph_.modules.push_back({name, value.id});
  return value;
}

void Builder::output(const std::string& name, Value value) {
  graph_.outputs.push_back({name, value.id});
}

}  // namespace vig
