#include "vig/models/registry.h"

#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <functional>

#include "vig/base/error.h"
#include "vig/base/suggestion.h"

namespace vig {
namespace {

using Mixing = VigConfig::Mixing;

// ---- fields by name: each is listed once, here ------------------------------------------------

constexpr std::pair<Mixing, std::string_view> kMixingNames[] = {
    {Mixing::kCausal, "causal"},
    {Mixing::kShared, "shared"},
    {Mixing::kGated, "gated"},
    {Mixing::kTwoLayer, "two_layer"},
};

template <class Config, class Visitor>
void visit_fields(Config& config,
                  Visitor&& visit) requires std::is_same_v<std::remove_const_t<Config>, VigConfig> {
  visit("classes", config.classes);
  visit("image_size", config.image_size);
  visit("patch_size", config.patch_size);
  visit("embed_dim", config.embed_dim);
  visit("depth", config.depth);
  visit("heads", config.heads);
  visit("expand_k", config.expand_k);
  visit("expand_v", config.expand_v);
  visit("conv_stem", config.conv_stem);
  visit("position", config.position);
  visit("locality", config.locality);
  visit("silu_after_dwconv", config.silu_after_dwconv);
  visit("silu_before_o_proj", config.silu_before_o_proj);
  visit("layer_scale", config.layer_scale);
  visit("mixing", config.mixing);
  visit("drop_path", config.drop_path);
}

template <class Config, class Visitor>
void visit_fields(Config& config, Visitor&& visit) requires
    std::is_same_v<std::remove_const_t<Config>, VigHConfig> {
  visit("classes", config.classes);
  visit("image_size", config.image_size);
  visit("patch_size", config.patch_size);
  visit("dims", config.dims);
  visit("depths", config.depths);
  visit("heads", config.heads);
  visit("expand_k", config.expand_k);
  visit("expand_v", config.expand_v);
  visit("drop_path", config.drop_path);
}

// ---- text <-> value ---------------------------------------------------------------------------

[[noreturn]] void bad_value(std::string_view field, std::string_view text,
                            std::string_view expected) {
  fail_usage("field {} is '{}', expected {}", field, text, expected);
}

constexpr int kMaxFieldValue = 1 << 20;

void parse(std::string_view field, std::string_view text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 ||
      value > kMaxFieldValue) {
    bad_value(field, text, fmt::format("a whole number from 1 to {}", kMaxFieldValue));
  }
}

void parse(std::string_view field, std::string_view text, float& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= 64)) {
    bad_value(field, text, "a number from 0 to 64");
  }
}

void parse(std::string_view field, std::string_view text, bool& value) {
  if (text != "true" && text != "false") bad_value(field, text, "true or false");
  value = text == "true";
}

void parse(std::string_view field, std::string_view text, std::vector<int>& value) {
  value.clear();
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    parse(field, text.substr(start, comma - start), value.emplace_back());
    start = comma + 1;
  }
}

void parse(std::string_view field, std::string_view text, Mixing& value) {
  for (const auto& [mixing, name] : kMixingNames) {
    if (name == text) {
      value = mixing;
      return;
    }
  }
  bad_value(field, text, "causal, shared, gated or two_layer");
}

std::string text_of(int value) { return fmt::format("{}", value); }
std::string text_of(float value) { return fmt::format("{}", value); }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(const std::vector<int>& value) {
  return fmt::format("{}", fmt::join(value, ","));
}
std::string text_of(Mixing value) {
  for (const auto& [mixing, name] : kMixingNames) {
    if (mixing == value) return std::string(name);
  }
  return "";
}

// ---- the table --------------------------------------------------------------------------------

VigConfig plain(int embed_dim, int heads, float drop_path) {
  VigConfig config;
  config.embed_dim = embed_dim;
  config.heads = heads;
  config.drop_path = drop_path;
  return config;
}

VigConfig tiny() {
  VigConfig config = plain(192, 3, 0.0f);
  config.silu_after_dwconv = true;
  config.silu_before_o_proj = true;
  return config;
}

// A step of the roadmap: vig_t without what came later.
VigConfig roadmap(bool conv_stem, Mixing mixing, bool position) {
  VigConfig config = tiny();
  config.conv_stem = conv_stem;
  config.mixing = mixing;
  config.position = position;
  config.locality = false;
  config.silu_after_dwconv = false;
  config.silu_before_o_proj = false;
  return config;
}

VigHConfig hierarchical(int width, int third_depth, float drop_path) {
  VigHConfig config;
  config.dims = {width, 2 * width, 4 * width, 8 * width};
  config.depths = {2, 2, third_depth, 2};
  config.heads = {width / 32, width / 16, width / 8, width / 4};
  config.drop_path = drop_path;
  return config;
}

VigConfig test_plain() {
  VigConfig config = tiny();
  config.classes = 10;
  config.image_size = 64;
  config.embed_dim = 64;
  config.depth = 2;
  config.heads = 2;
  return config;
}

VigHConfig test_hierarchical() {
  VigHConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.dims = {16, 32, 64, 128};
  config.depths = {1, 1, 1, 1};
  config.heads = {2, 4, 4, 8};
  return config;
}

std::vector<ModelSpec> make_zoo() {
  const Recipe imagenet;
  const Recipe small = imagenet.with_size(64);
  return {
      {"vig_t", tiny(), imagenet, "plain, tiny", "6M", "0.9G"},
      {"vig_s", plain(384, 6, 0.2f), imagenet, "plain, small", "23M", "3.5G"},
      {"vig_b", plain(768, 12, 0.5f), imagenet, "plain, base", "89M", "13.8G"},
      {"vig_h_t", hierarchical(96, 5, 0.2f), imagenet, "hierarchical, tiny", "29M", "4.5G"},
      {"vig_h_s", hierarchical(96, 17, 0.3f), imagenet, "hierarchical, small", "50M", "8.8G"},
      {"vig_h_b", hierarchical(128, 17, 0.6f), imagenet, "hierarchical, base", "89M", "15.5G"},
      {"gla_t", roadmap(false, Mixing::kCausal, false), imagenet, "roadmap: causal GLA", "5.72M"},
      {"gla_t_stem", roadmap(true, Mixing::kCausal, false), imagenet,
       "roadmap: + improved patch embedding", "5.75M"},
      {"gla_t_bidirectional", roadmap(true, Mixing::kShared, false), imagenet,
       "roadmap: + both directions, one gate", "5.75M"},
      {"gla_t_position", roadmap(true, Mixing::kShared, true), imagenet,
       "roadmap: + position embedding", "5.79M"},
      {"gla_t_gated", roadmap(true, Mixing::kGated, true), imagenet,
       "roadmap: + direction-wise gate", "5.81M"},
      {"gla_t_locality", tiny(), imagenet, "roadmap: + 2-D gated locality = vig_t", "5.83M"},
      {"gla_t_vim", roadmap(true, Mixing::kTwoLayer, false), imagenet,
       "bidirectional table: a second, backward layer", "6.70M"},
      {"test_vig", test_plain(), small, "miniature for tests"},
      {"test_vig_h", test_hierarchical(), small, "miniature for tests"},
  };
}

}  // namespace

const std::vector<ModelSpec>& model_zoo() {
  static const std::vector<ModelSpec> zoo = make_zoo();
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
  bool found = false;
  std::vector<std::string> names;
  std::visit(
      [&](auto& config) {
        visit_fields(config, [&](const char* name, auto& member) {
          names.emplace_back(name);
          if (field != name) return;
          parse(field, value, member);
          found = true;
          if (field == "image_size") spec.recipe = spec.recipe.with_size(config.image_size);
        });
      },
      spec.config);
  if (!found) {
    fail_usage("model {} has no field '{}'{}; its fields are {}", spec.name, field,
               suggestion(field, names), fmt::join(names, ", "));
  }
}

void override_fields(ModelSpec& spec, const std::map<std::string, std::string>& fields) {
  for (const auto& [field, value] : fields) override_field(spec, field, value);
}

std::map<std::string, std::string> model_fields(const ModelSpec& spec) {
  std::map<std::string, std::string> fields;
  std::visit(
      [&](const auto& config) {
        visit_fields(config,
                     [&](const char* name, const auto& member) { fields[name] = text_of(member); });
      },
      spec.config);
  return fields;
}

std::string_view model_family(const ModelSpec& spec) {
  return std::holds_alternative<VigConfig>(spec.config) ? "vig" : "vig_h";
}

ModelSpec family_base(std::string_view family) {
  if (family == "vig") return find_model("vig_s");
  if (family == "vig_h") return find_model("vig_h_t");
  fail_usage("there is no model family '{}'; the families are vig and vig_h", family);
}

int model_classes(const ModelSpec& spec) {
  return std::visit([](const auto& config) { return config.classes; }, spec.config);
}

Graph build_graph(const ModelSpec& spec, int height, int width) {
  return std::visit(
      Overloaded{
          [&](const VigConfig& config) { return build_vig(config, height, width); },
          [&](const VigHConfig& config) { return build_vig_h(config, height, width); },
      },
      spec.config);
}

}  // namespace vig
