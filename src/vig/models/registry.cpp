#include "vig/models/registry.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "vig/base/error.h"
#include "vig/base/suggestion.h"
#include "vig/models/family.h"

namespace vig {

namespace {

struct Zoo {
  std::vector<Family> families;
  std::vector<ModelSpec> models;

  void add(Family family) {
    for (const Family& other : families) {
      if (other.name == family.name) fail_usage("there are two model families '{}'", family.name);
    }
    for (const ModelSpec& spec : family.models) add(spec, family.name, false);
    for (const ModelSpec& spec : family.imported) add(spec, family.name, true);
    families.push_back(std::move(family));
  }

  void add(ModelSpec spec, std::string_view family, bool imported) {
    for (const ModelSpec& other : models) {
      if (other.name == spec.name) fail_usage("there are two models '{}'", spec.name);
    }
    spec.family = family;
    spec.imported = imported;
    models.push_back(std::move(spec));
  }
};

Zoo& zoo() {
  static Zoo all = [] {
    Zoo own;
    for (Family family : {vig_family(),
                          vig_h_family(),
                          resnet_family(),
                          convnext_family(),
                          regnet_family(),
                          efficientnet_family(),
                          deit_family(),
                          swin_family(),
                          gmlp_family(),
                          vim_family(),
                          vrwkv_family(),
                          vmamba_family(),
                          plainmamba_family(),
                          efficientvmamba_family(),
                          localvmamba_family(),
                          localvim_family(),
                          s4nd_family(),
                          s4nd_convnext_family(),
                          vig_upernet_family(),
                          vig_maskrcnn_family(),
                          vig_h_upernet_family(),
                          vig_h_maskrcnn_family(),
                          swin_upernet_family(),
                          vit_upernet_family(),
                          vit_maskrcnn_family(),
                          vrwkv_upernet_family(),
                          vrwkv_maskrcnn_family(),
                          vim_upernet_family()}) {
      own.add(std::move(family));
    }
    return own;
  }();
  return all;
}

}  // namespace

const std::vector<Family>& model_families() { return zoo().families; }
const std::vector<ModelSpec>& model_zoo() { return zoo().models; }
void add_family(Family family) { zoo().add(std::move(family)); }

ModelSpec find_model(std::string_view name) {
  std::vector<std::string> names;
  for (const ModelSpec& spec : model_zoo()) {
    if (spec.name == name) return spec;
    names.push_back(spec.name);
  }
  fail_usage("there is no model '{}'{}; the models are {}", name, suggestion(name, names),
             fmt::join(names, ", "));
}

void override_field(ModelSpec& spec, const std::string& field, const std::string& value) {
  set_field(*spec.config, spec.name, field, value);
  // Without a crop image_size is what the tables of positions belong to, and images have any
  // size.
  if (field == "image_size" && spec.recipe.framing == Framing::kCrop) {
    spec.recipe = spec.recipe.with_size(spec.config->image_size);
  }
}

void override_fields(ModelSpec& spec, const std::map<std::string, std::string>& fields) {
  for (const auto& [field, value] : fields) override_field(spec, field, value);
}

std::map<std::string, std::string> model_fields(const ModelSpec& spec) {
  return field_texts(*spec.config);
}

const Family& find_family(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Family& family : model_families()) {
    if (family.name == name) return family;
    names.push_back(family.name);
  }
  fail_usage("there is no model family '{}'; the families are {}", name, fmt::join(names, ", "));
}

namespace {

bool ends_with_any(std::string_view name, const std::vector<std::string_view>& suffixes) {
  return std::ranges::any_of(suffixes,
                             [&](std::string_view suffix) { return name.ends_with(suffix); });
}

}  // namespace

bool is_buffer(const ModelSpec& spec, std::string_view tensor) {
  return ends_with_any(tensor, find_family(spec.family).buffers) || spec.config->leaves_out(tensor);
}

bool is_inner_activation(const ModelSpec& spec, std::string_view tensor) {
  return ends_with_any(tensor, find_family(spec.family).inner_activations);
}

bool is_channels_last(const ModelSpec& spec, std::string_view tensor) {
  const Family& family = find_family(spec.family);
  return family.channels_last || ends_with_any(tensor, family.channels_last_activations);
}

int model_classes(const ModelSpec& spec) { return spec.config->classes; }

GridSize described_size(const ModelSpec& spec) {
  const Recipe& recipe = spec.recipe;
  if (recipe.framing != Framing::kPad) return {recipe.crop, recipe.crop};
  const auto padded = [&](int side) {
    return (side + recipe.multiple - 1) / recipe.multiple * recipe.multiple;
  };
  return {padded(recipe.resize), padded(std::max(recipe.resize, recipe.longest))};
}

std::vector<Graph> build_graphs(const ModelSpec& spec, int height, int width) {
  std::vector<Graph> graphs = spec.config->further_graphs();
  graphs.insert(graphs.begin(), spec.config->build(height, width));
  if (graphs.size() > 1) share_parameters(graphs);
  return graphs;
}

Graph build_graph(const ModelSpec& spec, int height, int width) {
  return std::move(build_graphs(spec, height, width).front());
}

std::vector<ModelEntry> list_models() {
  std::vector<ModelEntry> entries;
  for (const ModelSpec& spec : model_zoo()) {
    const GridSize size = described_size(spec);
    entries.push_back(
        {spec.name, spec.config->task(), size.height, size.width, model_classes(spec), spec.note});
  }
  return entries;
}

std::vector<Graph> build_graphs(const std::string& model, int height, int width) {
  return build_graphs(find_model(model), height, width);
}

}  // namespace vig
