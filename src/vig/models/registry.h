// The zoo: every model by name, with the paper's figures and the recipe of its weights.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vig/models/family.h"

namespace vig {

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

int model_classes(const ModelSpec& spec);

// The image that a model is described with by default: the crop of a
// classifier, the window of a segmentation network, the largest wide image of a detector.
GridSize described_size(const ModelSpec& spec);

// The graphs of a model, the one that sees the image first. Each lists the parameters of all.
std::vector<Graph> build_graphs(const ModelSpec& spec, int height, int width);
// The first of them, which is the only one of most models.
Graph build_graph(const ModelSpec& spec, int height, int width);

}  // namespace vig
