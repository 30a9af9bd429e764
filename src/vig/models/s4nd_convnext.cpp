// S4ND-ConvNeXt: Modeling Images and Videos as Multidimensional Signals Using State Spaces.
//
// ConvNeXt whose depthwise convolutions are the product of two long ones, along the columns and
// along the rows, each the response of a linear state space (S4):
//   s4nd(x) = across(down(x)) + D x
//   x += gamma * fc2(gelu(fc1(norm(s4nd(x)))));  head(norm(mean(x)))
// Taps reach as far as the grid that the network was made for. The released configuration has such
// layers in the stem and between the stages, too:
//   stem = norm(glu(fc(mean of 4 x 4 (sum over colours of across(down(x)), for each of its
//   channels)))) downsample = glu(fc(mean of 2 x 2 (s4nd(norm(x)))));  glu(a | b) = a * sigmoid(b)
// The one with the paper's number of parameters has ConvNeXt's own convolutions there. Parameter
// names are those of the released code.
#include <algorithm>
#include <array>
#include <cmath>

#include "vig/base/error.h"
#include "vig/graph/init.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"
#include "vig/models/scan_blocks.h"

namespace vig {
namespace {

constexpr Init kInit = truncated_normal_init(0.02f);
constexpr int kStride = 4;  // of the stem
constexpr size_t kMaxStages = 8;
constexpr int kMostTaps = 4096;

enum class Reduction { kConv, kS4nd };
constexpr std::array<std::string_view, 2> kReductionNames = {"conv", "s4nd"};

struct S4ndConvNeXtConfig : ConfigOf<S4ndConvNeXtConfig> {
  int image_width = 0;  // of the images that it was made for; 0: image_size
  std::vector<int> dims = {96, 192, 384, 768};
  std::vector<int> depths = {3, 3, 9, 3};
  int mlp_ratio = 4;
  int d_state = 64;
  int n_ssm = 1;  // state spaces, which channels take in turn
  Reduction stem = Reduction::kConv;
  Reduction downsample = Reduction::kConv;
  int stem_channels = 32;                 // of stem=s4nd
  std::vector<int> stem_taps = {16, 16};  // along columns and rows
  float norm_eps = 1e-6f;
  float gamma = 1e-6f;  // what layer scale begins with

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("image_width", image_width, 0);
    visitor.visit("dims", dims);
    visitor.visit("depths", depths);
    visitor.visit("mlp_ratio", mlp_ratio);
    visitor.visit("d_state", d_state);
    visitor.visit("n_ssm", n_ssm);
    visitor.visit("stem", stem, kReductionNames);
    visitor.visit("downsample", downsample, kReductionNames);
    visitor.visit("stem_channels", stem_channels);
    visitor.visit("stem_taps", stem_taps);
    visitor.visit("norm_eps", norm_eps);
    visitor.visit("gamma", gamma);
  }
  int64_t blocks() const override { return sum_of(depths); }
  void check() const;
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    auto fields = classes_shown_by(shapes, "head.fc.weight");
    const auto shown = [&](const std::string& s4, const std::string& conv, const char* field) {
      if (shapes(s4) != nullptr) fields[field] = "s4nd";
      if (shapes(conv) != nullptr) fields[field] = "conv";
    };
    shown("stem.post_stem.1.weight", "stem.stem.0.weight", "stem");
    shown("stages.1.downsample.fc.weight", "stages.1.downsample.conv.weight", "downsample");
    return fields;
  }
};

// ---- initial values -------------------------------------------------------------------------

// A Fourier basis: frequencies pi k, the largest first, of which the last, 0, is a little more.
void fill_frequencies(const FreshParam& param, float, float) {
  const auto pairs = static_cast<size_t>(param.shape[-1]);
  for (size_t i = 0; i < param.values.size(); ++i) {
    const size_t k = pairs - 1 - i % pairs;
    param.values[i] = k == 0 ? 1e-4f : static_cast<float>(M_PI * static_cast<double>(k));
  }
}

// The vectors of that basis, [1, systems, pairs, 2]: 1, and sqrt(1/2) for the last.
void fill_ones(const FreshParam& param, float, float) {
  const auto pairs = static_cast<size_t>(param.shape[-2]);
  for (size_t i = 0; i < param.values.size(); ++i) {
    const bool last = i / 2 % pairs == pairs - 1;
    param.values[i] = i % 2 == 1 ? 0.0f : last ? std::sqrt(0.5f) : 1.0f;
  }
}

// ---- the network ----------------------------------------------------------------------------

class Stages {
 public:
  Stages(Builder& b, const S4ndConvNeXtConfig& config) : b_(b), config_(config) {}

  Value stem(Value image) {
    const std::string name = "stem.stem";
    Value x;
    if (config_.stem == Reduction::kConv) {
      x = b_.conv(image, name + ".0", config_.dims[0], {.kernel = kStride, .stride = kStride},
                  kInit);
      x = b_.layer_norm(b_.named(x, name + ".0"), name + ".1", config_.norm_eps);
      b_.named(x, name);
    } else {
      x = b_.average_pool(b_.named(every_colour(image, name), name), kStride);
      x = gated(x, "stem.post_stem.1", config_.dims[0]);
      x = b_.layer_norm(x, "stem.post_stem.3", config_.norm_eps);
    }
    return b_.named(x, "stem");
  }

  // In front of stage s, of a grid that was made `made` large.
  Value downsample(Value x, size_t s, GridSize made) {
    const std::string name = fmt::format("stages.{}", s), layer = name + ".downsample";
    x = b_.named(b_.layer_norm(x, name + ".norm_layer", config_.norm_eps), name + ".norm_layer");
    if (config_.downsample == Reduction::kConv) {
      x = b_.conv(x, layer + ".conv", config_.dims[s], {.kernel = 2, .stride = 2}, kInit);
    } else {
      x = b_.average_pool(every_channel(x, layer + ".s4conv", made), 2);
      x = gated(x, layer + ".fc", config_.dims[s]);
    }
    return b_.named(x, layer);
  }

  Value block(Value x, const std::string& name, GridSize made, double rate) {
    b_.next_level();
    Value y = every_channel(x, name + ".conv_dw", made);
    y = b_.named(b_.layer_norm(y, name + ".norm", config_.norm_eps), name + ".norm");
    y = gelu_mlp(b_, y, name + ".mlp", config_.mlp_ratio, kInit);
    y = b_.scale(y, name + ".gamma", config_.gamma);
    return b_.named(b_.residual(x, y, rate), name);
  }

 private:
  Builder::S4Params kernel(const std::string& name, int axis, int channels) const {
    Builder::S4Params params;
    params.kernel = fmt::format("{}.kernel.{}", name, axis);
    params.channels = channels;
    params.states = config_.d_state;
    params.systems = config_.n_ssm;
    params.inv_dt = log_step_init(0.1f, 1.0f);
    params.a_real = constant_init(std::log(1e-4f));
    params.a_imag = {fill_frequencies};
    params.b = params.p = {fill_ones};
    return params;
  }

  // Each channel by itself.
  Value every_channel(Value x, const std::string& name, GridSize made) {
    const int c = b_.grid(x).channels;
    Value y = b_.s4_conv(x, kernel(name, 0, c), {1, made.height, S4Axis::kDown});
    y = b_.s4_conv(y, kernel(name, 1, c), {1, made.width, S4Axis::kAcross});
    const Value skip = b_.scale(x, name + ".D", {1, c}, normal_init(1.0f));
    return b_.named(b_.add(y, skip), name);
  }

  // The sum over the colours of the image, for each channel of the stem.
  Value every_colour(Value image, const std::string& name) {
    const int colours = b_.grid(image).channels, copies = config_.stem_channels;
    Value sum;
    for (int h = 0; h < colours; ++h) {
      Value y = b_.select_channels(image, h, 1);
      y = b_.s4_conv(y, kernel(name, 0, colours), {copies, config_.stem_taps[0], S4Axis::kDown, h});
      y = b_.s4_conv(y, kernel(name, 1, colours),
                     {copies, config_.stem_taps[1], S4Axis::kAcross, h});
      sum = h == 0 ? y : b_.add(sum, y);
    }
    return sum;
  }

  Value gated(Value x, const std::string& name, int channels) {
    const Init init = fan_in_uniform(b_.grid(x).channels);
    const Value wide = b_.named(b_.linear(x, name, 2 * channels, true, init, init), name);
    const Value gate = b_.select_channels(wide, channels, channels);
    return b_.mul(b_.select_channels(wide, 0, channels),
                  b_.activation(gate, Elementwise::kSigmoid));
  }

  Builder& b_;
  const S4ndConvNeXtConfig& config_;
};

void S4ndConvNeXtConfig::check() const {
  if (dims.empty() || dims.size() > kMaxStages || dims.size() != depths.size()) {
    fail_usage(
        "[s4nd_convnext] {} dims and {} depths, expected the same number of stages, at most {}; "
        "give both by --set FIELD=VALUE",
        dims.size(), depths.size(), kMaxStages);
  }
  const int least = kStride << (dims.size() - 1),
            width = image_width > 0 ? image_width : image_size;
  if (image_size < least || width < least || std::max(image_size, width) > kStride * kMostTaps) {
    fail_usage("[s4nd_convnext] image_size {} and image_width {}, expected {} to {}", image_size,
               image_width, least, kStride * kMostTaps);
  }
  if (stem_taps.size() != 2 || std::max(stem_taps[0], stem_taps[1]) > kMostTaps ||
      d_state % 2 != 0) {
    fail_usage(
        "[s4nd_convnext] {} stem_taps and d_state={}, expected 2 of at most {} and an even "
        "number",
        stem_taps.size(), d_state, kMostTaps);
  }
}

Graph S4ndConvNeXtConfig::build(int height, int width) const {
  check();
  Builder b;
  Stages stages(b, *this);
  Value x = stages.stem(b.input("image", {height, width, 3}));
  GridSize made{image_size / kStride, (image_width > 0 ? image_width : image_size) / kStride};
  const int count = static_cast<int>(blocks());
  int number = 0;
  for (size_t s = 0; s < dims.size(); ++s) {
    if (s > 0) {
      x = stages.downsample(x, s, made);
      made = {made.height / 2, made.width / 2};
    }
    for (int i = 0; i < depths[s]; ++i) {
      x = stages.block(x, fmt::format("stages.{}.blocks.{}", s, i), made,
                       drop_rate(drop_path, number++, count));
    }
    b.output(fmt::format("stage{}", s), b.named(x, fmt::format("stages.{}", s)));
  }
  b.next_level();
  b.output("features", x);
  x = b.named(b.layer_norm(b.mean_pool(x), "head.norm", norm_eps), "head.norm");
  b.output("pooled", x);
  b.begin_head();
  b.output("logits", b.linear(x, "head.fc", classes, true, kInit));
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

S4ndConvNeXtConfig tiny(Reduction reduction) {
  S4ndConvNeXtConfig config;
  config.stem = config.downsample = reduction;
  config.drop_path = 0.1f;
  return config;
}

S4ndConvNeXtConfig miniature() {
  S4ndConvNeXtConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.dims = {16, 20, 24};
  config.depths = {1, 1, 1};
  config.d_state = 8;
  config.stem = config.downsample = Reduction::kS4nd;
  config.stem_channels = 6;
  config.stem_taps = {5, 6};
  config.gamma = 0.5f;  // else a fresh block is nearly the identity
  return config;
}

}  // namespace

Family s4nd_convnext_family() {
  const Recipe imagenet;
  return {
      .name = "s4nd_convnext",
      .base = "s4nd_convnext_t",
      .models =
          {
              {"s4nd_convnext_t", tiny(Reduction::kConv), imagenet, "tiny, S4ND in the blocks",
               "30M"},
              {"s4nd_convnext_t_released", tiny(Reduction::kS4nd), imagenet,
               "tiny, S4ND in stem and downsampling, too"},
              {"test_s4nd_convnext", miniature(), imagenet.with_size(64), "miniature for tests"},
          },
      .buffers = {"stem.stem.D"},  // stored and read by nothing
      .argument_fields = {{"stem_type", "stem"},
                          {"downsample_type", "downsample"},
                          {"stem_l_max", "stem_taps"}},
      .fixed_arguments = {{"downsample_glu", ""},
                          {"downsample_act", "false"},
                          {"patch_size", "4"},
                          {"channels", "1"},
                          {"bidirectional", "true"},
                          {"rank", "1"},
                          {"trank", "1"},
                          {"contract_version", "0"},
                          {"linear", "true"}},
      .argument_values = {{"new_s4nd_patch", "s4nd"}, {"patch", "conv"}},
      .inner_activations = {".kernel.0", ".kernel.1"},
      .channels_last_activations = {".norm"}};
}

}  // namespace vig
