#include "vig/data/coco.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/data/archive_formats.h"
#include "vig/data/coco_file.h"
#include "vig/data/coco_layout.h"
#include "vig/data/dense_files.h"
#include "vig/data/image_store.h"
#include "vig/data/target.h"
#include "vig/image/image_size.h"

namespace vig {

struct CocoPart {
  SharedText text;
  CocoFile file;
  std::shared_ptr<const ImageStore> images;
  DecodeOptions decode;
  std::vector<uint32_t> files;  // in the archive, of each image; kMissing, kOutside
  std::string folder;           // where images were searched
  DataReport problems;          // of opening
};

namespace {

constexpr uint32_t kMissing = std::numeric_limits<uint32_t>::max();
constexpr uint32_t kOutside = kMissing - 1;  // behind a link

bool is_there(uint32_t file) { return file < kOutside; }

[[noreturn]] void fail_not_there(const CocoDataset& data, size_t sample, uint32_t file) {
  if (file == kMissing) fail("{}: no such image", data.location(sample));
  fail("{}: a link out of the folder of its images; nothing outside is opened",
       data.location(sample));
}

constexpr int kLeastTrainingSide = 32;

std::string checked_name(const std::string& name, const std::string& file) {
  const std::string clean = clean_name(name);
  const bool climbs = name.starts_with('/') || clean == ".." || clean.starts_with("../") ||
                      clean.ends_with("/..") || clean.find("/../") != clean.npos;
  if (climbs || clean.empty()) {
    fail("{}: the image \"{}\" lies outside of its folder", file, printable(name));
  }
  return clean;
}

}  // namespace

const std::vector<std::string>& CocoDataset::classes() const { return part_->file.classes; }
const std::vector<int64_t>& CocoDataset::category_ids() const { return part_->file.category_ids; }
const DataReport& CocoDataset::problems() const { return part_->problems; }

std::string CocoDataset::location(size_t sample) const {
  const uint32_t file = part_->files[samples_[sample]];
  if (is_there(file)) return part_->images->archive().location(file);
  const std::string& name = part_->file.images[samples_[sample]].file_name;
  return part_->images->archive().path() + "/" + printable(part_->folder + name, 4096);
}

std::string CocoDataset::path(size_t sample) const {
  const Archive& archive = part_->images->archive();
  const uint32_t file = part_->files[samples_[sample]];
  const std::string name = is_there(file)
                               ? archive.files()[file]
                               : part_->folder + part_->file.images[samples_[sample]].file_name;
  return archive.path() + (archive.path().ends_with('/') ? "" : "/") + name;
}

int64_t CocoDataset::image_id(size_t sample) const {
  return part_->file.images[samples_[sample]].id;
}
int CocoDataset::width(size_t sample) const { return part_->file.images[samples_[sample]].width; }
int CocoDataset::height(size_t sample) const { return part_->file.images[samples_[sample]].height; }

size_t CocoDataset::object_count(size_t sample) const {
  size_t count = 0;
  for (const CocoAnnotation& annotation : annotations(sample)) {
    count += !training_ || annotation.for_training;
  }
  return count;
}

std::span<const CocoAnnotation> CocoDataset::annotations(size_t sample) const {
  const uint32_t image = samples_[sample];
  const CocoFile& file = part_->file;
  return std::span(file.annotations)
      .subspan(file.first[image], file.first[image + 1] - file.first[image]);
}

Objects CocoDataset::objects(size_t sample) const {
  Objects result{.image = image_id(sample), .objects = {}};
  MaskWork work;
  for (const CocoAnnotation& annotation : annotations(sample)) {
    if (training_ && !annotation.for_training) continue;
    result.objects.push_back({.box = annotation.box,
                              .label = annotation.label,
                              .crowd = annotation.crowd,
                              .area = annotation.area,
                              .mask = part_->file.mask(annotation, work)});
  }
  return result;
}

Sample CocoDataset::load(size_t sample) const {
  const uint32_t file = part_->files[samples_[sample]];
  if (!is_there(file)) fail_not_there(*this, sample, file);
  Sample loaded{part_->images->decode(file), {}};
  if (loaded.image->width != width(sample) || loaded.image->height != height(sample)) {
    fail("{}: an image of {}x{} pixels, expected {}x{} as annotated", location(sample),
         loaded.image->width, loaded.image->height, width(sample), height(sample));
  }
  loaded.target = make_target(objects(sample));
  return loaded;
}

CocoDataset CocoDataset::for_training() const {
  CocoDataset result = *this;
  result.training_ = true;
  result.samples_.clear();
  for (size_t i = 0; i < size(); ++i) {
    const bool shows = std::ranges::any_of(annotations(i), [](const CocoAnnotation& annotation) {
      return annotation.for_training && !annotation.crowd;
    });
    if (shows && std::min(width(i), height(i)) >= kLeastTrainingSide) {
      result.samples_.push_back(samples_[i]);
    }
  }
  if (result.samples_.empty()) {
    std::string first;
    if (!problems().problems.empty()) first = "; " + problems().problems.front();
    fail(
        "{}: none of its {} images shows an object of a pixel or more and has sides of {} or "
        "more{}",
        part_->file.name, size(), kLeastTrainingSide, first);
  }
  return result;
}

CocoDataset CocoDataset::subset(std::span<const size_t> samples) const {
  CocoDataset result = *this;
  result.samples_.clear();
  for (const size_t sample : samples) {
    if (sample >= size()) fail_usage("[data] sample {} of {} is asked for", sample, size());
    result.samples_.push_back(samples_[sample]);
  }
  return result;
}

const std::vector<std::string>& CocoSplits::classes() const {
  for (const auto* split : {&whole, &train, &val, &test}) {
    if (*split) return (*split)->classes();
  }
  fail_usage("[data] no split of a data set was opened");
}

class CocoReader {
 public:
  CocoReader(std::shared_ptr<const Archive> archive, const CocoOptions& options)
      : files_(archive),
        options_(options),
        store_(std::make_shared<ImageStore>(std::move(archive), options.decode,
                                            options.cache_bytes)) {}

  const FilesByName& files() const { return files_; }

  // `folders`: where images may lie, in the order of preference.
  CocoDataset read(const std::string& name, SharedText text,
                   const std::vector<std::string>& folders) const {
    auto part = std::make_shared<CocoPart>();
    part->file = parse_coco(name, text.text);
    part->text = std::move(text);
    part->images = store_;
    part->decode = options_.decode;
    part->problems = part->file.problems;
    find_images(*part, folders);
    CocoDataset dataset;
    for (uint32_t i = 0; i < part->file.images.size(); ++i) dataset.samples_.push_back(i);
    dataset.part_ = std::move(part);
    return dataset;
  }

 private:
  void find_images(CocoPart& part, const std::vector<std::string>& folders) const {
    std::vector<std::string> names;
    for (const CocoImage& image : part.file.images) {
      names.push_back(checked_name(image.file_name, part.file.name));
    }
    size_t best = 0;
    for (const std::string& folder : folders) {
      std::vector<uint32_t> found;
      size_t count = 0;
      for (const std::string& name : names) {
        const std::optional<uint32_t> file = files_.find(folder + name);
        count += file.has_value();
        found.push_back(file.value_or(kMissing));
      }
      if (!part.files.empty() && count <= best) continue;
      best = count;
      part.files = std::move(found);
      part.folder = folder;
      if (best == names.size()) break;
    }
    for (uint32_t& file : part.files) {
      if (is_there(file) && files_.leads_out(file)) file = kOutside;
    }
  }

  FilesByName files_;
  const CocoOptions& options_;
  std::shared_ptr<const ImageStore> store_;
};

namespace {

void compare_classes(const std::string& path, const CocoSplits& splits) {
  const CocoDataset* first = nullptr;
  for (const auto* split : {&splits.train, &splits.val, &splits.test}) {
    if (!*split) continue;
    if (first == nullptr) first = &**split;
    if ((*split)->category_ids() == first->category_ids() &&
        (*split)->classes() == first->classes()) {
      continue;
    }
    fail("{}: its splits have different categories: {} ({}) and {} ({})", path,
         first->classes().size(), printable_list(first->classes(), 5), (*split)->classes().size(),
         printable_list((*split)->classes(), 5));
  }
}

CocoSplits open_file(const std::string& path, const CocoOptions& options) {
  const std::filesystem::path file(path);
  std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::string below = "";  // the JSON's folder, in ROOT
  if (folder.filename() == "annotations") {
    below = "annotations/";
    folder = folder.has_parent_path() ? folder.parent_path() : ".";
  } else if (folder == "." && std::filesystem::current_path().filename() == "annotations") {
    below = "annotations/";
    folder = "..";
  }
  SharedText text = read_text(path);
  const std::string root = options.images.empty() ? folder.string() : options.images;
  const CocoReader reader(open_archive(root, options.archive), options);
  CocoSplits result;
  std::vector<std::string> folders;
  for (const std::string& outer : reader.files().roots()) {
    for (std::string& each : coco_image_folders(outer, outer + below, file.stem().string())) {
      folders.push_back(std::move(each));
    }
  }
  result.whole = reader.read(path, std::move(text), folders);
  return result;
}

}  // namespace

CocoSplits open_coco(const std::string& path, const CocoOptions& options) {
  if (path.ends_with(".json") && !std::filesystem::is_directory(path)) {
    return open_file(path, options);
  }
  const std::shared_ptr<const Archive> archive = open_archive(path, options.archive);
  const FilesByName files(archive);
  const CocoLayout layout = find_coco_files(files);
  if (layout.files.empty()) {
    fail(
        "{}: found no annotations of COCO among {} files, expected "
        "annotations/instances_SPLIT.json, SPLIT.json or SPLIT/_annotations.coco.json",
        path, archive->files().size());
  }
  const CocoReader reader(
      options.images.empty() ? archive : open_archive(options.images, options.archive), options);
  const auto read = [&](uint32_t file) {
    const std::string_view name = files.name(file);
    std::vector<std::string> folders =
        coco_image_folders(layout.root, std::string(folder_of(name)), std::string(base_name(name)));
    if (!options.images.empty()) {
      for (const std::string& outer : reader.files().roots()) {
        for (std::string& each : coco_image_folders(outer, outer, std::string(base_name(name)))) {
          folders.push_back(std::move(each));
        }
      }
    }
    return reader.read(archive->location(file), read_text(files, file), folders);
  };
  CocoSplits result;
  if (const auto whole = layout.files.find(""); whole != layout.files.end()) {
    result.whole = read(whole->second);
    return result;
  }
  for (const char* split : {"train", "val", "test"}) {
    if (layout.files.contains(split)) result.there.emplace_back(split);
  }
  for (const std::string& split :
       choose_splits(options.splits, result.there, options.first_split_only)) {
    (split == "train" ? result.train
     : split == "val" ? result.val
                      : result.test) = read(layout.files.at(split));
  }
  compare_classes(path, result);
  return result;
}

DataReport check(CocoDataset& data, const CheckOptions& options) {
  DataReport report;
  const CocoPart& part = *data.part_;
  const std::vector<size_t> good = examine_samples(
      data.size(), options,
      [&](size_t sample) {
        const uint32_t file = part.files[data.samples_[sample]];
        if (!is_there(file)) fail_not_there(data, sample, file);
        if (!options.read_files) return;
        const Archive& archive = part.images->archive();
        const ImageSize size = read_image_size(image_source(archive, file), part.decode);
        if (size != ImageSize{data.width(sample), data.height(sample)}) {
          fail("{}: an image of {}x{} pixels, expected {}x{} as annotated", data.location(sample),
               size.width, size.height, data.width(sample), data.height(sample));
        }
      },
      report);
  report.samples = good.size();
  report.left_out = data.size() - good.size();
  if (good.empty()) {
    fail("{}: none of its {} images is valid: {}", part.file.name, data.size(),
         report.problems.empty() ? "there is none" : report.problems.front());
  }
  report.add(part.problems);
  if (good.size() < data.size()) data = data.subset(good);
  return report;
}

size_t parse_coco_text(const std::string& name, std::string_view json) {
  const CocoFile file = parse_coco(name, json);
  size_t count = 0;
  for (size_t image = 0; image < file.images.size(); ++image) {
    MaskWork work;
    for (uint32_t i = file.first[image]; i < file.first[image + 1]; ++i) {
      file.mask(file.annotations[i], work);
      ++count;
    }
  }
  return count;
}

}  // namespace vig
