#include "vig/verify/golden_dense.h"

#include <set>

#include "vig/base/error.h"
#include "vig/base/printable.h"

namespace vig {
namespace {

// Said about the case or its training, not about the network at work.
const std::set<std::string> kNotes = {"op",          "seed",  "note",   "tolerance",
                                      "tensors",     "train", "images", "original_size",
                                      "param_count", "crop",  "stride", "smallest_score_gap",
                                      "backbone",    "test"};

// [height, width] of the text, by its key.
GridSize size_at(const std::string& file, const Json& from, const char* key) {
  const Json value = from.contains(key) ? from[key] : Json();
  const auto side = [](const Json& one) { return one.is_integer(1, 65536); };
  if (!value.is_array() || value.size() != 2 || !side(value[0]) || !side(value[1])) {
    fail("{}: expected \"{}\" to be [height, width], found {}", file, key,
         printable(value.dump(), 60));
  }
  return {value[0].get<int>(), value[1].get<int>()};
}

}  // namespace

bool is_dense_description(const Json& description) { return description.contains("backbone"); }

Json plain_description(const Json& description) {
  Json config = {{"family", description.contains("fpn_channels") ? "vig_maskrcnn" : "vig_upernet"}};
  for (const auto& [key, value] : description.items()) {
    if (!kNotes.contains(key)) config[key] = value;
  }
  for (const char* part : {"backbone", "test"}) {
    if (!description.contains(part) || !description[part].is_object()) continue;
    for (const auto& [key, value] : description[part].items()) {
      if (key == "silu") {  // one word for two fields
        config["silu_after_dwconv"] = value;
        config["silu_before_o_proj"] = value;
      } else if (key == "interaction_indexes") {  // first and last block of each
        config["interactions"] = value.size();
      } else {
        config[key] = value;
      }
    }
  }
  config.sort_keys();
  return {{"config", config}};
}

std::vector<Placement> described_images(const std::string& file, const Json& description,
                                        const Shape& input) {
  const auto height = static_cast<int>(input[2]), width = static_cast<int>(input[3]);
  std::vector<Placement> images;
  if (description.contains("images")) {
    if (!description["images"].is_array()) fail("{}: expected \"images\" to be an array", file);
    for (const Json& image : description["images"]) {
      const GridSize stored = size_at(file, image, "ori_shape");
      const GridSize resized = size_at(file, image, "img_shape");
      images.push_back(
          {stored.width, stored.height, resized.width, resized.height, 0, 0, width, height});
    }
  } else {
    const GridSize stored = size_at(file, description, "original_size");
    images.push_back({stored.width, stored.height, width, height, 0, 0, width, height});
  }
  if (static_cast<int64_t>(images.size()) != input[0]) {
    fail("{}: describes {} images, but the input is {}", file, images.size(), input.str());
  }
  return images;
}

void set_windows(const std::string& file, const Json& description, const Shape& input,
                 Recipe& recipe) {
  const int side = static_cast<int>(std::min(input[2], input[3]));
  recipe.crop = side;  // the size that the networks are packed at
  recipe.window_stride = 0;
  if (!description.contains("crop")) return;
  const GridSize crop = size_at(file, description, "crop");
  const GridSize stride = size_at(file, description, "stride");
  const bool square = crop.height == crop.width && stride.height == stride.width;
  // Smaller strides would make a small file work for long.
  if (!square || crop.height > side || stride.height > crop.height ||
      4 * stride.height < crop.height) {
    fail(
        "{}: expected square windows within the input that move by a quarter of them or more, "
        "found "
        "\"crop\" {} and \"stride\" {}",
        file, description["crop"].dump(), description["stride"].dump());
  }
  recipe.crop = crop.height;
  recipe.window_stride = stride.height;
}

}  // namespace vig
