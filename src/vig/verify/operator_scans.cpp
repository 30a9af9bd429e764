// Recurrences and long convolutions, alone.
#include "vig/base/buffer.h"
#include "vig/base/error.h"
#include "vig/graph/builder.h"
#include "vig/kernels/selective_scan.h"
#include "vig/kernels/wkv.h"
#include "vig/verify/operators.h"

namespace vig {

void verify_bi_wkv(Comparison& c) {
  const Shape& shape = c.shape("k", 3);
  const std::vector<float> k = c.floats("k"), v = c.floats("v", shape);
  const std::vector<float> decay = c.floats("spatial_decay", {shape[2]});
  const std::vector<float> first = c.floats("spatial_first", {shape[2]});
  Buffer scratch(wkv_scratch_floats(shape[1]) * sizeof(float));
  for (const char* name : {"y", "y_kernel"}) {
    if (!c.has(name)) continue;
    c.floats(name, shape);
    std::vector<float> y(k.size());
    for (int64_t image = 0; image < shape[0]; ++image) {
      const int64_t at = image * shape[1] * shape[2];
      WkvArgs args;
      args.channels = args.k_stride = args.v_stride = args.y_stride = shape[2];
      args.tokens = shape[1];
      args.k = k.data() + at;
      args.v = v.data() + at;
      args.decay = decay.data();
      args.first = first.data();
      args.released = std::string_view(name) == "y_kernel";
      args.y = y.data() + at;
      args.scratch = scratch.floats();
      wkv(args);
    }
    c.tensor(name, y);
  }
}

void verify_selective_scan(Comparison& c) {
  const Shape& shape = c.shape("A_log", 2);
  const int64_t channels = shape[0], states = shape[1];
  const Shape& in = c.shape("u", 3);
  const Shape wide{in[0], in[1], channels}, narrow{in[0], in[1], states};
  const std::vector<float> u = c.floats("u", wide), raw = c.floats("delta_raw", wide);
  const std::vector<float> b = c.floats("B", narrow), rates_out = c.floats("C", narrow);
  const std::vector<float> bias = c.floats("delta_bias", {channels}), d = c.floats("D", {channels});
  const std::vector<float> a_log = c.floats("A_log");
  std::vector<float> rates(a_log.size()), y(u.size());
  selective_scan_rates(a_log.data(), channels, states, rates.data());
  Buffer state(selective_scan_state_floats(channels, states) * sizeof(float));
  for (int64_t image = 0; image < in[0]; ++image) {
    const int64_t at = image * in[1] * channels, small = image * in[1] * states;
    SelectiveScanArgs args;
    args.tokens = in[1];
    args.channels = channels;
    args.states = states;
    args.u = {u.data() + at, channels, nullptr};
    args.raw = {raw.data() + at, channels, nullptr};
    args.b = {b.data() + small, states, nullptr};
    args.c = {rates_out.data() + small, states, nullptr};
    args.bias = bias.data();
    args.rates = rates.data();
    args.rates_stride = channels;
    args.d = d.data();
    args.y = {y.data() + at, channels, nullptr};
    args.state = state.floats();
    selective_scan(args);
  }
  c.tensor("y", y);
}

// Both axes, one channel of the parameters after the other; D x is added here.
void verify_s4nd(Comparison& c) {
  const Json& config = c.text("config");
  const auto number = [&](const char* key) {
    if (!config.is_object() || !config.contains(key) || !config[key].is_integer(1, 4096)) {
      fail("{}: expected a number \"{}\" in \"config\"", c.golden().file, key);
    }
    return config[key].get<int>();
  };
  const int copies = number("channels");
  const Json taps = config.contains("l_max") ? config["l_max"] : Json();
  if (!taps.is_array() || taps.size() != 2 || !taps[0].is_integer(1, 4096) ||
      !taps[1].is_integer(1, 4096)) {
    fail("{}: expected two lengths \"l_max\" in \"config\"", c.golden().file);
  }
  const Shape& shape = c.shape("input", 4);
  const int d = static_cast<int>(shape[1]);
  Builder b;
  const Grid grid{static_cast<int>(shape[2]), static_cast<int>(shape[3]), d};
  const Value image = b.input("input", grid);
  for (int h = 0; h < d; ++h) {
    Value x = b.select_channels(image, h, 1);
    for (int axis = 0; axis < 2; ++axis) {
      Builder::S4Params params;
      params.kernel = fmt::format("kernel.{}", axis);
      params.channels = d;
      params.states = number("d_state");
      params.systems = number("n_ssm");
      x = b.s4_conv(x, params,
                    {copies, taps[static_cast<size_t>(axis)].get<int>(),
                     axis == 0 ? S4Axis::kDown : S4Axis::kAcross, h});
    }
    b.output(fmt::format("channel {}", h), x);
  }
  const std::vector<float> input = c.rows("input"), skip = c.floats("param/D", {copies, d});
  const auto found = c.run(std::move(b).finish(), {input}, shape[0]);
  // Output channels are copies of all channels, one behind the other.
  std::vector<float> output(input.size() * static_cast<size_t>(copies));
  for (size_t at = 0; at < input.size(); ++at) {
    const size_t h = at % static_cast<size_t>(d), position = at / static_cast<size_t>(d);
    for (size_t m = 0; m < static_cast<size_t>(copies); ++m) {
      output[(position * static_cast<size_t>(copies) + m) * static_cast<size_t>(d) + h] =
          found[h][position * static_cast<size_t>(copies) + m] +
          skip[m * static_cast<size_t>(d) + h] * input[at];
    }
  }
  c.map("output", output);
}

}  // namespace vig
