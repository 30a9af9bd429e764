#include "runtime/networks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

#include "foreign/mini_resnet.h"
#include "runtime/made_networks.h"
#include "support/files.h"
#include "vig/graph/fuse.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

// Embedding 32 in two blocks: milliseconds even on the reference implementations.
Fields shrunk(Fields more = {}) {
  more.insert({{"classes", "7"},
               {"image_size", "48"},
               {"embed_dim", "32"},
               {"depth", "2"},
               {"heads", "2"}});
  return more;
}

std::vector<NetworkCase> make_cases() {
  const Fields tiny_stages = {
      {"classes", "7"}, {"dims", "16,32,48"}, {"depths", "1,2,1"}, {"heads", "1,2,3"}};
  return {
      {"test_vig", "test_vig", {}, 64, 64},
      {"test_vig_odd", "test_vig", {}, 75, 43},
      {"test_vig_one_token", "test_vig", {}, 7, 7},
      {"test_vig_h", "test_vig_h", {}, 64, 64},
      {"test_vig_h_odd", "test_vig_h", {}, 57, 91},
      // A single token's attention is one sum of 4 to 8 products times v. Where the products
      // cancel, their rounding is all that is left for the head norm to enlarge: 3e-5 without fused
      // multiply-adds, 1e-5 with them.
      {"test_vig_h_one_pixel", "test_vig_h", {}, 1, 1, 1e-4},
      {"vig_t_wide", "vig_t", {{"depth", "1"}, {"classes", "33"}}, 150, 98},
      {"vig_s_plain", "vig_s", shrunk(), 40, 72},
      {"two_pass", "vig_t", shrunk({{"scan", "two_pass"}}), 40, 72},
      {"two_pass_shared", "gla_t_bidirectional", shrunk({{"scan", "two_pass"}}), 33, 48},
      {"vig_t_activations", "vig_t", shrunk(), 48, 33},
      {"layer_scale", "vig_t", shrunk({{"layer_scale", "true"}}), 48, 48},
      {"patch_4", "vig_t", shrunk({{"patch_size", "4"}, {"image_size", "20"}}), 21, 19},
      {"ugly_widths", "vig_s", shrunk({{"embed_dim", "30"}, {"heads", "3"}}), 39, 55},
      {"wide_keys", "vig_s", shrunk({{"expand_k", "1.5"}}), 33, 48},
      // Pooling shares out 64 channels at a time: one part and a rest, two parts and a rest.
      {"pooled_rest", "vig_s", shrunk({{"embed_dim", "84"}, {"depth", "1"}}), 32, 48},
      {"pooled_rest_of_three", "gla_t", shrunk({{"embed_dim", "132"}, {"depth", "1"}}), 48, 32},
      // As many cells as the position table has, in another shape.
      {"same_cells_wide", "vig_t", shrunk(), 16, 144},
      {"same_cells_high", "gla_t_position", shrunk(), 144, 16},
      {"wide_values", "gla_t_gated", shrunk({{"expand_v", "2"}}), 48, 32},
      {"gla_t", "gla_t", shrunk(), 48, 64},
      {"gla_t_stem", "gla_t_stem", shrunk(), 33, 47},
      {"gla_t_bidirectional", "gla_t_bidirectional", shrunk(), 48, 48},
      {"gla_t_position", "gla_t_position", shrunk(), 64, 35},
      {"gla_t_gated", "gla_t_gated", shrunk(), 48, 48},
      {"gla_t_locality", "gla_t_locality", shrunk(), 31, 80},
      {"gla_t_vim", "gla_t_vim", shrunk(), 48, 41},
      {"vig_h_three_stages", "vig_h_t", tiny_stages, 35, 50},
      {"vig_h_one_stage",
       "vig_h_t",
       {{"classes", "5"}, {"dims", "24"}, {"depths", "2"}, {"heads", "3"}},
       20,
       21},
      {"test_deit", "test_deit", {}, 64, 64},
      {"test_deit_odd", "test_deit", {}, 75, 43},
      {"test_deit_one_patch", "test_deit", {}, 16, 16},
      {"test_deit_eager", "test_deit", {{"attention", "eager"}}, 50, 97},
      {"test_deit_materialised", "test_deit", {{"attention", "materialised"}}, 50, 97},
      // More queries and keys than one block of either.
      {"deit_many_tokens",
       "test_deit",
       {{"patch_size", "4"}, {"depth", "1"}, {"heads", "2"}, {"image_width", "48"}},
       72,
       64},
      {"test_swin", "test_swin", {}, 64, 64},
      // Padded windows, shifted along one axis; odd grids before the merge.
      {"test_swin_odd", "test_swin", {}, 75, 43},
      {"test_swin_small", "test_swin", {}, 9, 52},
      {"swin_three_stages",
       "swin_t",
       {{"classes", "7"},
        {"image_size", "56"},
        {"embed_dim", "12"},
        {"depths", "2,1,2"},
        {"heads", "3,2,4"}},
       56,
       88},
      {"test_gmlp", "test_gmlp", {}, 64, 64},
      {"gmlp_oblong",
       "test_gmlp",
       {{"image_size", "40"}, {"image_width", "88"}, {"patch_size", "8"}, {"embed_dim", "26"}},
       40,
       88},
      {"convolutions", "", {}, 75, 58, 1e-5, make_convolutions},
      {"test_resnet", "test_resnet", {}, 57, 90},
      {"test_convnext", "test_convnext", {}, 71, 100},
      // At 57 x 90 rounding moves the input of one ReLU across zero, which shows in its gradient.
      {"test_regnet", "test_regnet", {}, 59, 92},
      {"test_efficientnet", "test_efficientnet", {}, 41, 70},
      {"front_token", "", {}, 40, 25, 1e-5, make_front_token},
      {"middle_token", "", {}, 33, 50, 1e-5, make_middle_token},
      {"end_tokens", "", {}, 24, 32, 1e-5, make_end_tokens},
      {"two_inputs", "", {}, 22, 18, 1e-5, make_two_inputs},
      {"maps", "", {}, 45, 62, 1e-5, make_maps},
      {"maps_small", "", {}, 8, 13, 1e-5, make_maps},
      {"grid_layer", "", {}, 37, 35, 1e-5, make_grid_layer},
      {"mini_resnet", "", {}, 57, 90, 1e-5, make_mini_resnet},
      {"scans", "", {}, 33, 50, 1e-5, make_scans},
      {"deformable", "", {}, 51, 76, 1e-5, make_deformable},
      {"test_vim", "test_vim", {}, 64, 64},
      {"test_vim_odd",
       "test_vim",
       {{"embed_dim", "23"}, {"d_state", "5"}, {"stride", "8"}},
       51,
       76},
      {"test_vim_one_token", "test_vim", {{"patch_size", "8"}, {"stride", "8"}}, 8, 9},
      {"test_vrwkv", "test_vrwkv", {}, 64, 64},
      {"test_vrwkv_odd",
       "test_vrwkv",
       {{"embed_dim", "22"}, {"post_norm", "true"}, {"layer_scale", "true"}},
       45,
       83},
      {"test_vrwkv_formula",
       "test_vrwkv",
       {{"released_kernel", "false"}, {"patch_size", "4"}},
       30,
       33},
      {"test_plainmamba", "test_plainmamba", {}, 64, 64},
      {"test_plainmamba_odd",
       "test_plainmamba",
       {{"embed_dim", "22"}, {"d_state", "3"}, {"patch_size", "8"}, {"stem_convs", "2"}},
       45,
       66},
      {"test_efficientvmamba", "test_efficientvmamba", {}, 64, 64},
      {"test_efficientvmamba_odd",
       "test_efficientvmamba",
       {{"dims", "10,21,36"}, {"depths", "1,2,1"}},
       52,
       76},
      {"test_localvmamba", "test_localvmamba", {}, 64, 64},
      {"test_localvmamba_odd",
       "test_localvmamba",
       {{"dims", "12,18"}, {"released_inverse", "true"}},
       38,
       51},
      {"test_localvim", "test_localvim", {}, 64, 64},
      // Padded images and windows, resized tables.
      {"test_localvim_odd",
       "test_localvim",
       {{"patch_size", "8"},
        {"embed_dim", "20"},
        {"d_state", "3"},
        {"directions", "v,w2_flip,w7,v_flip,h_flip,v,w7_flip,h"},
        {"released_inverse", "true"}},
       37,
       52},
      {"test_localvim_token",
       "test_localvim",
       {{"image_size", "40"},
        {"patch_size", "8"},
        {"embed_dim", "18"},
        {"rotary", "false"},
        {"class_token", "true"}},
       40,
       40},
      {"test_s4nd", "test_s4nd", {}, 64, 64},
      // Fewer and more tokens than taps.
      {"test_s4nd_odd",
       "test_s4nd",
       {{"embed_dim", "21"}, {"d_state", "6"}, {"n_ssm", "2"}, {"copies", "3"}, {"depth", "2"}},
       37,
       50},
      {"test_s4nd_far", "test_s4nd", {{"patch_size", "8"}, {"l_max", "11"}}, 44, 61},
      {"test_s4nd_convnext", "test_s4nd_convnext", {}, 64, 64},
      // Longer and shorter than made for; windows that are left out.
      {"test_s4nd_convnext_odd",
       "test_s4nd_convnext",
       {{"dims", "10,17"}, {"depths", "1,2"}, {"image_width", "40"}, {"n_ssm", "2"}},
       51,
       78},
      {"test_s4nd_convnext_conv",
       "test_s4nd_convnext",
       {{"stem", "conv"}, {"downsample", "conv"}, {"image_size", "32"}},
       45,
       66},
      {"test_vmamba", "test_vmamba", {}, 64, 64},
      {"test_vmamba_odd",
       "test_vmamba",
       {{"dims", "10,21,36"}, {"depths", "1,2,1"}, {"d_state", "3"}, {"ssm_ratio", "1.5"}},
       37,
       58},
      {"test_vig_upernet", "test_vig_upernet", {}, 64, 32},
      {"test_vig_maskrcnn", "test_vig_maskrcnn", {{"interactions", "2"}}, 32, 96},
      {"test_vit_upernet", "test_vit_upernet", {}, 64, 32},
      // Padded windows, a window larger than the grid, uneven interactions, a block in none.
      {"test_vit_maskrcnn",
       "test_vit_maskrcnn",
       {{"depth", "5"}, {"windows", "3,0,2,5,0"}, {"interactions", "0,1,3,4"}},
       32,
       96},
      {"test_vrwkv_upernet", "test_vrwkv_upernet", {}, 64, 32},
      {"test_vrwkv_maskrcnn", "test_vrwkv_maskrcnn", {{"released_kernel", "false"}}, 32, 96},
      {"test_vim_upernet", "test_vim_upernet", {}, 64, 48},
      {"test_vim_rotary_upernet",
       "test_vim_rotary_upernet",
       {{"depth", "5"}, {"feature_layers", "0,2,3,4"}},
       48,
       64},
      {"test_vig_h_upernet", "test_vig_h_upernet", {}, 41, 50},
      // At 37 x 70 the products of a head's 4 keys cancel in a token, and its norm enlarges what
      // rounding leaves: 1.7e-5.
      {"test_vig_h_maskrcnn", "test_vig_h_maskrcnn", {}, 45, 66},
  };
}

float uniform(std::mt19937_64& random) {  // in (-1, 1), the same everywhere
  return static_cast<float>(static_cast<double>(random() >> 11) / 4503599627370496.0 - 1.0);
}

}  // namespace

Graph NetworkCase::graph() const {
  if (make != nullptr) return make(height, width);
  ModelSpec spec = find_model(model);
  override_fields(spec, fields);
  return build_graph(spec, height, width);
}

std::ostream& operator<<(std::ostream& out, const NetworkCase& network) {
  return out << network.name;
}

const std::vector<NetworkCase>& network_cases() {
  static const std::vector<NetworkCase> cases = make_cases();
  return cases;
}

const NetworkCase& network_case(const std::string& name) {
  for (const NetworkCase& network : network_cases()) {
    if (network.name == name) return network;
  }
  throw std::runtime_error("no network case " + name);
}

std::shared_ptr<const Weights> lively_weights(const Graph& graph, uint64_t seed, int changed) {
  std::vector<Values> numbers;
  std::vector<NamedTensor> tensors;
  for (const ParamSpec& spec : graph.params) {
    std::seed_seq words(spec.name.begin(), spec.name.end());
    uint32_t start[2];
    words.generate(start, start + 2);
    const bool is_changed = static_cast<int>(tensors.size()) == changed;
    std::mt19937_64 random(seed + (is_changed ? 1000 : 0) + (uint64_t{start[0]} << 32) + start[1]);
    const bool around_one = spec.init.rule == fill_constant;
    const bool table = spec.name.ends_with("pos_embed") || spec.name.ends_with("token");
    const bool matrix = spec.shape.rank() >= 2 && !table;
    const int64_t fan_in = matrix ? spec.shape.elements() / spec.shape[0] : 1;
    const float size = matrix ? std::sqrt(3.0f / static_cast<float>(fan_in)) : 0.5f;
    Values values(static_cast<size_t>(spec.shape.elements()));
    for (float& value : values) value = (around_one ? 1.0f : 0.0f) + size * uniform(random);
    // The one whole number among parameters says in which form others are stored.
    if (spec.name.ends_with("l_kernel")) values[0] = start[0] % 2 == 0 ? 0.0f : 16.0f;
    numbers.push_back(std::move(values));
    tensors.push_back({spec.name, {numbers.back().data(), DType::kF32, spec.shape}});
  }
  const TempDir folder;  // the mapping outlives the file's name
  const std::string file = (folder / "weights.safetensors").string();
  write_safetensors(file, tensors);
  return load_weights(graph.params, std::make_shared<Checkpoint>(Checkpoint::open(file)));
}

namespace {

Values random_values(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Values values(static_cast<size_t>(count));
  for (float& value : values) value = 2.0f * uniform(random);
  return values;
}

}  // namespace

Values image(int height, int width, uint64_t seed) {
  return random_values(int64_t{3} * height * width, seed);
}

Network::Network(const NetworkCase& description, uint64_t seed, const Precision& precision)
    : graph(description.graph()),
      weights(lively_weights(graph, seed)),
      packed(PackedModel::make(graph, weights, precision)) {}

Session Network::session(const SessionOptions& options) const {
  return Session(packed, graph, options);
}

Values Network::image(uint64_t seed) const {
  int64_t count = 0;
  for (const Output& input : graph.inputs) count += graph.node(input.node).grid.elements();
  return random_values(count, seed);
}

bool can_be_kept(const Graph& graph, int node) {
  for (const FusedNode& unit : fuse(graph)) {
    if (unit.node == node && (unit.swiglu || unit.norm >= 0)) return false;
  }
  return true;
}

void set_input(Session& session, int image, const Values& values) {
  auto next = values.begin();
  for (const Output& input : session.graph().inputs) {
    const int64_t count = session.graph().node(input.node).grid.elements();
    std::copy_n(next, count, session.input(input.name, image));
    next += count;
  }
}

Values read_inputs(const Session& session, int image) {
  Values all;
  for (const Output& input : session.graph().inputs) {
    const Values values = read_value(session, input.node, image);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

Values read_value(const Session& session, int node, int image) {
  const float* values = session.value(node, image);
  return Values(values, values + session.graph().node(node).grid.elements());
}

Values read_outputs(const Session& session, int image) {
  Values all;
  for (const Output& output : session.graph().outputs) {
    const float* values = session.output(output.name, image);
    all.insert(all.end(), values, values + session.graph().node(output.node).grid.elements());
  }
  return all;
}

Values run_alone(Session& session, const Values& pixels) {
  set_input(session, 0, pixels);
  session.run(1);
  return read_outputs(session, 0);
}

void expect_same_bits(const Values& actual, const Values& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  if (std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)) == 0) return;
  size_t different = 0, first = actual.size();
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::memcmp(&actual[i], &expected[i], sizeof(float)) == 0) continue;
    first = std::min(first, i);
    ++different;
  }
  ADD_FAILURE() << what << ": " << different << " of " << actual.size()
                << " numbers differ, first number " << first << ": " << actual[first]
                << ", expected " << expected[first];
}

}  // namespace vig::test
