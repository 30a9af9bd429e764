// The zoo: every model by name, with the paper's figures and the recipe of its weights.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "vig/base/recipe.h"
#include "vig/graph/graph.h"
#include "vig/models/vig.h"
#include "vig/models/vig_h.h"

namespace vig {

// A network to be built: one family's numbers.
struct ModelSpec {
  std::string name;
  std::variant<VigConfig, VigHConfig> config;
  Recipe recipe;
  std::string note;               // what it is, in a few words
  std::string paper_params = "";  // as printed in the paper; empty where it prints none
  std::string paper_flops = "";
};

const std::vector<ModelSpec>& model_zoo();

// Raises a usage error that lists near names when there is no such model.
ModelSpec find_model(std::string_view name);

// Overrides one field by its name, e.g. ("depth", "4"), ("dims", "32,64,128,256"). The recipe
// follows image_size. Raises a usage error that lists the fields for an unknown one.
void override_field(ModelSpec& spec, const std::string& field, const std::string& value);
void override_fields(ModelSpec& spec, const std::map<std::string, std::string>& fields);

// Every field of the spec as text, in the form override_field takes.
std::map<std::string, std::string> model_fields(const ModelSpec& spec);
std::string_view model_family(const ModelSpec& spec);  // "vig" or "vig_h"
// The first model of a family, to be overridden: "vig" -> vig_s, "vig_h" -> vig_h_t.
ModelSpec family_base(std::string_view family);

int model_classes(const ModelSpec& spec);

Graph build_graph(const ModelSpec& spec, int height, int width);

}  // namespace vig
