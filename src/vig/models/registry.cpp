#include "vig/models/registry.h"

#include <fmt/ranges.h>

#include "vig/base/error.h"
#include "vig/base/suggestion.h"

namespace vig {

const std::vector<Family>& model_families() {
  static const std::vector<Family> families = {vig_family(), vig_h_family()};
  return families;
}

const std::vector<ModelSpec>& model_zoo() {
  static const std::vector<ModelSpec> zoo = [] {
    std::vector<ModelSpec> all;
    for (const Family& family : model_families()) {
      for (ModelSpec spec : family.models) {
        spec.family = family.name;
        all.push_back(std::move(spec));
      }
    }
    return all;
  }();
  return zoo;
}

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
  if (field == "image_size") spec.recipe = spec.recipe.with_size(spec.config->image_size);
}

void override_fields(ModelSpec& spec, const std::map<std::string, std::string>& fields) {
  for (const auto& [field, value] : fields) override_field(spec, field, value);
}

std::map<std::string, std::string> model_fields(const ModelSpec& spec) {
  return field_texts(*spec.config);
}

ModelSpec family_base(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Family& family : model_families()) {
    if (family.name == name) return find_model(family.base);
    names.push_back(family.name);
  }
  fail_usage("there is no model family '{}'; the families are {}", name, fmt::join(names, ", "));
}

int model_classes(const ModelSpec& spec) { return spec.config->classes; }

Graph build_graph(const ModelSpec& spec, int height, int width) {
  return spec.config->build(height, width);
}

}  // namespace vig
