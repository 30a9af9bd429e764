// What training reads of a network besides its shapes: levels of layer decay, parts that begin
// afresh for other classes, rates of stochastic depth, and the values that fresh weights have by a
// formula. And the hyperparameters of published networks that no tensor shows.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "vig/base/random.h"
#include "vig/graph/init.h"
#include "vig/models/family.h"

namespace vig::test {
namespace {

using Fields = std::map<std::string, std::string>;

Graph build(const ModelSpec& spec) {
  const GridSize size = described_size(spec);
  return build_graph(spec, size.height, size.width);
}

Graph build(const std::string& model, const Fields& fields) {
  ModelSpec spec = find_model(model);
  override_fields(spec, fields);
  return build(spec);
}

// The miniature of every family of classifiers, with two blocks or more.
std::vector<ModelSpec> miniatures() {
  std::vector<ModelSpec> all;
  for (const ModelSpec& spec : model_zoo()) {
    if (!spec.name.starts_with("test_") || spec.config->task() != ModelTask::kClassify) continue;
    all.push_back(spec);
    if (spec.family == "s4nd") override_field(all.back(), "depth", "2");
  }
  return all;
}

TEST(TrainingMarks, EveryBlockIsALevel) {
  for (const ModelSpec& spec : miniatures()) {
    std::set<int> levels;
    int last = 0;
    for (const ParamSpec& param : build(spec).params) {
      EXPECT_GE(param.level, last) << spec.name << ", " << param.name;
      levels.insert(last = param.level);
      if (param.head) {
        EXPECT_EQ(param.level, spec.config->blocks() + 1) << spec.name << ", " << param.name;
      }
    }
    // The stem at 0, the last norm and the head above all blocks.
    EXPECT_EQ(*levels.begin(), 0) << spec.name;
    EXPECT_EQ(last, spec.config->blocks() + 1) << spec.name;
    EXPECT_EQ(static_cast<int64_t>(levels.size()), spec.config->blocks() + 2) << spec.name;
  }
}

TEST(TrainingMarks, HeadsAreWhatDependsOnTheClasses) {
  for (const ModelSpec& spec : miniatures()) {
    ModelSpec other = spec;
    override_field(other, "classes", "9");
    const Graph graph = build(spec), changed = build(other);
    size_t heads = 0;
    for (size_t i = 0; i < graph.params.size(); ++i) {
      EXPECT_EQ(graph.params[i].head, graph.params[i].shape != changed.params[i].shape)
          << spec.name << ", " << graph.params[i].name;
      heads += graph.params[i].head;
    }
    EXPECT_EQ(heads, 2u) << spec.name;
  }
}

// How often each rate of a branch that training may drop occurs.
std::map<int, int> drop_rates(const Graph& graph) {
  std::map<int, int> rates;  // in millionths
  for (const Node& node : graph.nodes) {
    const auto* sum = std::get_if<AddOp>(&node.op);
    if (sum == nullptr) continue;
    EXPECT_TRUE(sum->residual || sum->drop_rate == 0);
    if (sum->residual) ++rates[static_cast<int>(std::lround(1e6 * sum->drop_rate))];
  }
  return rates;
}

TEST(TrainingMarks, RatesRiseFromNoneToThatOfTheLastBlock) {
  // Branches of a block. EfficientNet's rule is another, see convolutional_test.cpp.
  const std::map<std::string_view, int> two = {
      {"vig", 2}, {"vig_h", 2}, {"deit", 2}, {"swin", 2}, {"vrwkv", 2}, {"vmamba", 2}, {"s4nd", 2}};
  for (ModelSpec spec : miniatures()) {
    if (spec.family == "efficientnet") continue;
    override_field(spec, "drop_path", "0.5");
    const int branches = two.contains(spec.family) ? 2 : 1;
    // A block of S4ND is a pair of those that it counts.
    const int64_t blocks = spec.config->blocks() / (spec.family == "s4nd" ? 2 : 1);
    ASSERT_GE(blocks, 2) << spec.name;
    std::map<int, int> expected;
    for (int64_t i = 0; i < blocks; ++i) {
      const double rate = 0.5 * static_cast<double>(i) / static_cast<double>(blocks - 1);
      expected[static_cast<int>(std::lround(1e6 * rate))] = branches;
    }
    EXPECT_EQ(drop_rates(build(spec)), expected) << spec.name;
  }
}

TEST(TrainingMarks, RatesOfBackbones) {
  // Four blocks of two branches; six extractors, whose FFN alone has the rate of the last block;
  // four injectors.
  EXPECT_EQ(drop_rates(build("test_vig_maskrcnn", {{"drop_path", "0.6"}})),
            (std::map<int, int>{{0, 2 + 6 + 4}, {200000, 2}, {400000, 2}, {600000, 2 + 6}}));
  EXPECT_EQ(drop_rates(build("test_vit_maskrcnn", {{"drop_path", "0.6"}})),
            (std::map<int, int>{{0, 2 + 6 + 4}, {200000, 2}, {400000, 2}, {600000, 2 + 6}}));
  // The last layer's branch is a map, and no sum.
  EXPECT_EQ(drop_rates(build("test_vim_upernet", {{"drop_path", "0.6"}})),
            (std::map<int, int>{{0, 1}, {200000, 1}, {400000, 1}}));
  EXPECT_EQ(drop_rates(build("test_vim_rotary_upernet", {{"drop_path", "0.6"}})),
            (std::map<int, int>{{0, 1}, {200000, 1}, {400000, 1}, {600000, 1}}));
  EXPECT_EQ(drop_rates(build("test_vig_h_upernet", {{"drop_path", "0.6"}})),
            (std::map<int, int>{{0, 2}, {200000, 2}, {400000, 2}, {600000, 2}}));
  EXPECT_EQ(drop_rates(build("swin_t_upernet",
                             {{"drop_path", "0.6"}, {"depths", "1,1,1,1"}, {"image_size", "64"}})),
            (std::map<int, int>{{0, 2}, {200000, 2}, {400000, 2}, {600000, 2}}));
}

// Whole channels before the classes, in the head and in the one that training adds.
TEST(TrainingMarks, DropoutOfSegmentersCanBeSwitchedOff) {
  const auto rates = [](const char* rate) {
    ModelSpec spec = find_model("test_vig_h_upernet");
    override_field(spec, "head_dropout", rate);
    std::vector<float> found;
    for (const Graph& graph : build_graphs(spec, 64, 64)) {
      for (const Node& node : graph.nodes) {
        if (const auto* op = std::get_if<DropChannelsOp>(&node.op)) found.push_back(op->rate);
      }
    }
    return found;
  };
  EXPECT_EQ(rates("0.25"), (std::vector<float>{0.25f, 0.25f}));
  EXPECT_EQ(rates("0"), std::vector<float>{});
}

// Shapes, counts and golden cases of miniatures say nothing about these.
TEST(TrainingMarks, HyperparametersThatNoTensorShows) {
  const std::pair<const char*, Fields> published[] = {
      {"vig_t", {{"drop_path", "0"}, {"silu_after_dwconv", "true"}, {"mixing", "gated"}}},
      {"vig_s", {{"drop_path", "0.2"}, {"silu_before_o_proj", "false"}}},
      {"vig_b", {{"drop_path", "0.5"}, {"silu_after_dwconv", "false"}}},
      {"vig_h_t", {{"drop_path", "0.2"}}},
      {"vig_h_s", {{"drop_path", "0.3"}}},
      {"vig_h_b", {{"drop_path", "0.6"}}},
      {"deit_t", {{"drop_path", "0.1"}, {"heads", "3"}, {"attention", "tiled"}}},
      {"deit_s", {{"drop_path", "0.1"}, {"heads", "6"}}},
      {"deit_b", {{"drop_path", "0.1"}, {"heads", "12"}}},
      {"swin_t", {{"drop_path", "0.2"}, {"ln_eps", "1e-05"}}},
      {"swin_s", {{"drop_path", "0.3"}}},
      {"swin_b", {{"drop_path", "0.5"}}},
      {"convnext_t", {{"drop_path", "0.1"}, {"ln_eps", "1e-06"}, {"gamma", "1e-06"}}},
      {"convnext_s", {{"drop_path", "0.4"}}},
      {"convnext_b", {{"drop_path", "0.5"}}},
      {"resnet50", {{"drop_path", "0"}, {"bn_eps", "1e-05"}}},
      {"regnety_4g", {{"drop_path", "0"}, {"bn_eps", "1e-05"}}},
      {"efficientnet_b3", {{"drop_path", "0.2"}, {"bn_eps", "1e-05"}, {"padding", "symmetric"}}},
      {"efficientnet_b4", {{"bn_eps", "1e-05"}}},
      {"efficientnet_b5", {{"bn_eps", "0.001"}}},
      {"efficientnet_b7", {{"drop_path", "0.2"}, {"bn_eps", "0.001"}, {"padding", "symmetric"}}},
      {"gmlp_t", {{"drop_path", "0"}}},
      {"vim_t", {{"norm_eps", "1e-05"}, {"stride", "16"}}},
      {"vrwkv_t", {{"drop_path", "0"}, {"ln_eps", "1e-05"}, {"released_kernel", "true"}}},
      {"vrwkv_s", {{"drop_path", "0.3"}, {"post_norm", "true"}, {"gamma", "1"}}},
      {"vrwkv_b", {{"drop_path", "0.5"}, {"post_norm", "true"}, {"gamma", "1e-05"}}},
      {"vmamba_t", {{"drop_path", "0.2"}, {"ln_eps", "1e-05"}}},
      {"vmamba_s", {{"drop_path", "0.3"}}},
      {"vmamba_b", {{"drop_path", "0.6"}}},
      {"plainmamba_l1",
       {{"drop_path", "0.2"}, {"ln_eps", "1e-05"}, {"final_eps", "1e-06"}, {"bn_eps", "1e-05"}}},
      {"plainmamba_l3", {{"drop_path", "0.4"}}},
      {"efficientvmamba_b", {{"drop_path", "0.2"}, {"ln_eps", "1e-05"}, {"bn_eps", "1e-05"}}},
      {"localvmamba_t", {{"drop_path", "0.2"}, {"ln_eps", "1e-05"}, {"released_inverse", "false"}}},
      {"localvim_t",
       {{"drop_path", "0.1"},
        {"norm_eps", "1e-05"},
        {"gate_eps", "1e-05"},
        {"released_inverse", "false"}}},
      {"localvim_s", {{"drop_path", "0.1"}}},
      {"s4nd_b", {{"drop_path", "0.1"}, {"l_max", "196"}, {"norm_eps", "1e-05"}}},
      {"vig_t_upernet", {{"drop_path", "0.1"}, {"head_dropout", "0.1"}, {"deform_points", "4"}}},
      {"vig_s_upernet", {{"drop_path", "0.2"}}},
      {"vig_b_maskrcnn", {{"drop_path", "0.3"}, {"anchor_scale", "8"}, {"finest_scale", "56"}}},
      {"vig_h_b_maskrcnn", {{"drop_path", "0.6"}, {"min_score", "0.05"}, {"detections", "100"}}},
      {"swin_t_upernet", {{"drop_path", "0.2"}, {"ln_eps", "1e-05"}}},
      {"vit_t_maskrcnn", {{"drop_path", "0.1"}, {"windows", "0"}, {"heads", "3"}}},
      {"vit_b_window_maskrcnn",
       {{"windows", "14,14,0,14,14,0,14,14,0,14,14,0"},
        {"interactions", "0,2,3,5,6,8,9,11"},
        {"deform_heads", "12"}}},
      {"vrwkv_t_upernet", {{"post_norm", "false"}, {"layer_scale", "true"}, {"gamma", "1"}}},
      {"vrwkv_s_maskrcnn", {{"post_norm", "true"}, {"gamma", "1e-05"}, {"drop_path", "0.2"}}},
      {"vim_t_upernet",
       {{"halved", "true"}, {"stream_features", "false"}, {"feature_layers", "5,11,17,23"}}},
      {"vim_s_upernet", {{"halved", "false"}, {"stream_features", "true"}, {"rotary", "true"}}},
      {"s4nd_convnext_t", {{"drop_path", "0.1"}, {"norm_eps", "1e-06"}, {"gamma", "1e-06"}}},
  };
  for (const auto& [model, expected] : published) {
    const Fields fields = model_fields(find_model(model));
    for (const auto& [field, value] : expected) {
      EXPECT_EQ(fields.at(field), value) << model << ", " << field;
    }
  }
  const Recipe gmlp = find_model("gmlp_b").recipe;
  EXPECT_EQ(gmlp.mean, (std::array{0.5f, 0.5f, 0.5f}));
  EXPECT_EQ(gmlp.std, (std::array{0.5f, 0.5f, 0.5f}));
  EXPECT_EQ(find_model("s4nd_b").recipe.resize, 248);
  EXPECT_EQ(find_model("s4nd_b").recipe.crop, 224);
}

std::vector<float> fresh(const Graph& graph, const std::string& name) {
  for (const ParamSpec& param : graph.params) {
    if (param.name != name) continue;
    std::vector<float> values(static_cast<size_t>(param.shape.elements()));
    param.init.fill({values, param.shape, RandomStream(3)});
    return values;
  }
  ADD_FAILURE() << "no parameter " << name;
  return {};
}

void expect_near(const std::vector<float>& values, const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-5) << i;
}

// By channel, and by how deep a block lies.
TEST(FreshValues, OfVisionRwkv) {
  const Graph graph = build("test_vrwkv", {{"embed_dim", "4"}, {"depth", "2"}});
  const std::string first = "backbone.layers.0.", last = "backbone.layers.1.";
  expect_near(fresh(graph, first + "att.spatial_mix_k"), {0, 0.25, 0.5, 0.75});
  expect_near(fresh(graph, first + "att.spatial_mix_v"), {0, 0.25, 0.5, 0.75});
  expect_near(fresh(graph, first + "att.spatial_mix_r"), {0, 0.5, 0.707107, 0.866025});
  expect_near(fresh(graph, last + "att.spatial_mix_k"), {0, 0.5, 0.707107, 0.866025});
  expect_near(fresh(graph, last + "att.spatial_mix_v"), {0.3, 0.8, 1.007107, 1.166025});
  expect_near(fresh(graph, last + "att.spatial_mix_r"), {0, 0.707107, 0.840896, 0.930605});
  expect_near(fresh(graph, last + "ffn.spatial_mix_k"), {0, 0.5, 0.707107, 0.866025});
  expect_near(fresh(graph, last + "ffn.spatial_mix_r"), {0, 0.5, 0.707107, 0.866025});
  expect_near(fresh(graph, last + "att.spatial_decay"), {-5, -5 + 8 / 9.0, -5 + 32 / 9.0, 3});
  expect_near(fresh(graph, first + "att.spatial_decay"),
              {-5, -5 + 8 * std::pow(1 / 3.0, 0.7), -5 + 8 * std::pow(2 / 3.0, 0.7), 3});
  const double middle = std::log(0.3);
  expect_near(fresh(graph, first + "att.spatial_first"),
              {middle, middle + 0.5, middle - 0.5, middle});
}

// Within `bound`, and not far within.
void expect_bound(const Graph& graph, const std::string& name, double bound) {
  float largest = 0;
  for (const float value : fresh(graph, name)) largest = std::max(largest, std::abs(value));
  EXPECT_LE(largest, bound + 1e-6) << name;
  EXPECT_GE(largest, 0.9 * bound) << name;
}

TEST(FreshValues, OfStateSpaces) {
  const Graph graph = build("test_vim", {{"d_state", "3"}, {"embed_dim", "32"}, {"depth", "2"}});
  const std::string mixer = "layers.1.mixer.";
  const std::vector<float> rates = fresh(graph, mixer + "A_b_log");
  ASSERT_EQ(rates.size(), 64u * 3);
  expect_near({rates.begin() + 3, rates.begin() + 6}, {0, std::log(2.0), std::log(3.0)});
  EXPECT_EQ(fresh(graph, mixer + "D"), std::vector<float>(64, 1.0f));
  // Of the raw step sizes: softplus of the bias lies between 0.001 and 0.1, on a logarithmic scale.
  // As released, the backward direction begins with none.
  double logarithms = 0;
  for (const float bias : fresh(graph, mixer + "dt_proj.bias")) {
    const double step = std::log1p(std::exp(bias));
    EXPECT_GE(step, 0.00099);
    EXPECT_LE(step, 0.101);
    logarithms += std::log10(step) / 64;
  }
  EXPECT_NEAR(logarithms, -2, 0.25);
  EXPECT_EQ(fresh(graph, mixer + "dt_proj_b.bias"), std::vector<float>(64, 0.0f));
  expect_bound(graph, mixer + "dt_proj.weight", 1 / std::sqrt(2.0));        // rank 32 / 16
  expect_bound(graph, mixer + "out_proj.weight", 1 / std::sqrt(64.0 * 2));  // inner width, depth
  expect_bound(graph, mixer + "conv1d_b.weight", 1 / std::sqrt(4.0));       // its own width
  expect_bound(build("test_localvim", {}), mixer + "out_proj.weight", 1 / std::sqrt(64.0 * 2));
}

// Frequencies pi k, the largest first, and vectors of length 1.
TEST(FreshValues, OfFourierStateSpaces) {
  const Graph graph = build("test_s4nd_convnext", {{"d_state", "8"}});
  const std::string kernel = "stages.0.blocks.0.conv_dw.kernel.1.";
  expect_near(fresh(graph, kernel + "A_imag"), {3 * M_PI, 2 * M_PI, M_PI, 1e-4});
  expect_near(fresh(graph, kernel + "A_real"), std::vector<double>(4, std::log(1e-4)));
  for (const char* vector : {"B", "P"}) {
    expect_near(fresh(graph, kernel + vector), {1, 0, 1, 0, 1, 0, std::sqrt(0.5), 0});
  }
  for (const float step : fresh(graph, kernel + "inv_dt")) {
    EXPECT_GE(step, std::log(0.1) - 1e-6);
    EXPECT_LE(step, 1e-6);
  }
}

// Four heads sample right, down, left and up; point p by p + 1 pixels, in each of three levels.
TEST(FreshValues, OfDeformableAttention) {
  const Graph graph = build("test_vig_maskrcnn", {});
  const std::vector<float> offsets =
      fresh(graph, "backbone.interactions.0.injector.attn.sampling_offsets.bias");
  ASSERT_EQ(offsets.size(), 4u * 3 * 4 * 2);
  const double directions[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  for (size_t i = 0; i < offsets.size(); ++i) {
    const size_t head = i / 24, point = i / 2 % 4;
    EXPECT_NEAR(offsets[i], directions[head][i % 2] * static_cast<double>(point + 1), 1e-5) << i;
  }
}

}  // namespace
}  // namespace vig::test
