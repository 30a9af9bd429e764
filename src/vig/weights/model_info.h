// What a weight file says about itself, so that one file is all the engine needs. It travels in the
// safetensors `__metadata__` under these keys (every value is text, most of it JSON):
//
//   vig.arch       architecture and variant: vig_t
//   vig.overrides  {"classes": "10", ...}       what differs from the variant's defaults
//   vig.classes    ["cat", "dog", ...]          names of the outputs, in order
//   vig.recipe     {"resize": 256, "crop": 224, "interpolation": "bicubic",
//                   "mean": [r, g, b], "std": [r, g, b]}; of networks that see the whole image
//                   also "framing": "pad" or "stretch", "longest", "multiple", "window_stride"
//   vig.confidence {"temperature": 1.2, "threshold": 0.3}     of a calibrated classifier
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vig/base/confidence.h"
#include "vig/base/recipe.h"
#include "vig/weights/safetensors.h"

namespace vig {

struct ModelInfo {
  std::string arch;
  std::map<std::string, std::string> overrides;
  std::vector<std::string> classes;  // empty: unnamed
  Recipe recipe;
  Confidence confidence = {};

  bool operator==(const ModelInfo&) const = default;
};

// Nothing when there is no `vig.arch`; the other keys may each be absent. Throws on malformed JSON,
// keys given twice and values out of range; `file` begins the message.
std::optional<ModelInfo> read_model_info(const Metadata& metadata, const std::string& file);

// What training recorded under vig.training as smallest_scale: the least factor by which it resized
// images. Nothing where it is absent, or no text of a number above 0: it decides on a warning
// alone.
std::optional<double> read_smallest_scale(const Metadata& metadata);

// Throws for a class name that a weight file cannot hold; `where` begins the message.
void check_class_names(const std::string& where, const std::vector<std::string>& classes);

// Puts `info` into `metadata`, replacing what it said before and keeping all other keys (`format`).
// Throws when the recipe or a text could not be read back.
Metadata encode_model_info(const ModelInfo& info, Metadata metadata = {});

// The text of vig.recipe alone, and back. Both throw where the other could not follow; `where`
// begins the message.
std::string encode_recipe(const Recipe& recipe);
Recipe read_recipe(const std::string& where, const std::string& text);

}  // namespace vig
