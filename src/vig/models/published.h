// What publishers of checkpoints do differently: how they name the tensors of a family's networks,
// and how their images are prepared. Plain tables, which stand in the family's file.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "vig/base/recipe.h"

namespace vig {

// One row of a table of names. Rows apply one after the other, each at most once to a name.
struct NameRule {
  // Whole parts of the publisher's name, which dots separate. "#" is any number; "^" in front: at
  // the begin of the name.
  std::string_view from;
  // Ours. "#1" is the first number of `from`; "#2-1" and "#2+1" are the second, one less and more.
  std::string_view to;
  bool drop_ones = false;  // the tensor loses its axes of size 1
};

// Other names of the same tensors.
struct PublishedNames {
  std::string_view publisher;
  std::string_view sign;  // a tensor that only files with these names have
  std::span<const NameRule> rules;
};

struct OurName {
  std::string name;
  bool drop_ones = false;
};
OurName apply_rules(std::string_view name, std::span<const NameRule> rules);

// Fields that the networks of a publisher have and the tensors of a file do not show.
struct PublishedFields {
  std::string_view publisher;
  std::string_view begin;  // of the publisher's name for the network
  std::map<std::string, std::string> fields;
};

// Preprocessing of a published file. Rows without a `begin` are for files that nothing more is
// known of; where a model has none of the publisher's, its first row is.
struct PublishedRecipe {
  std::string_view model;
  std::string_view publisher;
  std::string_view begin;  // of the file's name; empty: of any
  Recipe recipe;
};

constexpr std::string_view kTorchvision = "torchvision", kTimm = "timm";

constexpr Recipe crop_recipe(int resize, int crop, Interpolation interpolation) {
  Recipe recipe;
  recipe.resize = resize;
  recipe.crop = crop;
  recipe.interpolation = interpolation;
  return recipe;
}
constexpr Recipe bilinear_crop(int resize, int crop) {
  return crop_recipe(resize, crop, Interpolation::kBilinear);
}
constexpr Recipe bicubic_crop(int resize, int crop) {
  return crop_recipe(resize, crop, Interpolation::kBicubic);
}
// With values from -1 to 1.
constexpr Recipe symmetric_crop(int resize, int crop) {
  Recipe recipe = bicubic_crop(resize, crop);
  recipe.mean = recipe.std = {0.5f, 0.5f, 0.5f};
  return recipe;
}

}  // namespace vig
