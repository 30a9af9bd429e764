// Appends nodes to a graph. Every function checks its operands, infers the grid of its result and
// declares the parameters it uses under their published names; nothing is computed.
#pragma once

#include <string>
#include <vector>

#include "vig/graph/graph.h"

namespace vig {

class Builder {
 public:
  // Adds the picture, [height, width, 3].
  Builder(int height, int width);

  Value input() const { return Value{0}; }
  const Grid& grid(Value value) const { return graph_.nodes[value.id].grid; }

  struct ConvShape {
    int kernel = 1;
    int stride = 1;
    int padding = 0;
  };
  // Parameters `name`.weight and `name`.bias. PyTorch's default convolution initialisation.
  Value conv(Value x, const std::string& name, int out_channels, ConvShape shape);
  Value depthwise_conv(Value x, const std::string& name, int kernel, Init init);
  Value linear(Value x, const std::string& name, int out_channels, bool bias, Init init);
  Value layer_norm(Value x, const std::string& name, float eps);
  Value rms_norm(Value x, const std::string& name, float eps, int groups = 1);
  Value activation(Value x, Elementwise function);
  Value add(Value a, Value b);
  // x + branch, which training drops with this probability.
  Value residual(Value x, Value branch, double drop_rate = 0);
  Value mul(Value a, Value b);
  Value scale(Value x, const std::string& name, float init);
  // The table is [1, rows * cols, channels].
  Value add_position(Value x, const std::string& name, int rows, int cols, Init init);
  Value swiglu(Value x);
  Value gated_mix(Value gate, Value a, Value b);
  Value gla(Value qkv, Value gate, GlaOp op);
  Value mean_pool(Value x);

  // Parameters declared from here on belong to the next level, or to the head as well.
  void next_level() { ++level_; }
  void begin_head() { head_ = true; }

  // Says that `value` is what module `name` puts out, so that it can be asked for.
  Value named(Value value, const std::string& name);
  void output(const std::string& name, Value value);

  Graph finish() && { return std::move(graph_); }

 private:
  Value append(Op op, std::vector<int> inputs, Grid grid, std::vector<int> params = {});
  int param(const std::string& name, Shape shape, Init init);

  Graph graph_;
  int level_ = 0;
  bool head_ = false;
};

// Xavier-uniform for an [out, in] matrix (or a filter bank with these fans), times `gain`.
Init xavier_uniform(int64_t fan_in, int64_t fan_out, float gain);

}  // namespace vig
