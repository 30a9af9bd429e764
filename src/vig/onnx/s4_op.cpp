// The long convolution of S4 as a grouped convolution along the tokens. Its taps follow from the
// parameters alone and are computed here, once.
#include <algorithm>

#include <fmt/format.h>

#include "vig/kernels/s4_taps.h"
#include "vig/onnx/ops.h"

namespace vig::onnx_format {
namespace {

// [rows of C, L, d]: all causal taps, then all anti-causal ones.
std::vector<float> taps(const S4ConvOp& op, const OpWriter& to) {
  const size_t first = to.params() - kS4KernelParams;
  const std::vector<float> inv_dt = to.param(first), c = to.param(first + 1);
  const std::vector<float> b = to.param(first + 2), a_real = to.param(first + 3);
  const std::vector<float> a_imag = to.param(first + 4), p = to.param(first + 5);
  S4TapsArgs args;
  args.channels = to.spec(first + 1).shape[1];
  args.rows = 2 * op.copies;
  args.systems = to.spec(first + 3).shape[0];
  args.pairs = to.spec(first + 3).shape[1];
  args.inv_dt = inv_dt.data();
  args.a_real = a_real.data();
  args.a_imag = a_imag.data();
  args.b = b.data();
  args.p = p.data();
  args.c = c.data();
  args.l_kernel = s4_kernel_length(to.param(first + 6)[0]);
  args.length = op.length;
  std::vector<float> made(static_cast<size_t>(args.rows * args.length * args.channels));
  args.taps = made.data();
  s4_taps(args);
  return made;
}

}  // namespace

void write(const S4ConvOp& op, OpWriter& to) {
  to.fix_size();
  NodeWriter& nodes = to.nodes();
  const Grid &in = to.grid(0), &out = to.grid();
  const int64_t tokens = s4_lines(op, in.height, in.width).tokens;
  // Taps that reach beyond the line join no tokens.
  const int64_t past = std::min<int64_t>(op.length, tokens);
  const int64_t future = std::min<int64_t>(op.length, tokens - 1);
  const int64_t width = past + future;
  const std::vector<float> made = taps(op, to);
  const bool has_d = to.params() > kS4KernelParams;
  const std::vector<float> d = has_d ? to.param(0) : std::vector<float>();
  // Groups are channels with their copies, or the copies of one channel. Tap `past` - 1 of a filter
  // is the token itself.
  const ParamSpec& c = to.spec(to.params() - kS4KernelParams + 1);
  const int64_t channels = c.shape[1], groups = in.channels;
  const bool single = op.channel >= 0;
  std::vector<float> filters(static_cast<size_t>(out.channels * width));
  for (int64_t h = 0; h < (single ? 1 : channels); ++h) {
    for (int64_t m = 0; m < op.copies; ++m) {
      const int64_t channel = single ? op.channel : h;
      float* filter = filters.data() + (h * op.copies + m) * width;
      const auto tap = [&](int64_t row, int64_t j) {
        return made[static_cast<size_t>((row * op.length + j) * channels + channel)];
      };
      for (int64_t j = 0; j < past; ++j) filter[past - 1 - j] = tap(m, j);
      for (int64_t j = 0; j < future; ++j) filter[past + j] = tap(op.copies + m, j);
      if (has_d) filter[past - 1] += d[static_cast<size_t>(m * channels + channel)];
    }
  }
  if (op.axis != S4Axis::kSequence) {
    const bool down = op.axis == S4Axis::kDown;
    const Axes kernel = down ? Axes{width, 1} : Axes{1, width};
    const Axes pads = down ? Axes{past - 1, 0, future, 0} : Axes{0, past - 1, 0, future};
    const std::string name = single ? fmt::format("{}_{}", c.name, op.channel) : c.name;
    const std::string weight =
        nodes.parameter(name, {out.channels, 1, kernel[0], kernel[1]}, filters);
    to.give(Form::kPlanes,
            nodes.add("Conv", {to.planes(0), weight},
                      {{"kernel_shape", kernel}, {"pads", pads}, {"group", groups}}));
    return;
  }
  const std::string weight = nodes.parameter(c.name, {out.channels, 1, width}, filters);
  std::string y = nodes.add(
      "Conv", {nodes.transpose(to.rows(0), {0, 2, 1}), weight},
      {{"kernel_shape", Axes{width}}, {"pads", Axes{past - 1, future}}, {"group", groups}});
  y = nodes.transpose(nodes.reshape(y, {0, channels, op.copies, tokens}), {0, 3, 2, 1});
  to.give(Form::kRows, nodes.reshape(y, to.row_shape(channels * op.copies)));
}

}  // namespace vig::onnx_format
