#include "vig/models/scan_blocks.h"

#include <algorithm>
#include <cmath>

#include "vig/graph/init.h"

namespace vig {
namespace {

void fill_step_bias(const FreshParam& param, float least, float most) {
  for (size_t i = 0; i < param.values.size(); ++i) {
    const double unit = unit_open_above(param.random.bits_at(i));
    const double step = std::exp(std::log(least) + unit * (std::log(most) - std::log(least)));
    // The inverse of softplus.
    param.values[i] = static_cast<float>(step + std::log(-std::expm1(-step)));
  }
}

void fill_log_steps(const FreshParam& param, float least, float most) {
  for (size_t i = 0; i < param.values.size(); ++i) {
    const double unit = unit_open_above(param.random.bits_at(i));
    param.values[i] =
        static_cast<float>(std::log(least) + unit * (std::log(most) - std::log(least)));
  }
}

// Angles of a fresh table [side * side, d]: the first half of the channels turns with the row, the
// second with the column; pair j of c / 2 turns by 10000^(-2 j / c) for each position of a grid of
// `trained` lines. kFunction is std::cos or std::sin.
template <double (*kFunction)(double)>
void fill_angles(const FreshParam& param, float side, float trained) {
  const auto channels = static_cast<size_t>(param.shape[1]), half = channels / 2;
  const auto lines = static_cast<size_t>(side);
  for (size_t i = 0; i < param.values.size(); ++i) {
    const size_t cell = i / channels, channel = i % channels;
    const size_t at = channel < half ? cell / lines : cell % lines, pair = channel % half / 2;
    const double power = -2.0 * static_cast<double>(pair) / static_cast<double>(half);
    const double position = static_cast<double>(at) * trained / side;
    param.values[i] = static_cast<float>(kFunction(std::pow(10000.0, power) * position));
  }
}
double cosine(double angle) { return std::cos(angle); }
double sine(double angle) { return std::sin(angle); }

}  // namespace

Builder::RotaryTables rotary_tables(const std::string& name, int side) {
  constexpr float kTrainedLines = 14.0f;  // for every size: the released angles are scaled to it
  const auto lines = static_cast<float>(side);
  return {name + ".freqs_cos",
          name + ".freqs_sin",
          {fill_angles<cosine>, lines, kTrainedLines},
          {fill_angles<sine>, lines, kTrainedLines}};
}

Init log_step_init(float least, float most) { return {fill_log_steps, least, most}; }

Init step_bias_init() { return {fill_step_bias, 0.001f, 0.1f}; }

Init step_weight_init(int rank) { return fan_in_uniform(rank); }

Value channel_attention(Builder& b, Value x, const std::string& name, float eps) {
  const int channels = b.grid(x).channels, reduced = std::max(1, channels / 8);
  const Init init = truncated_normal_init(0.02f);
  Value gate = b.mean_pool(b.layer_norm(x, name + ".norm", eps));
  gate = b.linear(gate, name + ".global_reduce", reduced, true, init);
  gate = b.activation(gate, Elementwise::kGelu);
  gate = b.linear(gate, name + ".channel_select", channels, true, init);
  return b.channel_gate(x, b.activation(gate, Elementwise::kSigmoid));
}

ScanPath local_path(int direction) {
  const bool backward = direction % 2 == 1;
  switch (direction / 2) {
    case kH / 2:
      return {ScanOrder::kRows, backward};
    case kV / 2:
      return {ScanOrder::kColumns, backward};
    case kW2 / 2:
      return {ScanOrder::kWindows, backward, 2};
    default:
      return {ScanOrder::kWindows, backward, 7};
  }
}

std::vector<int> concatenated(std::span<const LocalDirections> blocks) {
  std::vector<int> all;
  for (const LocalDirections& block : blocks) all.insert(all.end(), block.begin(), block.end());
  return all;
}

GatedMap gated_map(Builder& b, Value x, const std::string& name, int inner, int kernel, Init init) {
  const Value xz = b.linear(x, name + "in_proj", 2 * inner, false, init);
  const Init conv = fan_in_uniform(static_cast<int64_t>(kernel) * kernel);
  Value u = b.select_channels(xz, 0, inner);
  u = b.depthwise_conv(u, name + "conv2d", {.kernel = kernel, .bias = true}, conv, conv);
  const Value z = b.select_channels(xz, inner, inner);
  return {b.activation(u, Elementwise::kSilu), b.activation(z, Elementwise::kSilu)};
}

}  // namespace vig
