// The long convolution of S4 as a grouped convolution along the tokens. Its taps follow from the
// parameters alone and are computed here, once.
#include <algorithm>

#include "vig/kernels/s4_taps.h"
#include "vig/onnx/ops.h"

namespace vig::onnx_format {
namespace {

// [rows of C, L, d]: all causal taps, then all anti-causal ones.
std::vector<float> taps(const S4ConvOp& op, const OpWriter& to) {
  const std::vector<float> inv_dt = to.param(1), c = to.param(2), b = to.param(3);
  const std::vector<float> a_real = to.param(4), a_imag = to.param(5), p = to.param(6);
  S4TapsArgs args;
  args.channels = to.grid(0).channels;
  args.rows = 2 * op.copies;
  args.systems = to.spec(4).shape[0];
  args.pairs = to.spec(4).shape[1];
  args.inv_dt = inv_dt.data();
  args.a_real = a_real.data();
  args.a_imag = a_imag.data();
  args.b = b.data();
  args.p = p.data();
  args.c = c.data();
  args.l_kernel = s4_kernel_length(to.param(7)[0]);
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
  const int64_t channels = to.grid(0).channels, tokens = to.grid(0).positions();
  // Taps that reach beyond the sequence join no tokens.
  const int64_t past = std::min<int64_t>(op.length, tokens);
  const int64_t future = std::min<int64_t>(op.length, tokens - 1);
  const int64_t width = past + future;
  const std::vector<float> made = taps(op, to), d = to.param(0);
  // Group h has the copies of channel h. Tap `past` - 1 of a filter is the token itself.
  std::vector<float> filters(static_cast<size_t>(channels * op.copies * width));
  for (int64_t h = 0; h < channels; ++h) {
    for (int64_t m = 0; m < op.copies; ++m) {
      float* filter = filters.data() + (h * op.copies + m) * width;
      const auto tap = [&](int64_t row, int64_t j) {
        return made[static_cast<size_t>((row * op.length + j) * channels + h)];
      };
      for (int64_t j = 0; j < past; ++j) filter[past - 1 - j] = tap(m, j);
      for (int64_t j = 0; j < future; ++j) filter[past + j] = tap(op.copies + m, j);
      filter[past - 1] += d[static_cast<size_t>(m * channels + h)];
    }
  }
  const std::string weight =
      nodes.parameter(to.spec(2).name, {channels * op.copies, 1, width}, filters);
  std::string y = nodes.add(
      "Conv", {nodes.transpose(to.rows(0), {0, 2, 1}), weight},
      {{"kernel_shape", Axes{width}}, {"pads", Axes{past - 1, future}}, {"group", channels}});
  y = nodes.transpose(nodes.reshape(y, {0, channels, op.copies, tokens}), {0, 3, 2, 1});
  to.give(Form::kRows, nodes.reshape(y, to.row_shape(channels * op.copies)));
}

}  // namespace vig::onnx_format
