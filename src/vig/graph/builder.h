// Appends nodes to a graph. Every function checks its operands, infers the grid of its result and
// declares the parameters it uses under their published names; nothing is computed. Operations that
// name the same parameter share it.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "vig/graph/graph.h"

namespace vig {

class Builder {
 public:
  // What is given before the run; a graph may have several. The image is [height, width, 3].
  Value input(const std::string& name, Grid grid);
  const Grid& grid(Value value) const { return graph_.nodes[value.id].grid; }

  struct ConvShape {
    int kernel = 1;
    int stride = 1;
    int padding = 0;  // or kSamePadding
    int groups = 1;
    bool bias = true;
  };
  // Parameters `name`.weight and `name`.bias. PyTorch's default initialisation unless others are
  // given.
  Value conv(Value x, const std::string& name, int out_channels, ConvShape shape);
  Value conv(Value x, const std::string& name, int out_channels, ConvShape shape, Init weight,
             Init bias = {});
  struct DepthwiseShape {
    int kernel = 3;
    int stride = 1;
    std::optional<int> padding = {};  // kernel / 2 if not given
    bool bias = false;
  };
  Value depthwise_conv(Value x, const std::string& name, DepthwiseShape shape, Init weight,
                       Init bias = {});
  struct PoolShape {
    int kernel = 2;
    int stride = 2;
    int padding = 0;
  };
  Value max_pool(Value x, PoolShape shape);
  Value linear(Value x, const std::string& name, int out_channels, bool bias, Init weight,
               Init bias_init = {});
  // Of a range of x's channels, or of one for each group: see LinearOp. The parameters have any
  // names; the weight's rows are those of the published shape [.., in].
  struct RangeShape {
    std::string weight;
    Shape weight_shape;
    LinearOp range;
    std::string bias = "";  // none
  };
  Value linear_range(Value x, const RangeShape& shape, Init weight, Init bias = {});
  Value layer_norm(Value x, const std::string& name, float eps);
  Value rms_norm(Value x, const std::string& name, float eps, int groups = 1);
  // Parameters `name`.weight, .bias, .running_mean and .running_var.
  Value batch_norm(Value x, const std::string& name, BatchNormOp op = {});
  Value activation(Value x, Elementwise function);
  Value add(Value a, Value b);
  // x + branch, which training drops with this probability.
  Value residual(Value x, Value branch, double drop_rate = 0);
  Value mul(Value a, Value b);
  // x times `gate`, one row of its channels, at every position.
  Value channel_gate(Value x, Value gate);
  Value scale(Value x, const std::string& name, float init);
  // The same for a parameter of any shape with a number for each channel.
  Value scale(Value x, const std::string& name, const Shape& shape, Init init);
  // The table is [1, rows * cols, channels], for the grid x.
  Value add_position(Value x, const std::string& name, int rows, int cols, Init init);
  // For a sequence of op.height x op.width positions and op.extra rows of their own.
  Value add_position(Value x, const std::string& name, AddPositionOp op, Init init);
  // Tables `cos` and `sin` [rows * cols, channels].
  struct RotaryTables {
    std::string cos, sin;
    Init cos_init, sin_init;
  };
  Value rotary(Value x, const RotaryTables& tables, RotaryOp op);
  // Learned rows [1, count, channels]: a sequence of their own, to be inserted into another.
  Value tokens(const std::string& name, int count, int channels, Init init);
  // The sequence x with `rows` before its row `at`; at the end where `at` is x's length.
  Value insert_rows(Value x, Value rows, int at);
  // height x width rows of x from `first` on, as a grid.
  Value select_rows(Value x, int first, int height, int width);
  Value swiglu(Value x);
  Value gated_mix(Value gate, Value a, Value b);
  Value gla(Value qkv, Value gate, GlaOp op);
  // Of qkv with channels [q | k | v].
  Value attention(Value qkv, AttentionOp op);
  // Parameters `table` and `bias`, the one of the projection that makes qkv.
  Value window_attention(Value qkv, const std::string& table, const std::string& bias,
                         WindowAttentionOp op, Init init);
  // Without parameters.
  Value window_attention(Value qkv, WindowAttentionOp op);
  Value space_to_depth(Value x);
  // Parameters `name`.weight [T, T] and `name`.bias [T], T the positions of x.
  Value token_linear(Value x, const std::string& name, Init weight, Init bias);
  Value select_channels(Value x, int first, int count);
  // Over `channels` channels of x, all if that is 0. Parameters `name`.weight and `name`.bias.
  struct Conv1dShape {
    int width = 4;
    int first = 0;
    int channels = 0;
    ScanPath path = {};
    bool ordered = false;
  };
  Value conv1d(Value x, const std::string& name, Conv1dShape shape, Init weight, Init bias);
  // Parameters by name: of every direction, or one of each for all. Operands are numbered as in op.
  struct ScanParams {
    std::string a_log, d, bias;
    Init bias_init = {};
    std::string moves = "";  // for op.moves
  };
  Value selective_scan(const std::vector<Value>& operands, SelectiveScanOp op,
                       const std::vector<ScanParams>& params);
  // The same for operands that are sequences along the paths already: a result for `positions`.
  Value selective_scan(const std::vector<Value>& operands, SelectiveScanOp op,
                       const std::vector<ScanParams>& params, const Grid& positions);
  // One mix for each name; the results stand one beside the other.
  struct Mix {
    std::string name;
    Init init;
  };
  Value q_shift(Value x, const std::vector<Mix>& mixes);
  struct WkvParams {
    std::string decay, first;
    Init decay_init, first_init;
  };
  Value bi_wkv(Value k, Value v, const WkvParams& params, BiWkvOp op);
  // Parameters `d` (empty: none) and `kernel`.inv_dt, .C, .B, .A_real, .A_imag, .P and .l_kernel,
  // of `systems` state spaces of `states` states each, which the channels take in turn.
  struct S4Params {
    std::string d, kernel;
    int channels = 0;  // of the parameters; 0: as many as x has
    int states = 64;
    int systems = 1;
    Init inv_dt, a_real, a_imag, b, p;
  };
  Value s4_conv(Value x, const S4Params& params, S4ConvOp op);
  Value mean_pool(Value x);
  Value average_pool(Value x, int side);
  Value adaptive_pool(Value x, int cells);
  // On a grid of this size; x itself where it has it.
  Value resize(Value x, int height, int width, Resampling resampling);
  // Parameters `name`.weight [in, out, 2, 2] and `name`.bias [out].
  Value upsample_conv(Value x, const std::string& name, int out_channels, Init weight,
                      Init bias = {});
  Value concat_channels(const std::vector<Value>& parts);
  // The parameter `name` is [rows, channels].
  Value add_row(Value x, const std::string& name, int rows, int row, Init init);
  Value drop_channels(Value x, float rate);
  // Of all values of a square grid, in the order channel, row, column: parameters `name`.weight
  // [out, channels * height * width] and `name`.bias. The result is a 1 x 1 grid.
  Value linear_of_grid(Value x, const std::string& name, int out_channels, Init weight);
  Value deformable(Value values, Value offsets, Value logits, DeformableOp op);

  // Parameters declared from here on belong to the next level, or to the head as well.
  void next_level() { ++level_; }
  // The same for any level: what is declared first need not be what stands lowest.
  void set_level(int level) { level_ = level; }
  void begin_head() { head_ = true; }

  // Says that `value` is what module `name` puts out, so that it can be asked for.
  Value named(Value value, const std::string& name);
  void output(const std::string& name, Value value);

  Graph finish() && { return std::move(graph_); }

 private:
  Value append(Op op, std::vector<int> inputs, Grid grid, std::vector<int> params = {});
  // Declares a parameter. One that has been declared before is shared.
  int param(const std::string& name, Shape shape, Init init);
  // The grid of windows over `in`, with its channels; throws where none fits.
  Grid windows(const char* op, const std::string& name, const Grid& in, int kernel, int stride,
               int padding) const;

  Graph graph_;
  std::unordered_map<std::string, int> params_;  // by name
  int level_ = 0;
  bool head_ = false;
};

}  // namespace vig
