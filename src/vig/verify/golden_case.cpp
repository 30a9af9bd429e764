#include "vig/verify/golden_case.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/regular_file.h"
#include "vig/pipeline/model_source.h"
#include "vig/verify/golden_dense.h"
#include "vig/verify/operators.h"
#include "vig/weights/elements.h"
#include "vig/weights/strict_json.h"

namespace vig {
namespace {

constexpr JsonLimits kConfigLimits{size_t{1} << 20, 8};

// As the original code of every family calls its arguments; further names are the family's, and
// every other key is a field of ours.
const std::map<std::string, std::string> kFieldNames = {
    {"num_classes", "classes"}, {"img_size", "image_size"}, {"num_heads", "heads"}};

constexpr std::string_view kColumns = "_fields";

// Said about the case, not about the network; sizes are compared with the input's.
const std::set<std::string> kAboutTheCase = {"family", "seed", "rescaled"};
const std::map<std::string, int> kInputAxes = {{"batch", 0}, {"height", 2}, {"width", 3}};

const std::string kParameter = "param/";

// Of dense prediction: outputs, and what belongs to training.
const std::set<std::string> kDenseTensors = {"input", "logits_whole", "logits_slide", "pred",
                                             "margin"};
constexpr std::string_view kDensePrefixes[] = {
    "act/", "param/", "proposals/", "dets/", "labels/", "det_masks/", "grad/", "gt/", "train/"};

// Of a backbone: maps of all versions, and what belongs to training.
constexpr std::string_view kBackbonePrefixes[] = {"act/",      "param/", "output/", "output_",
                                                  "upstream/", "train/", "grad/"};

const std::set<std::string> kScanTensors = {
    "q",  "k",  "v",  "gate_logit_forward",  "gate_logit_backward",  "o", "do",
    "dq", "dk", "dv", "dgate_logit_forward", "dgate_logit_backward",
};

// 4, true, "gated", [1, 2] and lists of such in the form override_field takes.
std::string field_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& entry : value) {
    if (!text.empty()) text += ',';
    text += field_text(entry);
  }
  return text;
}

// Where the case says what family it is: in "config" or beside it.
std::string family_of(const std::string& file, const Json& description) {
  for (const Json* object : {&description["config"], &description}) {
    if (object->contains("family") && object->at("family").is_string()) {
      return object->at("family").get<std::string>();
    }
  }
  fail("{}: expected an object \"config\" with a \"family\"", file);
}

// Sizes of the input are stated, not chosen: whether `key` is one. Throws where it is another's.
bool states_input(const std::string& key, const Json& value, const Shape& input) {
  const auto axis = kInputAxes.find(key);
  if (axis == kInputAxes.end() && key != "run_img_size") return false;
  const Json expected =
      axis != kInputAxes.end() ? Json(input[axis->second]) : Json::array({input[2], input[3]});
  if (value != expected) {
    fail("{} is {}, but the input is {}", key, printable(value.dump(), 40), input.str());
  }
  return true;
}

// Sets the field that an argument of the original code means.
void set_argument(ModelSpec& spec, const Family& family, const std::string& key,
                  const Json& value) {
  if (value.is_null()) return;  // not given
  const auto fixed = family.fixed_arguments.find(key);
  if (fixed != family.fixed_arguments.end()) {
    if (!fixed->second.empty() && field_text(value) != fixed->second) {
      fail("{} is {}, expected {}", key, printable(field_text(value), 40), fixed->second);
    }
    return;
  }
  std::string field = key;
  for (const auto* names : {&kFieldNames, &family.argument_fields}) {
    if (names->contains(key)) field = names->at(key);
  }
  // [height, width] of an image.
  if (field == "image_size" && value.is_array() && value.size() == 2) {
    override_field(spec, field, value[0].dump());
    if (value[0] != value[1] && model_fields(spec).contains("image_width")) {
      override_field(spec, "image_width", value[1].dump());
    }
    return;
  }
  const std::string text = field_text(value);
  const auto ours = family.argument_values.find(text);
  override_field(spec, field, ours == family.argument_values.end() ? text : ours->second);
}

// A table, such as one of stages: KEY_fields names its columns, each of which is an argument.
void set_columns(ModelSpec& spec, const Family& family, const Json& names, const Json& rows) {
  for (size_t column = 0; column < names.elements().size(); ++column) {
    Json values = Json::array();
    for (const Json& row : rows) values.push_back(row.at(column));
    set_argument(spec, family, names.at(column).get<std::string>(), values);
  }
}

ModelSpec spec_from(const std::string& file, const Json& description, const Shape& input,
                    const TensorShapes& parameters) {
  try {
    const Family& family = find_family(family_of(file, description));
    ModelSpec spec = find_model(family.base);
    const Json& config = description["config"];
    if (!config.is_object()) fail("expected an object \"config\"");
    // What the case does not say, its parameters show, such as whose names they have.
    if (parameters) override_fields(spec, spec.config->fields_shown_by(parameters));
    for (const auto& [key, value] : config.items()) {
      if (kAboutTheCase.contains(key) || states_input(key, value, input)) continue;
      if (key.ends_with(kColumns) && config.contains(key.substr(0, key.size() - kColumns.size()))) {
        continue;
      }
      const std::string columns = key + std::string(kColumns);
      if (config.contains(columns)) {
        set_columns(spec, family, config[columns], value);
      } else {
        set_argument(spec, family, key, value);
      }
    }
    check_depth(spec);
    return spec;
  } catch (const JsonError&) {
    fail("{}: expected plain values in \"config\"", file);
  } catch (const Error& error) {
    fail("{}: {}", file, printable(error.what(), 400));
  }
}

// Every activation the case promises must be there to be compared.
void check_promised(const GoldenCase& golden, const std::string& file,
                    const std::vector<std::string>& promised) {
  for (const std::string& name : promised) {
    if (golden.tensors->find(name) == nullptr) {
      fail("{}: promises \"{}\", which {} does not hold", file, printable(name, 80), golden.file);
    }
  }
}

bool is_known(const GoldenCase& golden, const std::string& name) {
  if (golden.kind == GoldenCase::Kind::kScan) return kScanTensors.contains(name);
  if (golden.kind == GoldenCase::Kind::kDense) {
    const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
    return kDenseTensors.contains(name) || std::ranges::any_of(kDensePrefixes, begins);
  }
  if (golden.kind == GoldenCase::Kind::kMaps) {
    const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
    return name == "input" || std::ranges::any_of(kBackbonePrefixes, begins);
  }
  const auto of_version = [&](const GoldenVersion& version) {
    return name == version.output || name.starts_with(version.activations);
  };
  // Gradients and loss belong to training.
  return name == "input" || name == "label" || name == "loss" || name.starts_with(kParameter) ||
         name.starts_with("grad/") || std::ranges::any_of(golden.versions, of_version);
}

// KIND/NAME by our name of the module or parameter, where the case has another publisher's.
std::string our_tensor(const std::string& tensor, const PublishedNames& names) {
  const size_t slash = tensor.find('/');
  if (slash == std::string::npos) return tensor;
  return tensor.substr(0, slash + 1) + apply_rules(tensor.substr(slash + 1), names.rules).name;
}

std::shared_ptr<const Checkpoint> with_our_modules(const Checkpoint& tensors,
                                                   const PublishedNames& names) {
  return std::make_shared<const Checkpoint>(
      tensors.renamed([&](NamedTensor& tensor) { tensor.name = our_tensor(tensor.name, names); }));
}

// The same of a backbone.
std::vector<GoldenVersion> backbone_versions(const ModelSpec& spec, const Checkpoint& tensors) {
  std::vector<GoldenVersion> versions;
  for (const auto& [suffix, fields] : find_family(spec.family).versions) {
    const std::string maps = suffix.empty() ? "output/" : "output_" + suffix + "/";
    if (!suffix.empty() && tensors.find(maps + "f1") == nullptr) continue;
    versions.push_back({spec, "", suffix.empty() ? "act/" : "", maps});
    override_fields(versions.back().spec, fields);
  }
  return versions;
}

// Each version of the network that the case has an output of; of the plain one it must.
std::vector<GoldenVersion> versions_of(const ModelSpec& spec, const Checkpoint& tensors) {
  std::vector<GoldenVersion> versions;
  for (const auto& [suffix, fields] : find_family(spec.family).versions) {
    const std::string end = suffix.empty() ? "" : "_" + suffix;
    if (!suffix.empty() && tensors.find("output" + end) == nullptr) continue;
    versions.push_back({spec, "output" + end, "act" + end + "/"});
    override_fields(versions.back().spec, fields);
  }
  return versions;
}

// Whether the case is one of a single operator, of which the text is kept.
bool is_operator_case(const std::string& beside, GoldenCase& golden) {
  const std::string text = read_regular_file(beside, kConfigLimits.bytes);
  Json description = parse_strict_json(beside, text, kConfigLimits);
  if (!is_operator_description(description)) return false;
  golden.kind = GoldenCase::Kind::kOperator;
  golden.description = std::move(description);
  return true;
}

}  // namespace

const TensorView& GoldenCase::tensor(const std::string& name) const {
  const NamedTensor* found = tensors->find(name);
  if (found == nullptr) fail("{}: expected a tensor \"{}\", found none", file, name);
  if (!is_float(found->view.dtype)) {
    fail("{}: tensor \"{}\" is {}, expected floating point", file, name,
         dtype_name(found->view.dtype));
  }
  return found->view;
}

const TensorView& GoldenCase::integers(const std::string& name) const {
  const NamedTensor* found = tensors->find(name);
  if (found == nullptr) fail("{}: expected a tensor \"{}\", found none", file, name);
  if (is_float(found->view.dtype)) {
    fail("{}: tensor \"{}\" is {}, expected whole numbers", file, name,
         dtype_name(found->view.dtype));
  }
  return found->view;
}

Graph GoldenCase::graph(const GoldenVersion& version) const {
  const Shape& shape = tensor("input").shape;
  return as_input(file, [&] {
    Graph whole = build_graph(version.spec, static_cast<int>(shape[2]), static_cast<int>(shape[3]));
    return kind == Kind::kMaps ? backbone_graph(whole) : whole;
  });
}

std::shared_ptr<const Weights> GoldenCase::weights(const Graph& graph,
                                                   std::string_view prefix) const {
  std::vector<ParamSpec> specs = graph.params;
  for (ParamSpec& one : specs) {
    if (one.name.starts_with(prefix)) one.name.erase(0, prefix.size());
    one.name = kParameter + one.name;
  }
  LoadOptions options;
  options.ignore_unexpected = [&](std::string_view name) {
    // An operator may have further ones, for another graph of the same case.
    if (kind == Kind::kOperator) return true;
    return !name.starts_with(kParameter) || is_buffer(spec, name.substr(kParameter.size()));
  };
  return load_weights(specs, tensors, options);
}

std::vector<float> channels_last(const std::vector<float>& from, int64_t batch, int64_t channels) {
  std::vector<float> to(from.size());
  const int64_t positions = static_cast<int64_t>(from.size()) / (batch * channels);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < positions; ++p) {
        to[(b * positions + p) * channels + c] = from[(b * channels + c) * positions + p];
      }
    }
  }
  return to;
}

GoldenConfig parse_golden_config(const std::string& file, std::string_view text, const Shape& input,
                                 const TensorShapes& parameters) {
  const Json description = parse_strict_json(file, text, kConfigLimits);
  if (is_dense_description(description)) {
    GoldenConfig config;
    config.spec = spec_from(file, plain_description(description), input, parameters);
    set_windows(file, description, input, config.spec.recipe);
    config.images = described_images(file, description, input);
    return config;
  }
  if (!description.contains("config")) {
    fail("{}: expected an object \"config\" with a \"family\"", file);
  }
  if (is_backbone_description(description)) {
    GoldenConfig config;
    config.backbone = true;
    config.spec = spec_from(file, plain_backbone(file, description), input, parameters);
    return config;
  }
  GoldenConfig config;
  config.spec = spec_from(file, description, input, parameters);
  if (!description.contains("activations")) return config;
  // Names of tensors, or shapes by the names of modules.
  const Json& promised = description["activations"];
  if (promised.is_object()) {
    for (const auto& [name, shape] : promised.items()) config.activations.push_back("act/" + name);
    return config;
  }
  if (!promised.is_array()) fail("{}: expected \"activations\" to be an array or an object", file);
  for (const Json& name : promised) {
    if (!name.is_string()) {
      fail("{}: expected \"activations\" to be names, found {}", file, printable(name.dump(), 80));
    }
    config.activations.push_back(name.get<std::string>());
  }
  return config;
}

GoldenCase open_golden_case(const std::string& file) {
  GoldenCase golden;
  golden.file = file;
  golden.tensors = std::make_shared<const Checkpoint>(Checkpoint::open(file));
  const bool scan = golden.tensors->find("q") != nullptr;
  golden.kind = scan ? GoldenCase::Kind::kScan : GoldenCase::Kind::kNetwork;
  const std::string beside = std::filesystem::path(file).replace_extension(".json").string();
  std::error_code error;  // a missing description is reported below, beside what else is missing
  if (!scan && std::filesystem::exists(beside, error) && is_operator_case(beside, golden)) {
    return golden;
  }
  std::vector<std::string> promised;
  if (!scan) {
    const Shape& input = golden.tensor("input").shape;
    if (input.rank() != 4 || input[0] < 1 || input[1] != 3) {
      fail("{}: the input is {}, expected [batch, 3, height, width]", file, input.str());
    }
    const auto parameters = [&](const std::string& name) {
      const NamedTensor* tensor = golden.tensors->find(kParameter + name);
      return tensor == nullptr ? nullptr : &tensor->view.shape;
    };
    const std::string text = read_regular_file(beside, kConfigLimits.bytes);
    GoldenConfig config = parse_golden_config(beside, text, input, parameters);
    for (const PublishedNames& names : find_family(config.spec.family).names) {
      if (parameters(std::string(names.sign)) == nullptr) continue;
      golden.tensors = with_our_modules(*golden.tensors, names);
      config = parse_golden_config(beside, text, input, parameters);
      for (std::string& name : config.activations) name = our_tensor(name, names);
      break;
    }
    golden.images = std::move(config.images);
    if (config.backbone) {
      golden.kind = GoldenCase::Kind::kMaps;
      golden.versions = backbone_versions(config.spec, *golden.tensors);
    } else if (golden.images.empty()) {
      golden.versions = versions_of(config.spec, *golden.tensors);
    } else {
      golden.kind = GoldenCase::Kind::kDense;
      golden.versions = {{config.spec, "", "act/"}};
    }
    golden.spec = golden.versions.at(0).spec;
    promised = std::move(config.activations);
  }
  for (const NamedTensor& tensor : golden.tensors->tensors()) {
    if (!is_known(golden, tensor.name)) {
      fail("{}: tensor \"{}\" is no part of a golden case", file, printable(tensor.name));
    }
  }
  check_promised(golden, beside, promised);
  return golden;
}

}  // namespace vig
