#include "vig/train/pyramid_fields.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <tuple>
#include <vector>

#include "vig/models/pyramid.h"

namespace vig::train {
namespace {

constexpr size_t kStages = std::tuple_size_v<Pyramid>;

// "64,128,256"; empty where there is no such field.
std::vector<int> list_of(const std::map<std::string, std::string>& fields, const char* name) {
  std::vector<int> list;
  const auto found = fields.find(name);
  if (found == fields.end()) return list;
  std::istringstream stream(found->second);
  for (std::string part; std::getline(stream, part, ',');) list.push_back(std::stoi(part));
  return list;
}

}  // namespace

std::map<std::string, std::string> pyramid_fields(const ModelSpec& classifier, ModelSpec spec,
                                                  const std::map<std::string, std::string>& given) {
  const size_t had = list_of(model_fields(spec), "dims").size();
  if (had == 0 || had >= kStages) return {};
  override_fields(spec, given);
  const std::map<std::string, std::string> fields = model_fields(spec);
  std::vector<int> dims = list_of(fields, "dims"), depths = list_of(fields, "depths"),
                   heads = list_of(fields, "heads");
  // Values that fit no network are the caller's, and building it says what is wrong with them.
  if (std::min({dims.size(), depths.size(), heads.size()}) < had) return {};
  const int head_width = std::max(1, dims[had - 1] / std::max(1, heads[had - 1]));
  const int added_heads = std::max(1, dims[had - 1] / 2 / head_width);
  while (dims.size() < kStages) dims.push_back(added_heads * head_width);
  while (depths.size() < kStages) depths.push_back(1);
  while (heads.size() < kStages) heads.push_back(std::max(1, dims[heads.size()] / head_width));

  std::map<std::string, std::string> added;
  const auto add = [&](const std::string& name, std::string value) {
    if (!given.contains(name)) added[name] = std::move(value);
  };
  add("dims", fmt::format("{}", fmt::join(dims, ",")));
  add("depths", fmt::format("{}", fmt::join(depths, ",")));
  add("heads", fmt::format("{}", fmt::join(heads, ",")));
  add("drop_path", model_fields(classifier).at("drop_path"));
  const int width = dims[0];
  for (const auto& [name, channels] : {std::pair{"head_channels", width},
                                       {"auxiliary_channels", width / 2},
                                       {"fpn_channels", width},
                                       {"fc_channels", 2 * width},
                                       {"mask_channels", width}}) {
    const std::vector<int> usual = list_of(fields, name);
    if (!usual.empty() && channels < usual[0]) add(name, std::to_string(std::max(1, channels)));
  }
  return added;
}

}  // namespace vig::train
