#include "vig/pipeline/published_file.h"

#include <algorithm>
#include <filesystem>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/regular_file.h"
#include "vig/weights/strict_json.h"

namespace vig {
namespace {

constexpr JsonLimits kConfigLimits{size_t{1} << 20, 4};

Shape without_ones(const Shape& shape) {
  std::vector<int64_t> sizes;
  for (int64_t size : shape.sizes()) {
    if (size != 1) sizes.push_back(size);
  }
  return Shape(std::move(sizes));
}

// Three numbers from 0 to 1, or above 0.
std::array<float, 3> colours(const std::string& file, const Json& config, const char* key,
                             bool positive) {
  std::array<float, 3> values{};
  const Json& list = config.at(key);
  if (!list.is_array() || list.size() != values.size()) {
    fail("{}: {} is {}, expected three numbers", file, key, printable(list.dump(), 80));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = list.at(i).get<double>();
    if (!(value >= 0 && value <= 1 && (!positive || value > 1e-3))) {
      fail("{}: {} is {}, expected numbers from 0 to 1", file, key, printable(list.dump(), 80));
    }
    values[i] = static_cast<float>(value);
  }
  return values;
}

// As timm prepares images: the short side becomes the input over crop_pct, rounded down.
Recipe timm_recipe(const std::string& file, const Json& config) {
  const Json& size = config.at("input_size");
  if (!size.is_array() || size.size() != 3 || size.at(size_t{1}) != size.at(size_t{2}) ||
      !size.at(size_t{1}).is_integer(1, 8192)) {
    fail("{}: input_size is {}, expected [3, N, N]", file, printable(size.dump(), 80));
  }
  const double crop_pct = config.at("crop_pct").get<double>();
  if (!(crop_pct >= 0.125 && crop_pct <= 1)) {
    fail("{}: crop_pct is {}, expected a number from 0.125 to 1", file, crop_pct);
  }
  const std::string interpolation = config.at("interpolation").get<std::string>();
  if (interpolation != "bilinear" && interpolation != "bicubic") {
    fail("{}: interpolation is \"{}\", expected bilinear or bicubic", file,
         printable(interpolation, 40));
  }
  const int crop = size.at(size_t{1}).get<int>();
  Recipe recipe =
      crop_recipe(static_cast<int>(crop / crop_pct), crop,
                  interpolation == "bilinear" ? Interpolation::kBilinear : Interpolation::kBicubic);
  recipe.mean = colours(file, config, "mean", false);
  recipe.std = colours(file, config, "std", true);
  return recipe;
}

bool is_built(const std::string& architecture) {
  return std::ranges::any_of(model_families(), [&](const Family& family) {
    return std::ranges::any_of(family.timm_networks, [&](std::string_view begin) {
      return architecture.starts_with(begin);
    });
  });
}

// Prefers the row whose begin is the longest of those that the file's name has. Else those for any
// file count, or all where there are none: one for the network's input size, or the first.
const PublishedRecipe* find_recipe(const ModelSpec& spec, std::string_view publisher,
                                   const std::string& network) {
  const PublishedRecipe* named = nullptr;
  std::vector<const PublishedRecipe*> all, general;
  for (const PublishedRecipe& row : find_family(spec.family).recipes) {
    if (row.model != spec.name || row.publisher != publisher) continue;
    all.push_back(&row);
    if (row.begin.empty()) {
      general.push_back(&row);
    } else if (network.starts_with(row.begin) &&
               (named == nullptr || row.begin.size() > named->begin.size())) {
      named = &row;
    }
  }
  if (named != nullptr || all.empty()) return named;
  if (general.empty()) general = std::move(all);
  const auto sized = std::ranges::find_if(general, [&](const PublishedRecipe* row) {
    return row->recipe.crop == spec.config->image_size;
  });
  return sized != general.end() ? *sized : general.front();
}

}  // namespace

FileOrigin origin_of_name(const std::string& path) {
  return {std::filesystem::path(path).stem().string(), std::nullopt};
}

FileOrigin origin_of_file(const std::string& path) {
  FileOrigin origin = origin_of_name(path);
  const std::filesystem::path file(path);
  if (file.filename() != "model.safetensors" && file.filename() != "pytorch_model.bin") {
    return origin;
  }
  const std::string beside = (file.parent_path() / "config.json").string();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(beside, ignored)) return origin;
  try {
    const Json all =
        parse_strict_json(beside, read_regular_file(beside, kConfigLimits.bytes), kConfigLimits);
    // Of other libraries, which have other keys.
    if (!all.is_object() || !all.contains("architecture") || !all.contains("pretrained_cfg")) {
      return origin;
    }
    origin.network = all.at("architecture").get<std::string>();
    if (!is_built(origin.network)) fail("timm's {}: not built", printable(origin.network, 80));
    origin.recipe = timm_recipe(beside, all.at("pretrained_cfg"));
  } catch (const JsonError&) {
    fail("{}: expected timm's description of a network", beside);
  }
  return origin;
}

const PublishedNames* published_names(const Family& family, const Checkpoint& checkpoint) {
  const auto found = std::ranges::find_if(family.names, [&](const PublishedNames& names) {
    return checkpoint.find(names.sign) != nullptr;
  });
  return found == family.names.end() ? nullptr : &*found;
}

std::shared_ptr<const Checkpoint> with_our_names(const Checkpoint& checkpoint,
                                                 const PublishedNames& names) {
  return std::make_shared<const Checkpoint>(checkpoint.renamed([&](NamedTensor& tensor) {
    OurName ours = apply_rules(tensor.name, names.rules);
    tensor.name = std::move(ours.name);
    if (ours.drop_ones) tensor.view.shape = without_ones(tensor.view.shape);
  }));
}

std::string adopt_publication(ModelSpec& spec, const PublishedNames* names,
                              const FileOrigin& origin) {
  const Family& family = find_family(spec.family);
  const std::string_view publisher = names != nullptr ? names->publisher : family.publisher;
  for (const PublishedFields& row : family.published_fields) {
    if (row.publisher != publisher || !origin.network.starts_with(row.begin)) continue;
    override_fields(spec, row.fields);
  }
  if (origin.recipe) {
    spec.recipe = *origin.recipe;
    return "config.json";
  }
  const PublishedRecipe* row = find_recipe(spec, publisher, origin.network);
  if (row == nullptr) return "";
  spec.recipe = row->recipe;
  const bool named = !row->begin.empty() && origin.network.starts_with(row->begin);
  if (!named && row->recipe.crop != spec.config->image_size &&
      spec.config->image_size != find_model(spec.name).config->image_size) {
    spec.recipe = row->recipe.with_size(spec.config->image_size);
  }
  return std::string(publisher);
}

}  // namespace vig
