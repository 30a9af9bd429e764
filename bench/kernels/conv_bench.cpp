// Our convolutions against oneDNN's on layers of ResNet50, RegNetY, ConvNeXt and UperNet: one
// thread, one image, channels last for all.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <cmath>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <vector>

#include "kernels/rounds.h"
#include "vig/base/buffer.h"
#include "vig/kernels/conv.h"
#include "vig/kernels/conv_dense.h"

namespace vig::bench {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

std::vector<float> noise(int64_t count, float reach, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) x = reach * (static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f);
  return values;
}

// oneDNN with its weights in the layout it asks for.
class OneDnn {
 public:
  OneDnn(const ConvShape& s, std::vector<float>& in, std::vector<float>& weight,
         std::vector<float>& bias, std::vector<float>& out) {
    const auto desc = [](const memory::dims& dims, Tag tag) {
      return memory::desc(dims, memory::data_type::f32, tag);
    };
    const memory::dims src = {1, s.in.channels, s.in.height, s.in.width};
    const Windows& w = s.windows;
    const memory::dims dst = {1, s.out_channels, w.height, w.width};
    memory::dims weights = {s.out_channels, s.group_inputs(), w.kernel, w.kernel};
    if (s.groups > 1) {
      weights = {s.groups, s.group_outputs(), s.group_inputs(), w.kernel, w.kernel};
    }
    const memory::desc bias_desc = desc({s.out_channels}, Tag::x);
    const dnnl::convolution_forward::primitive_desc pd({dnnl::prop_kind::forward_inference,
                                                        dnnl::algorithm::convolution_direct,
                                                        desc(src, Tag::nhwc),
                                                        desc(weights, Tag::any),
                                                        bias_desc,
                                                        desc(dst, Tag::nhwc),
                                                        {w.stride, w.stride},
                                                        {w.top, w.top},
                                                        {w.top, w.top}},
                                                       engine_);
    primitive_ = dnnl::convolution_forward(pd);
    memory plain(desc(weights, s.groups > 1 ? Tag::goihw : Tag::oihw), engine_, weight.data());
    memory packed(pd.weights_desc(), engine_);
    dnnl::reorder(plain, packed).execute(stream_, plain, packed);
    stream_.wait();
    arguments_ = {{DNNL_ARG_SRC, memory(desc(src, Tag::nhwc), engine_, in.data())},
                  {DNNL_ARG_WEIGHTS, packed},
                  {DNNL_ARG_BIAS, memory(bias_desc, engine_, bias.data())},
                  {DNNL_ARG_DST, memory(desc(dst, Tag::nhwc), engine_, out.data())}};
  }
  void run() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> arguments_;
};

// All contenders must agree before they are timed.
void compare_and_time(benchmark::State& state, const ConvShape& s, std::vector<float>& out,
                      const std::vector<Contender>& contenders) {
  std::vector<float> want;
  for (const Contender& contender : contenders) {
    std::fill(out.begin(), out.end(), NAN);
    contender.run();
    if (want.empty()) want = out;
    for (size_t i = 0; i < out.size(); ++i) {
      // Sums of order 1 after up to 18432 roundings, which mostly cancel.
      if (!(std::fabs(out[i] - want[i]) <= 5e-5)) {
        return state.SkipWithError((contender.name + " gives another result").c_str());
      }
    }
  }
  time_rounds(state, contenders,
              2.0 * static_cast<double>(s.positions() * s.out_channels * s.taps()));
}

ConvShape shape_of(const benchmark::State& state) {
  const ConvGrid in = {state.range(0), state.range(0), state.range(1)};
  const Windows windows = Windows::over(in, state.range(3), state.range(4), state.range(5));
  return {in, windows, state.range(2), state.range(6)};
}

void dense(benchmark::State& state) {
  omp_set_num_threads(1);
  const ConvShape s = shape_of(state);
  const float reach = 1.0f / std::sqrt(static_cast<float>(s.taps()));
  std::vector<float> in = noise(s.in.height * s.in.width * s.in.channels, 1.0f, 1);
  std::vector<float> weight = noise(s.out_channels * s.taps(), reach, 2);
  std::vector<float> bias = noise(s.out_channels, 1.0f, 3);
  std::vector<float> out(static_cast<size_t>(s.positions() * s.out_channels));
  Buffer panels(conv_packed_floats(s) * sizeof(float));
  conv_pack(s, weight.data(), bias.data(), panels.floats());
  DenseConvArgs args;
  args.shape = s;
  args.in = in.data();
  args.panels = panels.floats();
  args.last_row = s.positions();
  args.out = out.data();
  args.out_stride = s.out_channels;
  OneDnn onednn(s, in, weight, bias, out);
  compare_and_time(state, s, out,
                   {{"ours", [&] { dense_conv(args); }}, {"onednn", [&] { onednn.run(); }}});
}

void depthwise(benchmark::State& state) {
  omp_set_num_threads(1);
  const ConvShape s = shape_of(state);
  std::vector<float> in = noise(s.in.height * s.in.width * s.in.channels, 1.0f, 1);
  std::vector<float> weight = noise(s.out_channels * s.taps(), 0.2f, 2);
  std::vector<float> bias = noise(s.out_channels, 1.0f, 3);
  std::vector<float> out(static_cast<size_t>(s.positions() * s.out_channels));
  std::vector<float> taps(weight.size());
  depthwise_taps(weight.data(), s.out_channels, s.windows.kernel, taps.data());
  DepthwiseConvArgs args;
  args.in = in.data();
  args.grid = s.in;
  args.windows = s.windows;
  args.taps = taps.data();
  args.last_row = s.positions();
  args.out = out.data();
  args.out_stride = s.out_channels;
  args.bias = bias.data();
  OneDnn onednn(s, in, weight, bias, out);
  compare_and_time(state, s, out,
                   {{"ours", [&] { depthwise_conv(args); }}, {"onednn", [&] { onednn.run(); }}});
}

void names(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"size", "in", "out", "kernel", "stride", "padding", "groups"});
  bench->UseManualTime()->MinTime(0.25)->Unit(benchmark::kMicrosecond);
}

void dense_layers(benchmark::internal::Benchmark* bench) {
  names(bench);
  bench->Args({224, 3, 64, 7, 2, 3, 1});  // ResNet50
  bench->Args({56, 64, 64, 3, 1, 1, 1});
  bench->Args({56, 64, 256, 1, 1, 0, 1});
  bench->Args({56, 128, 128, 3, 2, 1, 1});
  bench->Args({28, 128, 128, 3, 1, 1, 1});
  bench->Args({14, 256, 256, 3, 1, 1, 1});
  bench->Args({7, 512, 512, 3, 1, 1, 1});
  bench->Args({28, 192, 192, 3, 1, 1, 3});  // RegNetY
  bench->Args({14, 448, 448, 3, 1, 1, 8});
  bench->Args({224, 3, 96, 4, 4, 0, 1});     // ConvNeXt and Swin
  bench->Args({224, 3, 192, 16, 16, 0, 1});  // DeiT
  bench->Args({32, 256, 256, 3, 1, 1, 1});   // UperNet
  bench->Args({16, 2048, 512, 3, 1, 1, 1});
  bench->Args({64, 2048, 512, 3, 1, 1, 1});
  bench->Args({128, 256, 256, 3, 1, 1, 1});  // FPN
}

void depthwise_layers(benchmark::internal::Benchmark* bench) {
  names(bench);
  for (const auto& [size, channels] : {std::pair(56, 96), {28, 192}, {14, 384}, {7, 768}}) {
    bench->Args({size, channels, channels, 7, 1, 3, channels});  // ConvNeXt
  }
  bench->Args({14, 192, 192, 3, 1, 1, 192});  // ViG
  bench->Args({28, 240, 240, 5, 1, 2, 240});  // EfficientNet
  bench->Args({28, 240, 240, 5, 2, 2, 240});
  bench->Args({28, 192, 192, 3, 2, 1, 192});
}

BENCHMARK(dense)->Apply(dense_layers);
BENCHMARK(depthwise)->Apply(depthwise_layers);

}  // namespace
}  // namespace vig::bench
