// Our matrix product against oneDNN's on the layers of vig_t, vig_s and vig_b: one thread, weights
// cold in the second-level cache, activations warm. The results go into docs/gemm.md.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <cmath>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <string>
#include <vector>

#include "kernels/rounds.h"
#include "vig/base/buffer.h"
#include "vig/kernels/gemm.h"
#include "vig/kernels/pointwise.h"
#include "vig/kernels/reference/gemm.h"

namespace vig::bench {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

struct Layer {
  int64_t k, n, rows;
  bool paired;  // SwiGLU: n / 2 columns leave

  int64_t columns() const { return paired ? n / 2 : n; }
};

std::vector<float> noise(size_t count, float reach, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& x : values) x = reach * (static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f);
  return values;
}

// Enough copies of the weights that none is still in the second-level cache when its turn comes.
size_t copies(const Layer& layer) {
  const size_t bytes = static_cast<size_t>(layer.k * layer.n) * sizeof(float);
  return 2 + (size_t{8} << 20) / bytes;
}

// One primitive of oneDNN with its weights in the layout it asks for. SwiGLU takes a
// pass of its own over the n-wide result.
class OneDnn {
 public:
  enum class Kind { kConvolution, kInnerProduct, kMatmul };

  OneDnn(Kind kind, const Layer& layer, const std::vector<float>& weight,
         const std::vector<float>& bias, float* a, float* c)
      : layer_(layer), wide_(static_cast<size_t>(layer.rows * layer.n)), c_(c) {
    const int64_t rows = layer.rows, k = layer.k, n = layer.n;
    memory::dims src, weights, dst;
    Tag rows_tag = Tag::nc, weight_tag = Tag::oi;
    memory::desc bias_desc({n}, memory::data_type::f32, Tag::x);
    const auto desc = [](const memory::dims& dims, Tag tag) {
      return memory::desc(dims, memory::data_type::f32, tag);
    };
    switch (kind) {
      case Kind::kConvolution: {
        src = {1, k, rows / 14, 14};
        weights = {n, k, 1, 1};
        dst = {1, n, rows / 14, 14};
        rows_tag = Tag::nhwc;
        weight_tag = Tag::oihw;
        const dnnl::convolution_forward::primitive_desc pd({dnnl::prop_kind::forward_inference,
                                                            dnnl::algorithm::convolution_direct,
                                                            desc(src, rows_tag),
                                                            desc(weights, Tag::any),
                                                            bias_desc,
                                                            desc(dst, rows_tag),
                                                            {1, 1},
                                                            {0, 0},
                                                            {0, 0}},
                                                           engine_);
        weights_desc_ = pd.weights_desc();
        primitive_ = dnnl::convolution_forward(pd);
        break;
      }
      case Kind::kInnerProduct: {
        src = {rows, k};
        weights = {n, k};
        dst = {rows, n};
        const dnnl::inner_product_forward::primitive_desc pd(
            {dnnl::prop_kind::forward_inference, desc(src, rows_tag), desc(weights, Tag::any),
             bias_desc, desc(dst, rows_tag)},
            engine_);
        weights_desc_ = pd.weights_desc();
        primitive_ = dnnl::inner_product_forward(pd);
        break;
      }
      case Kind::kMatmul: {
        src = {rows, k};
        weights = {k, n};
        dst = {rows, n};
        rows_tag = Tag::ab;
        weight_tag = Tag::ba;
        bias_desc = memory::desc({1, n}, memory::data_type::f32, Tag::ab);
        const dnnl::matmul::primitive_desc pd(
            {desc(src, rows_tag), desc(weights, Tag::any), bias_desc, desc(dst, rows_tag)},
            engine_);
        weights_desc_ = pd.weights_desc();
        primitive_ = dnnl::matmul(pd);
        break;
      }
    }
    memory plain(desc(weights, weight_tag), engine_, const_cast<float*>(weight.data()));
    // Side by side in the same kind of memory as ours.
    const size_t bytes = (weights_desc_.get_size() + 63) / 64 * 64;
    buffer_ = Buffer(copies(layer) * bytes);
    for (size_t i = 0; i < copies(layer); ++i) {
      memory packed(weights_desc_, engine_, static_cast<char*>(buffer_.data()) + i * bytes);
      dnnl::reorder(plain, packed).execute(stream_, plain, packed);
      packed_.push_back(packed);
    }
    stream_.wait();
    arguments_ = {
        {DNNL_ARG_SRC, memory(desc(src, rows_tag), engine_, a)},
        {DNNL_ARG_BIAS, memory(bias_desc, engine_, const_cast<float*>(bias.data()))},
        {DNNL_ARG_DST, memory(desc(dst, rows_tag), engine_, layer.paired ? wide_.data() : c)}};
  }

  void run() {
    arguments_[DNNL_ARG_WEIGHTS] = packed_[turn_++ % packed_.size()];
    primitive_.execute(stream_, arguments_);
    stream_.wait();
    if (!layer_.paired) return;
    PointwiseArgs gate;
    gate.kind = kSwiGlu;
    gate.a = {wide_.data(), layer_.n};
    gate.b = {wide_.data() + layer_.n / 2, layer_.n};
    gate.out = c_;
    gate.out_stride = layer_.n / 2;
    gate.rows = layer_.rows;
    gate.channels = layer_.n / 2;
    pointwise(gate);
  }

 private:
  Layer layer_;
  std::vector<float> wide_;
  float* c_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::primitive primitive_;
  memory::desc weights_desc_;
  Buffer buffer_;
  std::vector<memory> packed_;
  std::unordered_map<int, memory> arguments_;
  size_t turn_ = 0;
};

void layer(benchmark::State& state) {
  omp_set_num_threads(1);
  const Layer layer = {state.range(0), state.range(1), state.range(2), state.range(3) != 0};
  const float reach = 1.0f / std::sqrt(static_cast<float>(layer.k));
  std::vector<float> a = noise(static_cast<size_t>(layer.rows * layer.k), 1.0f, 1);
  const std::vector<float> weight = noise(static_cast<size_t>(layer.n * layer.k), reach, 2);
  const std::vector<float> bias = noise(static_cast<size_t>(layer.n), 1.0f, 3);
  std::vector<float> c(static_cast<size_t>(layer.rows * layer.columns())), want = c;

  GemmArgs args;
  args.a = a.data();
  args.lda = layer.k;
  args.rows = layer.rows;
  args.ldc = layer.columns();
  if (layer.paired) args.function = Elementwise::kSilu;
  // The copies lie side by side, as the layers of a model do.
  const size_t floats = gemm_packed_floats(layer.n, layer.k, layer.paired);
  Buffer panels(copies(layer) * floats * sizeof(float));
  std::vector<PackedMatrix> packed;
  for (size_t i = 0; i < copies(layer); ++i) {
    packed.push_back(gemm_pack(weight.data(), bias.data(), layer.n, layer.k, layer.paired,
                               panels.floats() + i * floats));
  }
  size_t turn = 0;
  const auto ours = [&] {
    args.weight = packed[turn++ % packed.size()];
    args.c = c.data();
    gemm(args);
  };
  OneDnn convolution(OneDnn::Kind::kConvolution, layer, weight, bias, a.data(), c.data());
  OneDnn inner(OneDnn::Kind::kInnerProduct, layer, weight, bias, a.data(), c.data());
  OneDnn matmul(OneDnn::Kind::kMatmul, layer, weight, bias, a.data(), c.data());
  const std::vector<Contender> contenders = {{"ours", ours},
                                             {"conv1x1", [&] { convolution.run(); }},
                                             {"inner", [&] { inner.run(); }},
                                             {"matmul", [&] { matmul.run(); }}};

  args.weight = packed[0];
  args.c = want.data();
  reference::gemm(weight.data(), bias.data(), args);
  for (const Contender& contender : contenders) {
    std::fill(c.begin(), c.end(), NAN);
    contender.run();
    for (size_t i = 0; i < c.size(); ++i) {
      // Results of order 1 after up to 2048 roundings, which mostly cancel.
      if (!(std::fabs(c[i] - want[i]) <= 2e-5)) {
        return state.SkipWithError((contender.name + " gives a wrong result").c_str());
      }
    }
  }
  time_rounds(state, contenders, 2.0 * static_cast<double>(layer.k * layer.n * layer.rows));
}

void layers(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"k", "n", "rows", "swiglu"});
  constexpr int64_t shapes[][3] = {{192, 384, 0},  {192, 192, 0},  {192, 1024, 1}, {512, 192, 0},
                                   {384, 768, 0},  {384, 2048, 1}, {1024, 384, 0}, {768, 1536, 0},
                                   {768, 4096, 1}, {2048, 768, 0}};
  for (const auto& [k, n, paired] : shapes) {
    for (const int64_t rows : {98, 196}) bench->Args({k, n, rows, paired});
  }
  bench->UseManualTime()->MinTime(0.25)->Unit(benchmark::kMicrosecond);
}

BENCHMARK(layer)->Apply(layers);

}  // namespace
}  // namespace vig::bench
