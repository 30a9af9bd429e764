#include "vig/data/coco_layout.h"

#include <algorithm>
#include <array>
#include <optional>

#include "vig/base/error.h"
#include "vig/base/printable.h"

namespace vig {
namespace {

// The word of a name that is a split, a year behind it included: "train2017".
std::string_view split_word(std::string_view stem) {
  for (size_t begin = 0; begin <= stem.size();) {
    const size_t end = std::min(stem.find_first_of("_-.", begin), stem.size());
    const std::string_view word = stem.substr(begin, end - begin);
    const size_t digits = word.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
    if (!split_of(word.substr(0, digits)).empty()) return word;
    begin = end + 1;
  }
  return "";
}

std::string_view split_of_word(std::string_view word) {
  return split_of(word.substr(0, word.find_last_not_of("0123456789") + 1));
}

std::string_view last_folder(std::string_view folder) {  // without its slash
  if (folder.empty()) return "";
  folder.remove_suffix(1);
  return folder.substr(folder_of(folder).size());
}

// Of COCO's own files, but for other tasks.
bool is_other_task(std::string_view stem) {
  constexpr std::array kOthers = {"captions", "person_keypoints", "panoptic", "stuff",
                                  "image_info"};
  return std::ranges::any_of(kOthers, [&](const char* other) { return stem.starts_with(other); });
}

// How sure a name is: 0 is none.
int likeness(std::string_view stem, std::string_view folder, bool in_root) {
  if (is_other_task(stem)) return 0;
  if (stem.starts_with("instances") || stem == "_annotations.coco") return 3;
  if (last_folder(folder) == "annotations") return 2;
  const bool named = stem.starts_with("annotations") || stem.starts_with("coco");
  return named || (in_root && !split_word(stem).empty()) ? 1 : 0;
}

}  // namespace

CocoLayout find_coco_files(const FilesByName& files) {
  struct Found {
    int likeness;
    uint32_t file;
  };
  std::map<std::string, std::vector<Found>> by_split;
  CocoLayout layout;
  layout.root = files.roots().back();
  // The folder of everything may be that of the annotations alone.
  if (last_folder(layout.root) == "annotations") {
    layout.root = folder_of(layout.root.substr(0, layout.root.size() - 1));
  }
  for (const uint32_t file : files.files()) {
    const std::string_view name = files.name(file);
    if (!name.ends_with(".json")) continue;
    const std::string_view stem = base_name(name), folder = folder_of(name);
    const int like = likeness(stem, folder, folder == layout.root);
    if (like == 0) continue;
    std::string_view split = split_of_word(split_word(stem));
    if (split.empty()) split = split_of_word(last_folder(folder));
    by_split[std::string(split)].push_back({like, file});
  }
  // A file of no split beside files of splits is something else.
  if (by_split.size() > 1) by_split.erase("");
  for (auto& [split, found] : by_split) {
    std::ranges::stable_sort(found, std::greater<>(), &Found::likeness);
    if (found.size() > 1 && found[0].likeness == found[1].likeness) {
      fail("{}: found {} and {}, expected one file of annotations{}", files.archive()->path(),
           printable(files.name(found[0].file)), printable(files.name(found[1].file)),
           split.empty() ? "" : " for " + split);
    }
    layout.files.emplace(split, found.front().file);
  }
  return layout;
}

std::vector<std::string> coco_image_folders(const std::string& root, const std::string& json_folder,
                                            const std::string& stem) {
  std::vector<std::string> words;
  if (const std::string_view word = split_word(stem); !word.empty()) {
    words.emplace_back(word);
    words.emplace_back(split_of_word(word));
  }
  std::vector<std::string> folders;
  const auto add = [&](const std::string& folder) {
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  };
  for (const std::string& word : words) {
    add(root + word + "/");
    add(root + "images/" + word + "/");
    add(json_folder + word + "/");
  }
  add(json_folder);
  add(json_folder + "images/");
  add(root);
  add(root + "images/");
  return folders;
}

}  // namespace vig
