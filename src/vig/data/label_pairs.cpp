#include "vig/data/label_pairs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/processors.h"
#include "vig/data/dense_files.h"
#include "vig/data/image_store.h"
#include "vig/data/label_pairs_layout.h"
#include "vig/data/target.h"
#include "vig/image/image_size.h"
#include "vig/image/label_file.h"

namespace vig {
namespace {

constexpr int16_t kNoClass = -1;
constexpr std::string_view kPairsLayout =
    "a list of lines \"IMAGE LABELS\", SPLIT.txt with such lines, SPLIT/ with SPLITannot/, or "
    "images/ with annotations/ or labels/";

// What the values of files mean: a class, kNoLabel or kNoClass.
using Meaning = std::array<int16_t, 256>;

Meaning meaning_of(int classes, int ignored, bool zero_ignored) {
  Meaning meaning;
  meaning.fill(kNoClass);
  for (int value = 0; value < 256; ++value) {
    const int label = zero_ignored ? value - 1 : value;
    if (value == kNoLabel || value == ignored || label < 0) {
      meaning[static_cast<size_t>(value)] = kNoLabel;
    } else if (label < classes) {
      meaning[static_cast<size_t>(value)] = static_cast<int16_t>(label);
    }
  }
  return meaning;
}

bool means_none(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  constexpr std::array kNames = {"unlabelled", "unlabeled", "void", "ignore", "ignored"};
  return std::ranges::find(kNames, lower) != kNames.end();
}

}  // namespace

struct LabelPairsPart {
  std::shared_ptr<const ImageStore> images;
  DecodeOptions decode;
  std::vector<FilePair> pairs;
  std::string name;  // of the split, for messages
  DataReport problems;
  std::shared_ptr<const std::vector<std::string>> classes;
  Meaning meaning = {};

  LabelMap read(uint32_t file) const {
    return load_label_map(image_source(images->archive(), file), decode);
  }
};

const std::vector<std::string>& LabelPairs::classes() const { return *part_->classes; }
const DataReport& LabelPairs::problems() const { return part_->problems; }

std::string LabelPairs::location(size_t sample) const {
  return part_->images->archive().location(part_->pairs[samples_[sample]].image);
}

std::string LabelPairs::path(size_t sample) const {
  return part_->images->archive().file_path(part_->pairs[samples_[sample]].image);
}

std::string LabelPairs::label_location(size_t sample) const {
  return part_->images->archive().location(part_->pairs[samples_[sample]].labels);
}

LabelMap LabelPairs::labels(size_t sample) const {
  LabelMap map = part_->read(part_->pairs[samples_[sample]].labels);
  for (size_t i = 0; i < map.labels.size(); ++i) {
    const int16_t label = part_->meaning[map.labels[i]];
    if (label == kNoClass) {
      const auto width = static_cast<size_t>(map.width);
      fail("{}: the label {} at column {} of row {} is none of the {} classes",
           label_location(sample), map.labels[i], i % width, i / width, classes().size());
    }
    map.labels[i] = static_cast<uint8_t>(label);
  }
  return map;
}

Sample LabelPairs::load(size_t sample) const {
  // Before the image, whose memory is held while it is used.
  LabelMap map = labels(sample);
  Sample loaded{part_->images->decode(part_->pairs[samples_[sample]].image), {}};
  if (loaded.image->width != map.width || loaded.image->height != map.height) {
    fail("{}: a label map of {}x{} pixels, expected {}x{} as its image {}", label_location(sample),
         map.width, map.height, loaded.image->width, loaded.image->height, location(sample));
  }
  loaded.target = make_target(std::move(map));
  return loaded;
}

LabelPairs LabelPairs::subset(std::span<const size_t> samples) const {
  LabelPairs result = *this;
  result.samples_.clear();
  for (const size_t sample : samples) {
    if (sample >= size()) fail_usage("[data] sample {} of {} is asked for", sample, size());
    result.samples_.push_back(samples_[sample]);
  }
  return result;
}

const std::vector<std::string>& LabelPairSplits::classes() const {
  for (const auto* split : {&whole, &train, &val, &test}) {
    if (*split) return (*split)->classes();
  }
  fail_usage("[data] no split of a data set was opened");
}

class LabelPairsReader {
 public:
  LabelPairsReader(const std::string& path, const LabelPairOptions& options)
      : path_(path), options_(options) {
    std::error_code ignored;
    const bool list = path.ends_with(".txt") && !std::filesystem::is_directory(path, ignored);
    if (list) {
      const std::filesystem::path folder = std::filesystem::path(path).parent_path();
      open(folder.empty() ? "." : folder.string());
      const SharedText text = read_text(path);
      layout_.lists.emplace("", read_pair_list(*files_, "", path, text.text));
    } else {
      open(path);
      std::optional<PairLayout> found = find_label_pairs(*files_);
      if (!found) {
        fail("{}: found no images with label maps among {} files, expected {}", path,
             files_->archive()->files().size(), kPairsLayout);
      }
      layout_ = std::move(*found);
    }
  }

  LabelPairSplits read() {
    LabelPairSplits result;
    for (const char* split : {"train", "val", "test"}) {
      if (layout_.lists.contains(split)) result.there.emplace_back(split);
    }
    std::vector<std::string> chosen =
        choose_splits(options_.splits, result.there, options_.first_split_only);
    const bool whole = layout_.lists.contains("");
    if (whole) chosen = {""};
    std::map<std::string, std::shared_ptr<LabelPairsPart>> parts;
    for (const std::string& split : chosen) parts.emplace(split, make_part(split));
    if (parts.empty()) return result;
    find_classes(parts);
    for (const auto& [split, part] : parts) {
      auto& to = whole              ? result.whole
                 : split == "train" ? result.train
                 : split == "val"   ? result.val
                                    : result.test;
      LabelPairs pairs;
      for (uint32_t i = 0; i < part->pairs.size(); ++i) pairs.samples_.push_back(i);
      pairs.part_ = part;
      to = std::move(pairs);
    }
    return result;
  }

 private:
  void open(const std::string& root) {
    const std::shared_ptr<const Archive> archive = open_archive(root, options_.archive);
    files_.emplace(archive);
    store_ = std::make_shared<ImageStore>(archive, options_.decode, options_.cache_bytes);
  }

  std::shared_ptr<LabelPairsPart> make_part(const std::string& split) {
    auto part = std::make_shared<LabelPairsPart>();
    PairList& list = layout_.lists.at(split);
    part->images = store_;
    part->decode = options_.decode;
    part->pairs = std::move(list.pairs);
    part->name = split.empty() ? path_ : path_ + " (" + split + ")";
    part->problems = std::move(list.problems);
    std::erase_if(part->pairs, [&](const FilePair& pair) {
      for (const uint32_t file : {pair.image, pair.labels}) {
        if (!files_->leads_out(file)) continue;
        part->problems.add(files_->why_refused(file));
        return true;
      }
      return false;
    });
    if (part->pairs.empty()) {
      fail("{}: expected images with label maps, found none{}", part->name,
           part->problems.problems.empty() ? "" : ": " + part->problems.problems.front());
    }
    return part;
  }

  // The same for all parts.
  void find_classes(const std::map<std::string, std::shared_ptr<LabelPairsPart>>& parts) {
    const bool zero_ignored = options_.zero_ignored.value_or(layout_.ade);
    std::vector<std::string> names =
        options_.names.empty() ? read_pair_classes(*files_, layout_.root) : options_.names;
    int ignored = options_.ignored.value_or(-1);
    if (!options_.ignored && options_.names.empty() && !names.empty() && means_none(names.back())) {
      ignored = static_cast<int>(names.size()) - (zero_ignored ? 0 : 1);
    }
    // The last name may be that of the pixels without class.
    const int last = static_cast<int>(names.size()) - (zero_ignored ? 0 : 1);
    if (!names.empty() && ignored == last && options_.names.empty()) names.pop_back();

    size_t count = names.size();
    if (options_.classes) {
      if (*options_.classes < 1 || *options_.classes > kNoLabel) {
        fail_usage("[data] {} classes, expected 1 to {}", *options_.classes, kNoLabel);
      }
      count = static_cast<size_t>(*options_.classes);
      if (!options_.names.empty() && names.size() != count) {
        fail_usage("[data] {} names for {} classes", names.size(), count);
      }
    } else if (names.empty()) {
      const auto train = parts.find("train");
      const auto& part = train != parts.end() ? train->second : parts.begin()->second;
      count = count_classes(*part, ignored, zero_ignored);
    }
    auto classes = std::make_shared<std::vector<std::string>>(std::move(names));
    while (classes->size() < count) classes->push_back(std::to_string(classes->size()));
    classes->resize(count);
    for (const auto& [split, part] : parts) {
      part->classes = classes;
      part->meaning = meaning_of(static_cast<int>(count), ignored, zero_ignored);
    }
  }

  // The largest label + 1. Damaged files are left to the check.
  static size_t count_classes(const LabelPairsPart& part, int ignored, bool zero_ignored) {
    const Meaning meaning = meaning_of(kNoLabel, ignored, zero_ignored);
    std::atomic<int> largest = -1;
    CheckOptions options;
    options.threads = std::min(default_threads(), 8);
    DataReport report;
    examine_samples(
        part.pairs.size(), options,
        [&](size_t i) {
          std::array<bool, 256> there = {};
          for (const uint8_t value : part.read(part.pairs[i].labels).labels) there[value] = true;
          for (size_t value = 0; value < there.size(); ++value) {
            if (!there[value] || meaning[value] == kNoLabel) continue;
            int known = largest;
            while (known < meaning[value] &&
                   !largest.compare_exchange_weak(known, meaning[value])) {
            }
          }
        },
        report);
    if (largest < 0) {
      fail("{}: none of its label maps shows a class{}", part.name,
           report.problems.empty() ? "" : ": " + report.problems.front());
    }
    return static_cast<size_t>(largest) + 1;
  }

  const std::string& path_;
  const LabelPairOptions& options_;
  std::optional<FilesByName> files_;
  std::shared_ptr<const ImageStore> store_;
  PairLayout layout_;
};

LabelPairSplits open_label_pairs(const std::string& path, const LabelPairOptions& options) {
  return LabelPairsReader(path, options).read();
}

DataReport check(LabelPairs& data, const CheckOptions& options) {
  DataReport report;
  const LabelPairsPart& part = *data.part_;
  const auto examine = [&](size_t sample) {
    if (!options.read_files) return;
    const LabelMap map = data.labels(sample);
    const uint32_t image = part.pairs[data.samples_[sample]].image;
    const ImageSize size =
        read_image_size(image_source(part.images->archive(), image), part.decode);
    if (size != ImageSize{map.width, map.height}) {
      fail("{}: a label map of {}x{} pixels, expected {}x{} as its image {}",
           data.label_location(sample), map.width, map.height, size.width, size.height,
           data.location(sample));
    }
  };
  const std::vector<size_t> good = examine_samples(data.size(), options, examine, report);
  report.samples = good.size();
  report.left_out = data.size() - good.size() + part.problems.problem_count;
  if (good.empty()) {
    fail("{}: none of its {} images is valid: {}", part.name, data.size(),
         report.problems.empty() ? "there is none" : report.problems.front());
  }
  report.add(part.problems);
  if (good.size() < data.size()) data = data.subset(good);
  return report;
}

}  // namespace vig
