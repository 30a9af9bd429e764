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
      } else {
        config[key] = value;
      }
    }
  }
  config.sort_keys();
  return {{"config", config}};
}

bool is_backbone_description(const Json& description) {
  return description.contains("op") && description["op"].is_string() &&
         description.contains("config") && description["config"].is_object() &&
         description["op"].get<std::string>().find("backbone") != std::string::npos;
}

namespace {

// ViT: which blocks have windows, and how large they are, of every block or the same for all.
void join_windows(const std::string& file, Json& config) {
  if (!config.contains("window_attn")) return;
  const Json used = config["window_attn"];
  const Json sizes = config.contains("window_size") ? config["window_size"] : Json();
  config.erase("window_attn");
  config.erase("window_size");
  const auto at = [](const Json& list, size_t i) { return list.is_array() ? list.at(i) : list; };
  const size_t count = used.is_array() ? used.size() : 1;
  Json windows = Json::array();
  for (size_t i = 0; i < count; ++i) {
    const Json on = at(used, i);
    if (!on.is_bool() || (sizes.is_array() && sizes.size() != count)) {
      fail("{}: expected \"window_attn\" and \"window_size\" of every block or of all", file);
    }
    windows.push_back(on.get<bool>() ? at(sizes, i) : Json(0));
  }
  config["windows"] = windows;
}

// Vim: arguments that are left out are off, and rotations and features come in pairs.
void complete_vim(const std::string& file, Json& config) {
  const auto value = [&](const char* key, Json otherwise) {
    return config.contains(key) && !config[key].is_null() ? Json(config[key]) : otherwise;
  };
  const Json rotated = value("if_rope", Json(false)),
             stream = value("use_residual_as_feature", Json(false));
  const Json last = value("last_layer_process", Json("none"));
  if (value("if_rope_residual", Json(false)) != rotated) {
    fail("{}: expected \"if_rope_residual\" to be \"if_rope\", {}", file, rotated.dump());
  }
  if (stream == Json(true) && last != Json("add")) {
    fail("{}: expected \"last_layer_process\" to be \"add\", found {}", file,
         printable(last.dump(), 40));
  }
  config["if_divide_out"] = value("if_divide_out", Json(false));
  config["use_residual_as_feature"] = stream;
  config["if_rope"] = rotated;
  config.erase("if_rope_residual");
  config.erase("last_layer_process");
}

}  // namespace

Json plain_backbone(const std::string& file, const Json& description) {
  const auto op = description["op"].get<std::string>();
  std::string name;
  for (const char letter : op.substr(0, op.find(' '))) {
    name += static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
  }
  const bool detection = op.find("detection") != std::string::npos;
  Json config = description["config"];
  config["family"] = name + (detection ? "_maskrcnn" : "_upernet");
  if (name == "vit") join_windows(file, config);
  if (name == "vim") complete_vim(file, config);
  return {{"config", config}};
}

Graph backbone_graph(const Graph& network) {
  std::vector<bool> needed(network.nodes.size(), false);
  std::vector<Output> maps;
  for (const char* name : {"backbone.f1", "backbone.f2", "backbone.f3", "backbone.f4"}) {
    const int node = network.find_module(name);
    if (node < 0) fail("the network has no map {}", name);
    maps.push_back({name, node});
    needed[static_cast<size_t>(node)] = true;
  }
  for (size_t i = network.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const int input : network.nodes[i].inputs) needed[static_cast<size_t>(input)] = true;
  }
  Graph part;
  std::vector<int> node_at(network.nodes.size(), -1), param_at(network.params.size(), -1);
  for (size_t i = 0; i < network.nodes.size(); ++i) {
    if (!needed[i]) continue;
    Node node = network.nodes[i];
    for (int& input : node.inputs) input = node_at[static_cast<size_t>(input)];
    for (int& param : node.params) {
      int& at = param_at[static_cast<size_t>(param)];
      if (at < 0) {
        at = static_cast<int>(part.params.size());
        part.params.push_back(network.params[static_cast<size_t>(param)]);
      }
      param = at;
    }
    node_at[i] = static_cast<int>(part.nodes.size());
    part.nodes.push_back(std::move(node));
  }
  const auto add = [&](const std::vector<Output>& from, std::vector<Output>& to) {
    for (const Output& entry : from) {
      const int at = node_at[static_cast<size_t>(entry.node)];
      if (at >= 0) to.push_back({entry.name, at});
    }
  };
  add(network.inputs, part.inputs);
  add(network.modules, part.modules);
  add(maps, part.outputs);
  return part;
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
