// Networks of segmentation and detection: names, parameters, maps and what each refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/errors.h"
#include "support/files.h"
#include "support/tree.h"
#include "vig/base/random.h"
#include "vig/graph/init.h"
#include "vig/models/adapter.h"
#include "vig/models/family.h"

namespace vig::test {
namespace {

using nlohmann::json;
using Shapes = std::map<std::string, std::vector<int64_t>>;

const json& manifest() {
  static const json all =
      json::parse(read_file(std::filesystem::path(kFixtures) / "golden/dense/manifest.json"));
  return all;
}

std::vector<ModelSpec> dense_models() {
  std::vector<ModelSpec> dense;
  for (const ModelSpec& spec : model_zoo()) {
    if (spec.config->task() != ModelTask::kClassify) dense.push_back(spec);
  }
  return dense;
}

Graph graph_of(const std::string& model, int height = 64, int width = 96) {
  return build_graph(find_model(model), height, width);
}

Grid output_grid(const Graph& graph, const std::string& name) {
  const int node = graph.find_output(name);
  EXPECT_GE(node, 0) << name;
  return node < 0 ? Grid{} : graph.node(node).grid;
}

// The manifest lists the first block alone and the heads of Mask R-CNN once.
Shapes expected_shapes(const std::string& variant, bool detector) {
  Shapes expected;
  const auto add = [&](const std::string& name, const json& shape) {
    expected[name] = shape.get<std::vector<int64_t>>();
  };
  const std::string first = "backbone.blocks.0.";
  for (const auto& [name, shape] : manifest().at(variant).at("tensors").items()) {
    const bool of_segmentation =
        name.starts_with("decode_head.") || name.starts_with("auxiliary_head.");
    if (of_segmentation ? detector : name.starts_with("neck.") && !detector) continue;
    add(name, shape);
    for (int block = 1; name.starts_with(first) && block < 12; ++block) {
      add("backbone.blocks." + std::to_string(block) + "." + name.substr(first.size()), shape);
    }
  }
  if (!detector) return expected;
  for (const auto& [name, shape] : manifest().at("mask_rcnn_heads").at("tensors").items()) {
    add(name, shape);
  }
  return expected;
}

TEST(Dense, EveryTensorOfTheManifest) {
  for (const std::string variant : {"vig_t", "vig_s", "vig_b"}) {
    for (const bool detector : {false, true}) {
      const std::string model = variant + (detector ? "_maskrcnn" : "_upernet");
      Shapes actual;
      for (const ParamSpec& param : graph_of(model).params) {
        EXPECT_TRUE(actual.emplace(param.name, param.shape.sizes()).second) << param.name;
      }
      const Shapes expected = expected_shapes(variant, detector);
      for (const auto& [name, shape] : expected) {
        ASSERT_TRUE(actual.contains(name)) << model << " lacks " << name;
        EXPECT_EQ(actual[name], shape) << model << ", " << name;
      }
      for (const auto& [name, shape] : actual) {
        EXPECT_TRUE(expected.contains(name)) << model << " has no published " << name;
      }
    }
  }
}

// The manifest lists all tensors of the backbones.
TEST(Dense, EveryTensorOfTheBaselines) {
  const json all = json::parse(
      read_file(std::filesystem::path(kFixtures) / "golden/dense/manifest-baselines.json"));
  for (const auto& [variant, entry] : all.items()) {
    for (const std::string head : {"_upernet", "_maskrcnn"}) {
      if (variant.starts_with("vim") && head == "_maskrcnn") continue;
      Shapes actual, expected;
      int64_t count = 0;
      const ModelSpec spec = find_model(variant + head);
      for (const ParamSpec& param : build_graph(spec, 64, 64).params) {
        if (!param.name.starts_with("backbone.")) continue;
        actual[param.name] = param.shape.sizes();
        if (param.trained) count += param.shape.elements();
      }
      for (const auto& [name, shape] : entry.at("tensors").items()) {
        if (!is_buffer(spec, name)) expected[name] = shape.get<std::vector<int64_t>>();
      }
      EXPECT_EQ(actual, expected) << variant << head;
      const int64_t unread = variant == "vim_t" ? 192 : variant == "vim_s" ? 384 : 0;
      EXPECT_EQ(count, entry.at("backbone_parameters").get<int64_t>() - unread) << variant << head;
    }
  }
}

TEST(Dense, ParameterCounts) {
  const std::map<std::string, int64_t> expected = {
      {"vig_t_maskrcnn", 28181408},
      {"vig_s_maskrcnn", 48358400},
      {"vig_b_maskrcnn", 122624720},
      {"vig_t_upernet", 36175324},
      {"vig_s_upernet", 58170940},
      {"vig_b_upernet", 136074508},
      {"vig_h_t_maskrcnn", 48106928},
      {"vig_h_s_maskrcnn", 69557936},
      {"vig_h_b_maskrcnn", 108277936},
      {"vig_h_t_upernet", 60254188},
      {"vig_h_s_upernet", 81705196},
      {"vig_h_b_upernet", 122415852},
      {"vit_t_maskrcnn", 28068512},
      {"vit_s_maskrcnn", 47802368},
      {"vit_b_maskrcnn", 120187088},
      {"vit_t_window_maskrcnn", 28068512},
      {"vit_s_window_maskrcnn", 47802368},
      {"vit_b_window_maskrcnn", 120187088},
      {"vit_t_upernet", 36062428},
      {"vit_s_upernet", 57614908},
      {"vit_b_upernet", 133636876},
      {"vrwkv_t_maskrcnn", 28506464},
      {"vrwkv_s_maskrcnn", 49563008},
      {"vrwkv_b_maskrcnn", 127247312},
      {"vrwkv_t_upernet", 36500380},
      {"vrwkv_s_upernet", 59375548},
      {"vrwkv_b_upernet", 140697100},
      // Without the last norm, of 192 and 384 channels, which is stored and read by nothing.
      {"vim_t_upernet", 12311276 - 192},
      {"vim_s_upernet", 45448364 - 384},
  };
  for (const ModelSpec& spec : dense_models()) {
    if (spec.name.starts_with("test_")) continue;
    if (spec.name == "swin_t_upernet") continue;  // counted by its parts below
    ASSERT_TRUE(expected.contains(spec.name)) << spec.name << " is not counted here";
    EXPECT_EQ(build_graph(spec, 64, 64).param_count(), expected.at(spec.name)) << spec.name;
  }
}

// The parts of a backbone by the beginning of their names.
int64_t count(const Graph& graph, const std::string& prefix) {
  int64_t sum = 0;
  for (const ParamSpec& param : graph.params) {
    if (param.trained && param.name.starts_with(prefix)) sum += param.shape.elements();
  }
  return sum;
}

TEST(Dense, PartsOfTheAdapter) {
  struct Parts {
    const char* model;
    int64_t spm, injector, extractor, up, backbone;
  };
  const Parts all[] = {{"vig_t_maskrcnn", 1171520, 116760, 108312, 147648, 8079536},
                       {"vig_s_upernet", 1307456, 380760, 400872, 590208, 28059920},
                       {"vig_b_maskrcnn", 1579328, 927024, 1004112, 2360064, 101933024}};
  for (const Parts& parts : all) {
    const Graph graph = graph_of(parts.model);
    EXPECT_EQ(count(graph, "backbone.spm."), parts.spm);
    EXPECT_EQ(count(graph, "backbone.interactions.2.injector."), parts.injector);
    EXPECT_EQ(count(graph, "backbone.interactions.0.extractor."), parts.extractor);
    EXPECT_EQ(count(graph, "backbone.interactions.3.extra_extractors.1."), parts.extractor);
    EXPECT_EQ(count(graph, "backbone.up."), parts.up);
    EXPECT_EQ(count(graph, "backbone."), parts.backbone);
  }
  EXPECT_EQ(count(graph_of("vig_h_t_upernet"), "backbone."), 27833024);
  EXPECT_EQ(count(graph_of("vig_h_s_maskrcnn"), "backbone."), 49284032);
  EXPECT_EQ(count(graph_of("vig_h_b_upernet"), "backbone."), 87881152);
}

// A backbone is the classifier without its last norm and classes: Swin-T has 1000 * 768 + 1000 and
// 2 * 768 of those, and four norms of 96 to 768 channels instead.
TEST(Dense, BackbonesAreTheClassifiers) {
  const auto classifier = [](const char* model) {
    return build_graph(find_model(model), 224, 224).param_count();
  };
  EXPECT_EQ(count(graph_of("swin_t_upernet"), "backbone."),
            classifier("swin_t") - 769000 - 1536 + 2 * (96 + 192 + 384 + 768));
  // The head is that of ViG-H, whose maps are as wide.
  EXPECT_EQ(count(graph_of("swin_t_upernet"), "decode_head."),
            count(graph_of("vig_h_t_upernet"), "decode_head."));
  for (const auto& [dense, plain] : {std::pair("vig_s_upernet", "vig_s"),
                                     {"vig_h_t_maskrcnn", "vig_h_t"},
                                     {"swin_t_upernet", "swin_t"}}) {
    Shapes known;
    for (const ParamSpec& param : graph_of(dense).params) {
      known[param.name] = param.shape.sizes();
    }
    int dropped = 0;
    for (const ParamSpec& param : build_graph(find_model(plain), 224, 224).params) {
      const auto found = known.find("backbone." + param.name);
      if (found == known.end()) {
        ++dropped;
        EXPECT_TRUE(param.head || param.name.find("norm") != std::string::npos) << param.name;
      } else {
        EXPECT_EQ(found->second, param.shape.sizes()) << param.name;
      }
    }
    EXPECT_EQ(dropped, std::string_view(plain) == "vig_s" ? 3 : 4) << dense;
  }
}

TEST(Dense, GraphsAreWellFormed) {
  for (const ModelSpec& spec : dense_models()) {
    std::set<int> used;
    size_t parameters = 0;
    for (const Graph& graph : build_graphs(spec, 64, 96)) {
      std::set<int> read;
      for (int node = 0; node < static_cast<int>(graph.nodes.size()); ++node) {
        for (const int input : graph.node(node).inputs) {
          EXPECT_LT(input, node) << spec.name;
          read.insert(input);
        }
        used.insert(graph.node(node).params.begin(), graph.node(node).params.end());
      }
      for (const Output& output : graph.outputs) read.insert(output.node);
      EXPECT_EQ(read.size(), graph.nodes.size()) << spec.name << " computes something in vain";
      std::set<std::string> modules;
      for (const Output& module : graph.modules) {
        EXPECT_TRUE(modules.insert(module.name).second) << spec.name << ", " << module.name;
      }
      parameters = graph.params.size();
    }
    EXPECT_EQ(used.size(), parameters) << spec.name;
  }
}

TEST(Dense, MapsAndOutputs) {
  for (const ModelSpec& spec : dense_models()) {
    const std::vector<Graph> graphs = build_graphs(spec, 128, 224);
    const Graph& graph = graphs[0];
    for (int k = 1; k <= 4; ++k) {
      const int node = graph.find_module("backbone.f" + std::to_string(k));
      ASSERT_GE(node, 0) << spec.name;
      EXPECT_EQ(graph.node(node).grid.height, 128 >> (k + 1)) << spec.name;
      EXPECT_EQ(graph.node(node).grid.width, 224 >> (k + 1)) << spec.name;
    }
    const int classes = model_classes(spec);
    if (spec.config->task() == ModelTask::kSegment) {
      EXPECT_EQ(output_grid(graph, "logits"), (Grid{32, 56, classes})) << spec.name;
      ASSERT_EQ(graphs.size(), 2u);
      // The input of what training adds is a value of the first graph.
      const Graph& more = graphs[1];
      const int map = graph.find_module(more.inputs.at(0).name);
      ASSERT_GE(map, 0);
      EXPECT_EQ(graph.node(map).grid.channels, more.node(more.inputs[0].node).grid.channels);
      EXPECT_EQ(output_grid(more, "auxiliary").channels, classes);
      EXPECT_EQ(spec.config->detector(), nullptr);
      continue;
    }
    const DetectorConfig* config = spec.config->detector();
    ASSERT_NE(config, nullptr);
    const int width = output_grid(graph, "p2").channels;
    for (int k = 0; k < 5; ++k) {
      const int stride = config->strides[static_cast<size_t>(k)];
      Grid grid{(128 + stride - 1) / stride, (224 + stride - 1) / stride, width};
      const std::string level = std::to_string(k);
      const std::string map = "p" + std::to_string(k + 2);
      EXPECT_EQ(graph.find_output(map) >= 0, k < config->roi_levels) << spec.name;
      if (k < config->roi_levels) {
        EXPECT_EQ(output_grid(graph, map), grid) << spec.name;
      }
      grid.channels = 3;
      EXPECT_EQ(output_grid(graph, "rpn_cls" + level), grid) << spec.name;
      grid.channels = 12;
      EXPECT_EQ(output_grid(graph, "rpn_reg" + level), grid) << spec.name;
    }
    ASSERT_EQ(graphs.size(), 3u);
    EXPECT_EQ(graphs[1].node(graphs[1].find_input("box_features")).grid, (Grid{7, 7, width}));
    EXPECT_EQ(output_grid(graphs[1], "box_cls"), (Grid{1, 1, classes + 1}));
    EXPECT_EQ(output_grid(graphs[1], "box_reg"), (Grid{1, 1, 4 * classes}));
    EXPECT_EQ(graphs[2].node(graphs[2].find_input("mask_features")).grid, (Grid{14, 14, width}));
    EXPECT_EQ(output_grid(graphs[2], "mask_logits"), (Grid{28, 28, classes}));
  }
}

// The counts of 1344 x 800: as many cells as the reference has anchors, over three.
TEST(Dense, AnchorsOfALargeImage) {
  const Graph graph = graph_of("vig_t_maskrcnn", 800, 1344);
  int64_t cells = 0;
  for (int k = 0; k < 5; ++k) {
    cells += output_grid(graph, "rpn_cls" + std::to_string(k)).elements();
  }
  EXPECT_EQ(cells, 268569);
}

TEST(Dense, TheAdapterRefusesSidesThatAreNoMultiplesOf32) {
  for (const char* model : {"vig_t_upernet", "test_vig_maskrcnn"}) {
    expect_error(ErrorCode::kUsage, {"64x48", "32"}, [&] { graph_of(model, 64, 48); });
    expect_error(ErrorCode::kUsage, {"50x64", "32"}, [&] { graph_of(model, 50, 64); });
  }
  EXPECT_EQ(output_grid(graph_of("test_vig_h_upernet", 57, 91), "logits"), (Grid{15, 23, 5}));
  EXPECT_EQ(output_grid(graph_of("test_vig_h_maskrcnn", 57, 91), "rpn_cls4"), (Grid{1, 2, 3}));
}

TEST(Dense, FieldsThatDoNotFitAreRefused) {
  const auto build = [](const std::string& model, const std::string& field,
                        const std::string& value) {
    ModelSpec spec = find_model(model);
    override_field(spec, field, value);
    return build_graph(spec, 64, 64);
  };
  expect_error(ErrorCode::kUsage, {"interactions", "depth of 4"},
               [&] { build("test_vig_maskrcnn", "interactions", "3"); });
  EXPECT_NO_THROW(build("test_vig_maskrcnn", "interactions", "2"));
  expect_error(ErrorCode::kUsage, {"interactions", "expected 4"},
               [&] { build("test_vig_upernet", "interactions", "2"); });
  EXPECT_NO_THROW(build("test_vig_maskrcnn", "interactions", "0,0,2,3"));
  expect_error(ErrorCode::kUsage, {"interactions=0,1,2", "depth of 4"},
               [&] { build("test_vig_maskrcnn", "interactions", "0,1,2"); });
  expect_error(ErrorCode::kUsage, {"blocks 2 to 4", "depth of 4"},
               [&] { build("test_vig_maskrcnn", "interactions", "0,1,2,4"); });
  expect_error(ErrorCode::kUsage, {"blocks 3 to 2"},
               [&] { build("test_vig_maskrcnn", "interactions", "3,2"); });
  expect_error(ErrorCode::kUsage, {"windows=3,0", "one or 4"},
               [&] { build("test_vit_maskrcnn", "windows", "3,0"); });
  expect_error(ErrorCode::kUsage, {"feature_layers=0,1,2", "4 rising ones"},
               [&] { build("test_vim_upernet", "feature_layers", "0,1,2"); });
  expect_error(ErrorCode::kUsage, {"patch_size", "16"},
               [&] { build("test_vig_upernet", "patch_size", "8"); });
  expect_error(ErrorCode::kUsage, {"deform_heads", "32"},
               [&] { build("test_vig_maskrcnn", "deform_heads", "5"); });
  expect_error(ErrorCode::kUsage, {"dims", "4"}, [&] {
    ModelSpec spec = find_model("vig_h_t_upernet");
    override_fields(spec, {{"dims", "16,32"}, {"depths", "1,1"}, {"heads", "1,1"}});
    build_graph(spec, 64, 64);
  });
}

TEST(Dense, ListsOfADetectorAreFields) {
  ModelSpec spec = find_model("test_vig_maskrcnn");
  override_fields(spec, {{"anchor_ratios", "0.25,4"}, {"box_std", "0.2,0.2,0.4,0.5"}});
  EXPECT_EQ(spec.config->detector()->anchor_ratios, (std::vector<float>{0.25f, 4.0f}));
  EXPECT_EQ(spec.config->detector()->box_std, (std::array{0.2f, 0.2f, 0.4f, 0.5f}));
  EXPECT_EQ(model_fields(spec).at("anchor_ratios"), "0.25,4");
  EXPECT_EQ(model_fields(spec).at("box_std"), "0.2,0.2,0.4,0.5");
  EXPECT_EQ(model_fields(spec).at("proposal_std"), "1,1,1,1");
  const Graph graph = build_graph(spec, 64, 64);
  EXPECT_EQ(output_grid(graph, "rpn_cls0"), (Grid{16, 16, 2}));
  EXPECT_EQ(output_grid(graph, "rpn_reg4"), (Grid{1, 1, 8}));

  const std::pair<const char*, const char*> bad[] = {
      {"anchor_ratios", ""},       {"anchor_ratios", "0"},
      {"anchor_ratios", "1,0,2"},  {"anchor_ratios", "-1"},
      {"anchor_ratios", "nan"},    {"anchor_ratios", "1,inf"},
      {"anchor_ratios", "1,,2"},   {"anchor_ratios", "1,2,"},
      {"anchor_ratios", "1;2"},    {"anchor_ratios", "65"},
      {"box_std", "0.1,0.1,0.2"},  {"box_std", "1,1,1,1,1"},
      {"proposal_std", "1,1,1,0"}, {"anchor_ratios", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"},
  };
  for (const auto& [field, value] : bad) {
    expect_error(ErrorCode::kUsage, {field, "expected"}, [&] {
      ModelSpec changed = find_model("test_vig_maskrcnn");
      override_field(changed, field, value);
    });
  }
  // The levels are those of the pyramid.
  for (const char* fixed : {"strides", "roi_levels"}) {
    expect_error(ErrorCode::kUsage, {"no field", fixed},
                 [&] { override_field(spec, fixed, "4,8"); });
  }
  expect_error(ErrorCode::kUsage, {"anchor_scale 0"}, [&] {
    override_field(spec, "anchor_scale", "0");
    build_graph(spec, 64, 64);
  });
}

const ParamSpec& param(const Graph& graph, const std::string& name) {
  for (const ParamSpec& spec : graph.params) {
    if (spec.name == name) return spec;
  }
  throw std::runtime_error("no parameter " + name);
}

// The rule of layer decay: the patch embedding at 0, block b at b + 1, all else above.
TEST(Dense, LevelsOfTheAdapter) {
  for (const char* model : {"vig_t_upernet", "vig_t_maskrcnn"}) {
    for (const ParamSpec& param : graph_of(model).params) {
      int level = 13;
      const std::string blocks = "backbone.blocks.";
      if (param.name.starts_with(blocks)) level = std::stoi(param.name.substr(blocks.size())) + 1;
      if (param.name.starts_with("backbone.patch_embed.")) level = 0;
      if (param.name == "backbone.pos_embed") level = 0;
      EXPECT_EQ(param.level, level) << param.name;
    }
  }
  for (const ParamSpec& param : graph_of("vig_h_t_maskrcnn").params) {
    if (param.name.starts_with("backbone.layers.")) continue;
    EXPECT_EQ(param.level, param.name.starts_with("backbone.patch_embed") ? 0 : 12) << param.name;
  }
}

// What depends on the classes begins afresh for other classes, and nothing else does.
TEST(Dense, HeadsAreWhatDependsOnTheClasses) {
  for (const ModelSpec& spec : dense_models()) {
    ModelSpec other = spec;
    override_field(other, "classes", "9");
    const Graph graph = build_graph(spec, 64, 64), changed = build_graph(other, 64, 64);
    for (size_t i = 0; i < graph.params.size(); ++i) {
      EXPECT_EQ(graph.params[i].head, graph.params[i].shape != changed.params[i].shape)
          << spec.name << ", " << graph.params[i].name;
    }
  }
}

double deviation(const ParamSpec& spec) {
  std::vector<float> values(static_cast<size_t>(spec.shape.elements()));
  spec.init.fill({values, spec.shape, RandomStream(3)});
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
  }
  const auto n = static_cast<double>(values.size());
  return std::sqrt(squares / n - sum / n * (sum / n));
}

TEST(Dense, FreshValues) {
  const Graph graph = graph_of("vig_t_maskrcnn");
  const auto expect_deviation = [&](const std::string& name, double expected) {
    EXPECT_NEAR(deviation(param(graph, name)), expected, 0.05 * expected + 1e-9) << name;
  };
  expect_deviation("backbone.spm.conv3.0.weight", std::sqrt(2.0 / (9 * 256)));
  expect_deviation("backbone.spm.fc2.weight", std::sqrt(2.0 / 192));
  expect_deviation("backbone.up.weight", std::sqrt(2.0 / (4 * 192)));
  expect_deviation("backbone.interactions.1.extractor.ffn.fc1.weight", 0.02);
  expect_deviation("backbone.interactions.1.extractor.ffn.dwconv.dwconv.weight",
                   std::sqrt(2.0 / 9));
  expect_deviation("backbone.interactions.1.extractor.attn.value_proj.weight",
                   std::sqrt(2.0 / (192 + 192)));
  expect_deviation("backbone.interactions.1.injector.attn.sampling_offsets.weight", 0);
  expect_deviation("backbone.interactions.1.injector.gamma", 0);
  expect_deviation("neck.fpn_convs.1.conv.weight", std::sqrt(2.0 / (9 * 512)));
  expect_deviation("rpn_head.rpn_conv.weight", 0.01);
  expect_deviation("roi_head.bbox_head.shared_fcs.0.weight", std::sqrt(2.0 / (12544 + 1024)));
  expect_deviation("roi_head.bbox_head.fc_cls.weight", 0.01);
  expect_deviation("roi_head.bbox_head.fc_reg.weight", 0.001);
  expect_deviation("roi_head.mask_head.conv_logits.weight", std::sqrt(2.0 / 80));
  expect_deviation("backbone.level_embed", 1.0);
}

// Detection adds the last tokens to every map, segmentation those of each interaction.
TEST(Dense, DetectionAndSegmentationFormsDiffer) {
  const auto sources = [](const std::string& model) {
    const Graph graph = graph_of(model);
    std::set<int> tokens;
    for (int k = 1; k <= 4; ++k) {
      const Node& norm = graph.node(graph.find_module("backbone.f" + std::to_string(k)));
      int from = graph.node(norm.inputs[0]).inputs[1];
      if (std::holds_alternative<ResizeOp>(graph.node(from).op)) from = graph.node(from).inputs[0];
      tokens.insert(from);
    }
    return tokens.size();
  };
  EXPECT_EQ(sources("test_vig_upernet"), 4u);
  EXPECT_EQ(sources("test_vig_maskrcnn"), 1u);
}

TEST(Dense, RecipesAndTheSizeOfADescription) {
  const Recipe adapter = find_model("vig_b_upernet").recipe;
  EXPECT_EQ(adapter.framing, Framing::kStretch);
  EXPECT_EQ(adapter.resize, 512);
  EXPECT_EQ(adapter.longest, 2048);
  EXPECT_EQ(adapter.multiple, 32);
  EXPECT_EQ(adapter.crop, 512);
  EXPECT_EQ(adapter.window_stride, 341);
  EXPECT_EQ(adapter.interpolation, Interpolation::kBilinear);
  EXPECT_EQ(find_model("vig_h_s_upernet").recipe.window_stride, 0);
  const Recipe detector = find_model("vig_h_b_maskrcnn").recipe;
  EXPECT_EQ(detector.framing, Framing::kPad);
  EXPECT_EQ(detector.resize, 800);
  EXPECT_EQ(detector.longest, 1333);
  EXPECT_EQ(detector.multiple, 32);
  EXPECT_EQ(described_size(find_model("vig_t_upernet")), (GridSize{512, 512}));
  EXPECT_EQ(described_size(find_model("vig_t_maskrcnn")), (GridSize{800, 1344}));
  EXPECT_EQ(described_size(find_model("test_vig_maskrcnn")), (GridSize{64, 96}));
  EXPECT_EQ(described_size(find_model("vig_t")), (GridSize{224, 224}));
  // image_size is what the position table belongs to, not the size of images.
  ModelSpec spec = find_model("vig_t_upernet");
  override_field(spec, "image_size", "448");
  EXPECT_EQ(spec.recipe, adapter);
  EXPECT_EQ(param(build_graph(spec, 64, 64), "backbone.pos_embed").shape, (Shape{1, 784, 192}));
}

TEST(Dense, FieldsThatTensorsShow) {
  const auto shown = [](const std::string& model, const std::map<std::string, Shape>& tensors) {
    return find_model(model).config->fields_shown_by([&](const std::string& name) {
      const auto found = tensors.find(name);
      return found == tensors.end() ? nullptr : &found->second;
    });
  };
  using Fields = std::map<std::string, std::string>;
  EXPECT_EQ(shown("vig_t_upernet", {{"decode_head.conv_seg.weight", {19, 512, 1, 1}},
                                    {"backbone.pos_embed", {1, 784, 192}}}),
            (Fields{{"classes", "19"}, {"image_size", "448"}}));
  EXPECT_EQ(shown("vig_h_t_maskrcnn", {{"roi_head.bbox_head.fc_cls.weight", {21, 1024}}}),
            (Fields{{"classes", "20"}}));
  EXPECT_EQ(shown("vig_h_t_maskrcnn", {{"roi_head.bbox_head.fc_cls.weight", {1, 1024}}}), Fields{});
  EXPECT_EQ(shown("swin_t_upernet", {}), Fields{});
}

}  // namespace
}  // namespace vig::test
