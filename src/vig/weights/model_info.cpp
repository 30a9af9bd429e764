#include "vig/weights/model_info.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "vig/base/error.h"
#include "vig/base/json.h"
#include "vig/base/printable.h"
#include "vig/base/utf8.h"
#include "vig/weights/strict_json.h"

namespace vig {
namespace {

constexpr int kMaxSize = 65536;
constexpr int kMaxMultiple = 1024;
// Twenty thousand class names take under a megabyte.
constexpr JsonLimits kClassesLimits{size_t{4} << 20, 1};
constexpr JsonLimits kFieldsLimits{size_t{64} << 10, 2};

Interpolation interpolation_from(const std::string& where, const Json& value) {
  if (value == "bilinear") return Interpolation::kBilinear;
  if (value == "bicubic") return Interpolation::kBicubic;
  fail("{}: expected interpolation \"bilinear\" or \"bicubic\", found {}", where,
       printable(value.dump(), 40));
}

Framing framing_from(const std::string& where, const Json& value) {
  if (value == "pad") return Framing::kPad;
  if (value == "stretch") return Framing::kStretch;
  fail("{}: expected framing \"pad\" or \"stretch\", found {}", where, printable(value.dump(), 40));
}

int size_from(const std::string& where, const std::string& key, const Json& value, int least = 1) {
  if (!value.is_integer(least, kMaxSize)) {
    fail("{}: expected {} from {} to {}, found {}", where, key, least, kMaxSize,
         printable(value.dump(), 40));
  }
  return value.get<int>();
}

std::array<float, 3> channels_from(const std::string& where, const std::string& key,
                                   const Json& value) {
  std::array<float, 3> channels{};
  bool good = value.is_array() && value.size() == channels.size();
  for (size_t i = 0; good && i < channels.size(); ++i) {
    good = value[i].is_number();
    if (good) channels[i] = static_cast<float>(value[i].get<double>());
  }
  if (!good) {
    fail("{}: expected {} to be three numbers, found {}", where, key, printable(value.dump(), 40));
  }
  return channels;
}

// The fields of a framing without a crop.
void check_whole(const std::string& where, const Recipe& recipe) {
  if (recipe.longest < recipe.resize || recipe.longest > kMaxSize) {
    fail("{}: expected longest from resize {} to {}, found {}", where, recipe.resize, kMaxSize,
         recipe.longest);
  }
  if (recipe.multiple < 1 || recipe.multiple > kMaxMultiple) {
    fail("{}: expected multiple from 1 to {}, found {}", where, kMaxMultiple, recipe.multiple);
  }
  if (recipe.window_stride < 0 || recipe.window_stride > recipe.crop) {
    fail("{}: expected window_stride from 0 to crop {}, found {}", where, recipe.crop,
         recipe.window_stride);
  }
}

// Also what the writer checks, so that no file is written that cannot be read.
void check_recipe(const std::string& where, const Recipe& recipe) {
  for (int size : {recipe.resize, recipe.crop}) {
    if (size < 1 || size > kMaxSize) {
      fail("{}: expected sizes from 1 to {}, found {}", where, kMaxSize, size);
    }
  }
  if (recipe.framing == Framing::kCrop) {
    if (recipe.crop > recipe.resize) {
      fail("{}: expected crop to be at most resize {}, found {}", where, recipe.resize,
           recipe.crop);
    }
  } else {
    check_whole(where, recipe);
  }
  for (size_t c = 0; c < 3; ++c) {
    if (!std::isfinite(recipe.mean[c])) {
      fail("{}: expected a finite mean, found {}", where, recipe.mean[c]);
    }
    if (!std::isfinite(recipe.std[c]) || recipe.std[c] <= 0.0f) {
      fail("{}: expected std above 0, found {}", where, recipe.std[c]);
    }
  }
}

// Temperatures beyond these make all classes alike, or one certain.
void check_confidence(const std::string& where, const Confidence& confidence) {
  if (!(confidence.temperature >= 0.01 && confidence.temperature <= 100)) {
    fail("{}: expected temperature from 0.01 to 100, found {}", where, confidence.temperature);
  }
  if (!(confidence.threshold >= 0 && confidence.threshold <= 1)) {
    fail("{}: expected threshold from 0 to 1, found {}", where, confidence.threshold);
  }
}

constexpr std::string_view kRecipeKeys[] = {"resize",  "crop",     "interpolation",
                                            "mean",    "std",      "framing",
                                            "longest", "multiple", "window_stride"};

Recipe recipe_from(const std::string& where, const Json& value) {
  if (!value.is_object()) fail("{}: expected a JSON object", where);
  // An unknown key would be a preprocessing operation that we silently leave out.
  for (const auto& [key, unused] : value.items()) {
    if (std::ranges::find(kRecipeKeys, key) == std::end(kRecipeKeys)) {
      fail("{}: unknown key \"{}\"", where, printable(key, 40));
    }
  }
  const auto at = [&](const char* key) -> const Json& {
    if (!value.contains(key)) fail("{}: expected \"{}\", found none", where, key);
    return value[key];
  };
  Recipe recipe;
  recipe.resize = size_from(where, "resize", at("resize"));
  recipe.crop = size_from(where, "crop", at("crop"));
  recipe.interpolation = interpolation_from(where, at("interpolation"));
  recipe.mean = channels_from(where, "mean", at("mean"));
  recipe.std = channels_from(where, "std", at("std"));
  if (value.contains("framing")) {
    recipe.framing = framing_from(where, value["framing"]);
    recipe.longest = size_from(where, "longest", at("longest"));
    recipe.multiple = size_from(where, "multiple", at("multiple"));
    recipe.window_stride = size_from(where, "window_stride", at("window_stride"), 0);
  } else {
    for (const char* key : {"longest", "multiple", "window_stride"}) {
      if (value.contains(key)) fail("{}: found \"{}\" without \"framing\"", where, key);
    }
  }
  check_recipe(where, recipe);
  return recipe;
}

std::map<std::string, std::string> overrides_from(const std::string& where, const Json& value) {
  if (!value.is_object()) fail("{}: expected a JSON object", where);
  std::map<std::string, std::string> overrides;
  for (const auto& [key, setting] : value.items()) {
    if (setting.is_string()) {
      overrides[key] = setting.get<std::string>();
    } else if (setting.is_number() || setting.is_bool()) {  // as people write them by hand
      overrides[key] = setting.dump();
    } else {
      fail("{}: expected a text for \"{}\"", where, printable(key, 40));
    }
  }
  return overrides;
}

Confidence confidence_from(const std::string& where, const Json& value) {
  if (!value.is_object()) fail("{}: expected a JSON object", where);
  Confidence confidence;
  for (const auto& [key, number] : value.items()) {
    const bool temperature = key == "temperature";
    if (!temperature && key != "threshold") {
      fail("{}: unknown key \"{}\"", where, printable(key, 40));
    }
    if (!number.is_number()) {
      fail("{}: expected {} to be a number, found {}", where, key, printable(number.dump(), 40));
    }
    (temperature ? confidence.temperature : confidence.threshold) = number.get<double>();
  }
  check_confidence(where, confidence);
  return confidence;
}

std::vector<std::string> classes_from(const std::string& where, const Json& value) {
  if (!value.is_array()) fail("{}: expected a JSON array", where);
  std::vector<std::string> classes;
  for (const Json& name : value) {
    if (!name.is_string()) fail("{}: expected names, found {}", where, printable(name.dump(), 40));
    classes.push_back(name.get<std::string>());
  }
  return classes;
}

// 0.485f as 0.485, not as the 17 digits of the double beside it.
Json shortest(const std::array<float, 3>& channels) {
  Json list = Json::array();
  for (float value : channels) {
    const std::string text = fmt::format("{}", value);
    const bool whole = text.find_first_of(".e") == std::string::npos;
    list.push_back(whole ? Json(static_cast<int64_t>(value))
                         : Json(std::strtod(text.c_str(), nullptr)));
  }
  return list;
}

}  // namespace

std::optional<ModelInfo> read_model_info(const Metadata& metadata, const std::string& file) {
  const auto arch = metadata.find("vig.arch");
  if (arch == metadata.end()) return std::nullopt;
  ModelInfo info;
  info.arch = arch->second;
  if (info.arch.empty()) fail("{}: metadata vig.arch: expected a name, found nothing", file);
  const auto read = [&](const std::string& key, const JsonLimits& limits, auto decode, auto& into) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) return;
    const std::string where = fmt::format("{}: metadata {}", file, key);
    into = decode(where, parse_strict_json(where, found->second, limits));
  };
  read("vig.overrides", kFieldsLimits, overrides_from, info.overrides);
  read("vig.classes", kClassesLimits, classes_from, info.classes);
  read("vig.recipe", kFieldsLimits, recipe_from, info.recipe);
  read("vig.confidence", kFieldsLimits, confidence_from, info.confidence);
  return info;
}

std::optional<double> read_smallest_scale(const Metadata& metadata) {
  const auto found = metadata.find("vig.training");
  if (found == metadata.end()) return std::nullopt;
  std::string text;
  try {
    const Json words = parse_strict_json("vig.training", found->second, kFieldsLimits);
    if (words.contains("smallest_scale")) text = words["smallest_scale"].get<std::string>();
  } catch (const Error&) {  // not written by this program
  }
  double scale = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, scale);
  if (error != std::errc() || last != end || !std::isfinite(scale) || scale <= 0) {
    return std::nullopt;
  }
  return scale;
}

void check_class_names(const std::string& where, const std::vector<std::string>& classes) {
  for (const std::string& name : classes) {
    if (!is_utf8(name)) {
      fail("{}: the class name \"{}\" is not in UTF-8, as weight files must be", where,
           printable(name));
    }
  }
}

Metadata encode_model_info(const ModelInfo& info, Metadata metadata) {
  if (info.arch.empty()) fail("metadata vig.arch: expected a name, found nothing");
  check_class_names("metadata vig.classes", info.classes);
  for (const auto& [field, value] : info.overrides) {
    if (is_utf8(field) && is_utf8(value)) continue;
    fail("metadata vig.overrides: expected UTF-8 text, found something else");
  }
  metadata["vig.arch"] = info.arch;
  metadata["vig.overrides"] = Json(info.overrides).dump();
  metadata["vig.classes"] = Json(info.classes).dump();
  metadata["vig.recipe"] = encode_recipe(info.recipe);
  metadata.erase("vig.confidence");
  if (info.confidence != Confidence()) {
    check_confidence("metadata vig.confidence", info.confidence);
    metadata["vig.confidence"] = Json{
        {"temperature", info.confidence.temperature},
        {"threshold",
         info.confidence.threshold}}.dump();
  }
  return metadata;
}

std::string encode_recipe(const Recipe& recipe) {
  check_recipe("metadata vig.recipe", recipe);
  Json words = {
      {"resize", recipe.resize},
      {"crop", recipe.crop},
      {"interpolation", recipe.interpolation == Interpolation::kBilinear ? "bilinear" : "bicubic"},
      {"mean", shortest(recipe.mean)},
      {"std", shortest(recipe.std)}};
  if (recipe.framing != Framing::kCrop) {
    words["framing"] = recipe.framing == Framing::kPad ? "pad" : "stretch";
    words["longest"] = recipe.longest;
    words["multiple"] = recipe.multiple;
    words["window_stride"] = recipe.window_stride;
  }
  words.sort_keys();
  return words.dump();
}

Recipe read_recipe(const std::string& where, const std::string& text) {
  return recipe_from(where, parse_strict_json(where, text, kFieldsLimits));
}

}  // namespace vig
