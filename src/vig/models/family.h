// A family of networks is one record in one file: models/NAME.cpp defines its config, builds its
// graphs and lists its models. The registry is the list of the families.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vig/base/recipe.h"
#include "vig/models/config.h"
#include "vig/models/published.h"

namespace vig {

// A network to be built: one family's config.
struct ModelSpec {
  std::string name;
  AnyConfig config;
  Recipe recipe;
  std::string note;               // what it is, in a few words
  std::string paper_params = "";  // as printed in the paper; empty where it prints none
  std::string paper_flops = "";
  // Set by the registry:
  std::string_view family = "";
  bool imported = false;  // see Family
};

struct Family {
  std::string_view name;
  std::string_view base;          // the model that others are described against in golden cases
  std::vector<ModelSpec> models;  // a published model before the roadmap model that equals it
  // Further sizes, here for the checkpoints that others publish: no part of the paper's tables.
  std::vector<ModelSpec> imported = {};
  // How the names of tensors end that stand in published checkpoints and are no parameters.
  std::vector<std::string_view> buffers = {};
  // Whose names the parameters have, where several publish checkpoints; and what is different in
  // those of the others.
  std::string_view publisher = "";
  std::vector<PublishedNames> names = {};
  std::vector<PublishedFields> published_fields = {};
  std::vector<PublishedRecipe> recipes = {};
  // How timm's names of the networks begin that have these tensors and compute the same.
  std::vector<std::string_view> timm_networks = {};
  // Arguments of the original code, in golden cases: the field that each sets, where the names
  // differ; and those that have one value in every model of the family, or (empty) follow from the
  // others.
  std::map<std::string, std::string> argument_fields = {};
  std::map<std::string, std::string> fixed_arguments = {};
  std::map<std::string, std::string> argument_values = {};  // texts of theirs, and ours
  // How the names of activations end, in golden cases, that are no value of our graphs.
  std::vector<std::string_view> inner_activations = {};
  // Versions of a network in golden cases, by the suffix of their tensors ("output_SUFFIX",
  // "act_SUFFIX/NAME"; an empty one is "output"), with the fields that make them.
  std::map<std::string, std::map<std::string, std::string>> versions = {{"", {}}};
  // Whether maps in golden cases are [batch, height, width, channels] where their sizes leave that
  // open; else [batch, channels, height, width].
  bool channels_last = false;
  // How the names of activations end that are channels last nevertheless.
  std::vector<std::string_view> channels_last_activations = {};
};

Family vig_family();
Family vig_h_family();
Family resnet_family();
Family convnext_family();
Family regnet_family();
Family efficientnet_family();
Family deit_family();
Family swin_family();
Family gmlp_family();
Family efficientvmamba_family();
Family localvim_family();
Family localvmamba_family();
Family plainmamba_family();
Family vim_family();
Family vrwkv_family();
Family vmamba_family();
Family s4nd_family();
Family s4nd_convnext_family();
Family vig_upernet_family();
Family vig_maskrcnn_family();
Family vig_h_upernet_family();
Family vig_h_maskrcnn_family();
Family swin_upernet_family();
Family vit_upernet_family();
Family vit_maskrcnn_family();
Family vrwkv_upernet_family();
Family vrwkv_maskrcnn_family();
Family vim_upernet_family();

// The zoo: every model by name, with the paper's figures and the recipe of its weights.
const std::vector<Family>& model_families();
const std::vector<ModelSpec>& model_zoo();  // of all families

// Adds a family that a program brings itself. Call it before anything asks for models: what the two
// functions above have returned is void afterwards. Throws where a name is taken.
void add_family(Family family);

// Throws a usage error that lists the names when there is no such model.
ModelSpec find_model(std::string_view name);

// Overrides one field by its name, e.g. ("depth", "4"), ("dims", "32,64,128,256"). The recipe
// of a classifier follows image_size. Throws a usage error that lists the fields for an unknown
// one.
void override_field(ModelSpec& spec, const std::string& field, const std::string& value);
void override_fields(ModelSpec& spec, const std::map<std::string, std::string>& fields);

// Every field of the spec as text, in the form override_field takes.
std::map<std::string, std::string> model_fields(const ModelSpec& spec);
// Throws a usage error that lists the names when there is no such family.
const Family& find_family(std::string_view name);
// Whether a tensor of this name in a checkpoint of the model is none of its parameters.
bool is_buffer(const ModelSpec& spec, std::string_view tensor);
// Whether an activation of this name in a golden case of the model is no value of its graph.
bool is_inner_activation(const ModelSpec& spec, std::string_view tensor);

// Whether such an activation, where its sizes leave it open, has its channels last.
bool is_channels_last(const ModelSpec& spec, std::string_view tensor);

int model_classes(const ModelSpec& spec);

// The image that a model is described with by default: the crop of a classifier, the window of a
// segmentation network, the largest wide image of a detector.
GridSize described_size(const ModelSpec& spec);

// The graphs of a model, the one that sees the image first. Each lists the parameters of all.
std::vector<Graph> build_graphs(const ModelSpec& spec, int height, int width);
// The first of them, which is the only one of most models.
Graph build_graph(const ModelSpec& spec, int height, int width);

}  // namespace vig
