#include "vig/data/label_pairs_layout.h"

#include <algorithm>
#include <array>
#include <set>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/utf8.h"
#include "vig/data/archive_formats.h"
#include "vig/data/label_pairs.h"
#include "vig/image/decode.h"

namespace vig {
namespace {

constexpr std::array<std::string_view, 3> kLabelFolders = {"annotations/", "labels/", "masks/"};
constexpr size_t kMaxListBytes = size_t{256} << 20;
constexpr size_t kMaxClassBytes = size_t{4} << 20;

bool is_label_file(std::string_view name) {
  return name.ends_with(".png") || name.ends_with(".PNG");
}

std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) {
    line.remove_suffix(1);
  }
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  return line;
}

// The two names of a line; nothing if it has another number of them.
std::optional<std::pair<std::string_view, std::string_view>> two_names(std::string_view line) {
  const char apart = line.find('\t') != line.npos ? '\t' : ' ';
  const size_t first = line.find(apart), last = line.rfind(apart);
  if (first == line.npos) return {};
  if (line.substr(first, last - first + 1).find_first_not_of(apart) != line.npos) return {};
  return {{line.substr(0, first), line.substr(last + 1)}};
}

// Files below a folder, by their names below it without how they end.
std::map<std::string_view, uint32_t> files_below(const FilesByName& files,
                                                 const std::string& folder, bool labels) {
  std::map<std::string_view, uint32_t> found;
  for (const uint32_t file : files.files()) {
    const std::string_view name = files.name(file);
    if (!name.starts_with(folder)) continue;
    if (!(labels ? is_label_file(name) : has_image_extension(name))) continue;
    found.emplace(without_extension(name.substr(folder.size())), file);
  }
  return found;
}

PairList pair_folders(const FilesByName& files, const std::string& images,
                      const std::string& labels) {
  PairList list;
  const auto of_images = files_below(files, images, false);
  const auto of_labels = files_below(files, labels, true);
  const Archive& archive = *files.archive();
  for (const auto& [name, file] : of_images) {
    const auto found = of_labels.find(name);
    if (found != of_labels.end()) {
      list.pairs.push_back({file, found->second});
    } else {
      list.problems.add(fmt::format("{}: no label map {} for it", archive.location(file),
                                    printable(labels + std::string(name) + ".png", 200)));
    }
  }
  for (const auto& [name, file] : of_labels) {
    if (of_images.contains(name)) continue;
    list.problems.add(fmt::format("{}: no image in {} for it", archive.location(file), images));
  }
  return list;
}

class LayoutFinder {
 public:
  LayoutFinder(const FilesByName& files, bool read_lists)
      : files_(files), read_lists_(read_lists) {}

  std::optional<PairLayout> find() {
    for (const std::string& root : files_.roots()) {
      layout_ = {.root = root, .lists = {}};
      no_pairs_.clear();
      try_lists();
      const bool listed = !layout_.lists.empty();
      if (layout_.lists.empty()) try_annot();
      if (layout_.lists.empty()) try_images();
      if (layout_.lists.empty()) try_splits();
      if (layout_.lists.empty()) continue;
      // Without its list a split would be mixed with the others.
      if (read_lists_ && !no_pairs_.empty() && (listed || layout_.lists.contains(""))) {
        fail("{}: expected an image and its labels on each line, two names apart by a space",
             no_pairs_);
      }
      return layout_;
    }
    return {};
  }

 private:
  // The names of folders in `folder`, of which files hold labels or images.
  std::set<std::string> folders_in(const std::string& folder, bool labels) const {
    std::set<std::string> found;
    for (const uint32_t file : files_.files()) {
      const std::string_view name = files_.name(file);
      if (!name.starts_with(folder)) continue;
      if (!(labels ? is_label_file(name) : has_image_extension(name))) continue;
      const std::string_view below = name.substr(folder.size());
      const size_t slash = below.find('/');
      found.emplace(slash == below.npos ? "" : below.substr(0, slash));
    }
    return found;
  }

  void add(std::string_view split, const std::string& images, const std::string& labels) {
    const auto [list, added] = layout_.lists.try_emplace(std::string(split));
    if (!added) {
      fail("{}: found two folders for the split {}, of which one is {}", files_.archive()->path(),
           split, printable(images));
    }
    list->second = pair_folders(files_, images, labels);
  }

  // train.txt, val.txt, test.txt with pairs of names.
  void try_lists() {
    for (const char* stem : {"train", "training", "val", "valid", "validation", "test"}) {
      const std::optional<uint32_t> file = files_.find(layout_.root + stem + ".txt");
      if (!file || layout_.lists.contains(std::string(split_of(stem)))) continue;
      if (files_.archive()->size(*file).bytes > kMaxListBytes) continue;
      if (!read_lists_ && files_.leads_out(*file)) continue;
      const SharedText text = read_text(files_, *file);
      std::string_view rest = text.text;
      std::string_view line;
      while (!rest.empty() && (line.empty() || line.starts_with('#'))) line = next_line(rest);
      const auto names = two_names(line);
      if (!names || !is_label_file(names->second)) {
        no_pairs_ = files_.archive()->location(*file);
        continue;
      }
      PairList list;
      if (read_lists_) {
        list = read_pair_list(files_, layout_.root, files_.archive()->location(*file), text.text);
      }
      layout_.lists.emplace(split_of(stem), std::move(list));
    }
  }

  void try_annot() {
    for (const std::string& folder : folders_in(layout_.root, true)) {
      constexpr std::string_view kEnd = "annot";
      if (!folder.ends_with(kEnd)) continue;
      const std::string images = folder.substr(0, folder.size() - kEnd.size());
      const std::string_view split = split_of(images);
      if (split.empty()) continue;
      if (files_below(files_, layout_.root + images + "/", false).empty()) continue;
      add(split, layout_.root + images + "/", layout_.root + folder + "/");
    }
  }

  void try_images() {
    const std::string images = layout_.root + "images/";
    for (const std::string_view name : kLabelFolders) {
      const std::string labels = layout_.root + std::string(name);
      const std::set<std::string> found = folders_in(labels, true);
      const std::set<std::string> folders = folders_in(images, false);
      if (found.empty() || folders.empty()) continue;
      const bool splits = std::ranges::all_of(
          folders, [](const std::string& folder) { return !split_of(folder).empty(); });
      if (!splits) return add("", images, labels);
      for (const std::string& folder : folders) {
        if (!found.contains(folder)) continue;  // test images without labels
        add(split_of(folder), images + folder + "/", labels + folder + "/");
        layout_.ade = layout_.ade || (name == "annotations/" && folder == "training");
      }
      if (!layout_.lists.empty()) return;
    }
  }

  void try_splits() {
    for (const std::string& folder : folders_in(layout_.root, true)) {
      const std::string_view split = split_of(folder);
      if (split.empty()) continue;
      const std::string inside = layout_.root + folder + "/";
      if (files_below(files_, inside + "images/", false).empty()) continue;
      for (const std::string_view name : kLabelFolders) {
        const std::string labels = inside + std::string(name);
        if (files_below(files_, labels, true).empty()) continue;
        add(split, inside + "images/", labels);
        break;
      }
    }
  }

  const FilesByName& files_;
  bool read_lists_;
  PairLayout layout_;
  std::string no_pairs_;  // a list that names no pairs
};

// The file that a list names: below `root`, or where an absolute name of another machine ends so.
std::optional<uint32_t> find_listed(const FilesByName& files, const std::string& root,
                                    const std::string& name) {
  const bool absolute = name.starts_with('/');
  const std::string clean = clean_name(name);
  if (const auto found = files.find(root + clean); found || !absolute) return found;
  constexpr int kMostParts = 32;
  std::string_view rest = clean;
  for (int part = 0; part < kMostParts; ++part) {
    const size_t slash = rest.find('/');
    if (slash == rest.npos) break;
    rest.remove_prefix(slash + 1);
    if (const auto found = files.find(root + std::string(rest))) return found;
  }
  return {};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> parse_pair_list(const std::string& name,
                                                                 std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = next_line(text);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.find('\0') != line.npos) fail("{}: line {} holds a zero byte", name, number);
    const auto names = two_names(line);
    if (!names) {
      fail("{}: expected an image and its label map in line {}, found \"{}\"", name, number,
           printable(line, 60));
    }
    pairs.emplace_back(names->first, names->second);
  }
  if (pairs.empty()) fail("{}: expected lines of an image and its label map, found none", name);
  return pairs;
}

PairList read_pair_list(const FilesByName& files, const std::string& root, const std::string& name,
                        std::string_view text) {
  PairList list;
  for (const auto& [image, labels] : parse_pair_list(name, text)) {
    const std::optional<uint32_t> first = find_listed(files, root, image);
    const std::optional<uint32_t> second = find_listed(files, root, labels);
    if (first && second) {
      list.pairs.push_back({*first, *second});
    } else {
      list.problems.add(fmt::format("{}: names {}, which is not there", name,
                                    printable(first ? labels : image, 200)));
    }
  }
  return list;
}

std::optional<PairLayout> find_label_pairs(const FilesByName& files) {
  return LayoutFinder(files, true).find();
}

bool has_label_pairs(const FilesByName& files) {
  return LayoutFinder(files, false).find().has_value();
}

std::vector<std::string> read_pair_classes(const FilesByName& files, const std::string& root) {
  std::vector<std::string> names;
  for (const std::string_view file : {"classes.txt", "objectInfo150.txt"}) {
    const std::optional<uint32_t> found = files.find(root + std::string(file));
    if (!found) continue;
    const std::string location = files.archive()->location(*found);
    if (files.archive()->size(*found).bytes > kMaxClassBytes) {
      fail("{}: {} bytes, expected at most {} (a fixed limit)", location,
           files.archive()->size(*found).bytes, kMaxClassBytes);
    }
    const SharedText text = read_text(files, *found);
    const bool table =
        file != "classes.txt";  // of tabs, with a heading; the last column is the name
    for (std::string_view rest = text.text; !rest.empty();) {
      std::string_view line = next_line(rest);
      if (table) line.remove_prefix(line.rfind('\t') + 1);  // npos + 1 is 0
      for (std::string_view left = line; !left.empty();) {
        if (!take_character(left)) fail("{}: \"{}\" is not UTF-8", location, printable(line, 60));
      }
      names.emplace_back(line);
    }
    while (!names.empty() && names.back().empty()) names.pop_back();
    if (table && !names.empty()) names.erase(names.begin());
    if (names.size() > 255) {
      fail("{}: names {} classes, expected at most 255 (a fixed limit)", location, names.size());
    }
    return names;
  }
  return names;
}

}  // namespace vig
