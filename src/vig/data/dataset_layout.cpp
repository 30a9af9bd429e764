#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/data/archive_formats.h"
#include "vig/data/csv_list.h"
#include "vig/data/dataset.h"
#include "vig/data/dataset_checks.h"
#include "vig/data/image_store.h"
#include "vig/data/shards.h"
#include "vig/image/decode.h"

namespace vig {
namespace {

constexpr std::string_view kLayout =
    "CLASS/IMAGE or {train,val,test}/CLASS/IMAGE, with one folder for each class";

constexpr std::array kSplitNames = {"train", "val", "test"};
enum { kTrain, kVal, kTest };

int find_split(std::string_view folder) {
  if (folder == "valid" || folder == "validation") return kVal;
  const auto found = std::ranges::find(kSplitNames, folder);
  return found == kSplitNames.end() ? -1 : static_cast<int>(found - kSplitNames.begin());
}

// What desktops and tools leave behind, ".." included.
bool is_hidden(std::string_view name) {
  const auto hidden = [](char before, char c) { return before == '/' && c == '.'; };
  return name.starts_with('.') || std::ranges::adjacent_find(name, hidden) != name.end() ||
         name.starts_with("__MACOSX/");
}

// The first folder of a name, empty if it has none.
std::string_view first_folder(std::string_view name) {
  const size_t slash = name.find('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

}  // namespace

class DatasetReader {
 public:
  DatasetReader(const std::string& path, const DatasetOptions& options)
      : path_(path),
        options_(options),
        archive_(open_archive(path, options.archive)),
        store_(std::make_shared<ImageStore>(archive_, options.decode, options.cache_bytes)) {}

  DatasetSplits read() {
    find_images();
    const std::string root = find_root();
    const std::set<std::string_view> tops = folders_with_images(root);
    const bool splits = !tops.empty() && std::ranges::all_of(tops, [](std::string_view name) {
      return find_split(name) >= 0;
    });
    DatasetSplits result;
    result.ignored = ignored_;
    if (splits) {
      read_splits(root, tops, result);
    } else {
      refuse_half_splits(root, tops);
      result.whole = read_classes(root);
    }
    check_classes(path_, result, options_.min_classes, fmt::format("the layout {}", kLayout));
    return result;
  }

 private:
  struct Entry {
    std::string_view name;
    uint32_t file;
  };

  struct Other {  // than an image
    std::string_view name;
    bool folder;
  };

  static std::string expected() { return fmt::format("expected {}", kLayout); }

  void find_images() {
    const std::vector<std::string>& files = archive_->files();
    if (files.size() > std::numeric_limits<uint32_t>::max()) {
      fail("{}: {} files, expected fewer than 2^32", path_, files.size());
    }
    for (size_t i = 0; i < files.size(); ++i) {
      const bool hidden = is_hidden(files[i]);
      if (!hidden && has_image_extension(files[i])) {
        images_.push_back({files[i], static_cast<uint32_t>(i)});
        continue;
      }
      ++ignored_;
      if (!hidden) others_.push_back({files[i], false});
    }
    for (const std::string& folder : archive_->folders()) {
      if (!is_hidden(folder + "/")) others_.push_back({folder, true});
    }
    if (images_.empty()) {
      fail("{}: found no images among {} files, where images end in {}; {}", path_, files.size(),
           fmt::join(image_extensions(), " "), expected() + unsupported());
    }
  }

  // What all images' names begin with, up to its last folder that is neither a split nor a class.
  // Found in one pass over the names, which may be thousands of folders deep.
  std::string find_root() const {
    const std::string_view first = images_.front().name;
    size_t common = first.size();
    for (const Entry& image : images_) {
      const std::string_view name = image.name;
      const auto differ = std::ranges::mismatch(first.substr(0, common), name).in1;
      common = static_cast<size_t>(differ - first.begin());
      // The last folder of an image is its class.
      const size_t file = name.rfind('/');
      const size_t label = file == 0 || file == std::string_view::npos ? std::string_view::npos
                                                                       : name.rfind('/', file - 1);
      common = label == std::string_view::npos ? 0 : std::min(common, label + 1);
    }
    size_t root = 0;
    for (size_t slash; (slash = first.find('/', root)) < common; root = slash + 1) {
      if (find_split(first.substr(root, slash - root)) >= 0) break;
    }
    return std::string(first.substr(0, root));
  }

  // Of images and names below a folder, its own name taken off.
  template <class Visit>
  void visit_images(const std::string& folder, const Visit& visit) const {
    for (const Entry& image : images_) {
      if (image.name.starts_with(folder)) visit(image.name.substr(folder.size()), image.file);
    }
  }

  std::set<std::string_view> folders_with_images(const std::string& root) const {
    std::set<std::string_view> folders;
    visit_images(root, [&](std::string_view name, uint32_t) {
      const std::string_view folder = first_folder(name);
      if (!folder.empty()) folders.insert(folder);
    });
    return folders;
  }

  // "train" may be a class of vehicles, but not if it holds folders only.
  void refuse_half_splits(const std::string& root, const std::set<std::string_view>& tops) const {
    for (const std::string_view top : tops) {
      if (find_split(top) < 0) continue;
      bool folders_only = true;
      visit_images(root + std::string(top) + "/", [&](std::string_view name, uint32_t) {
        folders_only = folders_only && !first_folder(name).empty();
      });
      if (!folders_only) continue;
      std::vector<std::string_view> others;
      std::ranges::copy_if(tops, std::back_inserter(others),
                           [](std::string_view name) { return find_split(name) < 0; });
      fail("{}: found \"{}\" with folders inside, but beside it {}; {}", path_, top,
           list_some(others), expected());
    }
  }

  Dataset read_classes(const std::string& folder) const {
    std::map<std::string_view, int32_t> labels;
    visit_images(folder, [&](std::string_view name, uint32_t) {
      const std::string_view label = first_folder(name);
      if (label.empty()) {
        fail("{}: the image \"{}\" lies in no class folder; {}", path_,
             printable(folder + std::string(name)), expected() + unsupported());
      }
      labels.emplace(label, 0);
    });
    refuse_empty_classes(folder, labels);

    Dataset dataset;
    dataset.store_ = store_;
    dataset.classes_ = number_classes(labels);
    dataset.prefix_ = folder.size();
    visit_images(folder, [&](std::string_view name, uint32_t file) {
      dataset.samples_.push_back({file, labels.find(first_folder(name))->second});
    });
    dataset.sort();
    return dataset;
  }

  void refuse_empty_classes(const std::string& folder,
                            const std::map<std::string_view, int32_t>& labels) const {
    for (const Other& other : others_) {
      if (!other.name.starts_with(folder)) continue;
      const std::string_view below = other.name.substr(folder.size());
      const bool itself = other.folder && below.find('/') == std::string_view::npos;
      const std::string_view label = itself ? below : first_folder(below);
      if (label.empty() || labels.contains(label)) continue;
      fail("{}: the folder \"{}\" holds no images, which end in {}; {}", path_,
           printable(folder + std::string(label)), fmt::join(image_extensions(), " "),
           expected() + unsupported());
    }
  }

  void read_splits(const std::string& root, const std::set<std::string_view>& tops,
                   DatasetSplits& result) const {
    const std::array<std::optional<Dataset>*, 3> splits = {&result.train, &result.val,
                                                           &result.test};
    visit_images(root, [&](std::string_view name, uint32_t) {
      if (first_folder(name).empty()) ++result.ignored;  // it lies beside the splits
    });
    std::array<std::vector<std::string_view>, 3> folders;
    for (const std::string_view top : tops) {
      folders[static_cast<size_t>(find_split(top))].push_back(top);
    }
    for (size_t i = 0; i < splits.size(); ++i) {
      if (!folders[i].empty()) result.there.emplace_back(kSplitNames[i]);
    }
    for (const std::string& name : options_.splits) {
      const auto i = static_cast<size_t>(find_split(name));
      if (folders[i].empty() || *splits[i]) continue;
      if (folders[i].size() > 1) {
        fail("{}: found {}, expected one of them", path_, fmt::join(folders[i], ", "));
      }
      *splits[i] = read_classes(root + std::string(folders[i].front()) + "/");
      if (options_.first_split_only) return;
    }
  }

  // A word on labels that are kept in files, where there are such; else empty.
  std::string unsupported() const {
    for (const std::string& file : archive_->files()) {
      if (is_hidden(file)) continue;
      if (file.ends_with(".csv")) return list_hint(file);
      const std::string_view labels = label_format(file);
      if (labels.empty()) continue;
      return fmt::format("; {} ({}) are not supported", labels, printable(file));
    }
    return "";
  }

  std::string list_hint(const std::string& file) const {
    std::error_code ignored;
    return std::filesystem::is_directory(path_, ignored)
               ? fmt::format(
                     "; if {} has rows of a path and a label, name it instead of the folder",
                     printable(file))
               : fmt::format("; lists of labels ({}) are not read from archives", printable(file));
  }

  const std::string& path_;
  const DatasetOptions& options_;
  const std::shared_ptr<const Archive> archive_;
  const std::shared_ptr<const ImageStore> store_;
  std::vector<Entry> images_;
  std::vector<Other> others_;
  size_t ignored_ = 0;
};

DatasetSplits open_dataset(const std::string& path, const DatasetOptions& options) {
  for (const std::string& name : options.splits) {
    if (find_split(name) < 0) {
      fail_usage("[data] the split {} is asked for, expected {}", name,
                 fmt::join(kSplitNames, ", "));
    }
  }
  if (is_csv_list(path)) return open_csv_dataset(path, options);
  if (const std::vector<std::string> shards = find_shards(path); !shards.empty()) {
    return open_shard_dataset(path, shards, options);
  }
  return DatasetReader(path, options).read();
}

}  // namespace vig
