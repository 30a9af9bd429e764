#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <limits>
#include <map>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/regular_file.h"
#include "vig/data/dataset.h"
#include "vig/data/dataset_checks.h"
#include "vig/data/dense_files.h"
#include "vig/data/image_store.h"
#include "vig/data/shards.h"

namespace vig {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxNamesFile = size_t{16} << 20;

// The split that a shard's name has as a word, "imagenet-train-000.tar"; empty: none.
std::string split_of_shard(const std::string& path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kWords = {
      {{"train", "train"},
       {"val", "val"},
       {"valid", "val"},
       {"validation", "val"},
       {"test", "test"}}};
  const std::string stem = fs::path(path).stem().string();
  const auto in_word = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  for (size_t begin = 0; begin < stem.size();) {
    size_t end = begin;
    while (end < stem.size() && in_word(stem[end])) ++end;
    const std::string_view word = std::string_view(stem).substr(begin, end - begin);
    for (const auto& [name, split] : kWords) {
      if (word == name) return std::string(split);
    }
    begin = end + 1;
  }
  return "";
}

bool is_index(std::string_view label) {
  return !label.empty() && label.size() < 10 &&
         std::ranges::all_of(label, [](char c) { return c >= '0' && c <= '9'; });
}

// Names of classes 0, 1, ... in FOLDER/classes.txt, a line each; none where there is no such file.
std::vector<std::string> class_names_of(const std::string& folder) {
  const std::string path = (fs::path(folder) / "classes.txt").string();
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  const std::string text = read_regular_file(path, kMaxNamesFile);
  std::vector<std::string> names;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    names.emplace_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

}  // namespace

class ShardDatasetReader {
 public:
  ShardDatasetReader(const std::string& path, const DatasetOptions& options)
      : path_(path), options_(options) {}

  DatasetSplits read(const std::vector<std::string>& all) {
    DatasetSplits result;
    find_splits(all, result);
    const std::vector<std::string> chosen =
        choose_splits(options_.splits, result.there, options_.first_split_only);
    std::vector<std::string> shards;
    for (const std::string& shard : all) {
      const std::string split = split_of_shard(shard);
      if (result.there.empty() || std::ranges::find(chosen, split) != chosen.end()) {
        shards.push_back(shard);
      }
    }
    if (shards.empty()) return result;
    archive_ = std::make_shared<const ShardArchive>(shards);
    if (archive_->files().size() > std::numeric_limits<int32_t>::max()) {
      fail("{}: {} images, expected fewer than 2^31", path_, archive_->files().size());
    }
    store_ = std::make_shared<ImageStore>(archive_, options_.decode, options_.cache_bytes);
    names_ = class_names_of(archive_->path());
    result.ignored = archive_->ignored();
    if (result.there.empty()) result.whole = make_dataset("");
    for (const std::string& split : chosen) {
      auto& to = split == "train" ? result.train : split == "val" ? result.val : result.test;
      to = make_dataset(split);
    }
    check_classes(path_, result, options_.min_classes, "its shards");
    return result;
  }

 private:
  void find_splits(const std::vector<std::string>& all, DatasetSplits& result) const {
    std::map<std::string, std::string> splits;  // to one of its shards
    for (const std::string& shard : all) splits.emplace(split_of_shard(shard), shard);
    if (splits.size() > 1 && splits.contains("")) {
      fail("{}: {} is named after a split, {} is not; expected all or none of them", path_,
           splits.rbegin()->second, splits.at(""));
    }
    for (const char* name : {"train", "val", "test"}) {
      if (splits.contains(name)) result.there.emplace_back(name);
    }
  }

  // In the order in which it is read.
  Dataset make_dataset(const std::string& split) const {
    std::vector<uint32_t> files;
    std::map<std::string_view, int32_t> labels;
    std::vector<bool> own;  // shards of the split
    for (size_t i = 0; i < archive_->shard_count(); ++i) {
      own.push_back(split_of_shard(archive_->shard_path(i)) == split);
    }
    for (size_t i = 0; i < archive_->files().size(); ++i) {
      if (!own[archive_->shard(i)]) continue;
      const std::string& label = archive_->label(i);
      if (label.empty()) {
        fail(
            "{}: no class, expected CLASS/IMAGE, or beside KEY.jpg a KEY.cls or a KEY.json with "
            "\"cls\" or \"label\"",
            archive_->location(i));
      }
      labels.emplace(label, 0);
      files.push_back(static_cast<uint32_t>(i));
    }
    if (files.empty()) fail("{}: its shards hold no images", path_);
    Dataset dataset;
    dataset.store_ = store_;
    dataset.classes_ = number(labels);
    for (const uint32_t file : files) {
      dataset.samples_.push_back({file, labels.find(archive_->label(file))->second});
    }
    return dataset;
  }

  // Numbers in their own order, with the names of classes.txt; names in that of their bytes.
  std::shared_ptr<const std::vector<std::string>> number(
      std::map<std::string_view, int32_t>& labels) const {
    if (!std::ranges::all_of(labels, [](const auto& one) { return is_index(one.first); })) {
      return number_classes(labels);
    }
    std::map<int, std::vector<int32_t*>> in_order;  // "7" and "07" are one class
    for (auto& [text, label] : labels) in_order[std::stoi(std::string(text))].push_back(&label);
    auto classes = std::make_shared<std::vector<std::string>>();
    for (const auto& [index, texts] : in_order) {
      for (int32_t* label : texts) *label = static_cast<int32_t>(classes->size());
      if (names_.empty()) {
        classes->push_back(fmt::format("{}", index));
        continue;
      }
      if (static_cast<size_t>(index) >= names_.size()) {
        fail("{}: the class {}, but classes.txt names {} classes, counted from 0", path_, index,
             names_.size());
      }
      classes->push_back(names_[static_cast<size_t>(index)]);
    }
    return classes;
  }

  const std::string& path_;
  const DatasetOptions& options_;
  std::shared_ptr<const ShardArchive> archive_;
  std::shared_ptr<const ImageStore> store_;
  std::vector<std::string> names_;
};

DatasetSplits open_shard_dataset(const std::string& path, const std::vector<std::string>& shards,
                                 const DatasetOptions& options) {
  return ShardDatasetReader(path, options).read(shards);
}

}  // namespace vig
