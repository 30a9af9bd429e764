#include "vig/train/tasks/dense_data.h"

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/base/random.h"
#include "vig/data/order.h"
#include "vig/weights/model_info.h"

namespace vig::train {
namespace {

// So many files are read before the first step; of larger sets a bad file is reported when it is
// met.
constexpr size_t kMostChecked = 5000;
constexpr size_t kMostShown = 10;

template <class Options>
Options reading_options(const TrainOptions& options, int processes) {
  Options reading;
  reading.cache_bytes /= static_cast<uint64_t>(processes);
  reading.archive.max_unpacked_bytes /= static_cast<uint64_t>(processes);
  reading.decode.max_pixels = options.max_pixels;
  reading.splits = {"train", "val"};
  return reading;
}

template <class Data>
void check_data(Data& data, const TrainOptions& options, DataReport& report) {
  CheckOptions how;
  how.threads = std::max(1, options.loaders);
  how.read_files = data.size() <= kMostChecked;
  const DataReport found = check(data, how);
  report.samples += found.samples;
  report.left_out += found.left_out;
  report.add(found);
}

// Some images for validation, by the seed alone, both parts in their order.
template <class Data>
void hold_out_share(DenseData<Data>& data, const TrainOptions& options) {
  const size_t size = data.train.size();
  if (options.val_share == 0 || size < 2) return;
  const long long share = std::llround(options.val_share * static_cast<double>(size));
  const size_t count = std::clamp<size_t>(static_cast<size_t>(share), 1, size - 1);
  std::vector<size_t> order = epoch_order(size, options.seed, hash_name("hold out"));
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(order.begin(), middle);
  std::sort(middle, order.end());
  const std::span<const size_t> all(order);
  data.val = data.train.subset(all.first(count));
  data.train = data.train.subset(all.subspan(count));
  data.held_out = true;
}

template <class Data, class Splits>
const Data& training_part(const std::string& path, const Splits& splits) {
  const std::optional<Data>& train = splits.train.has_value() ? splits.train : splits.whole;
  if (!train.has_value()) fail("{}: there is no training split", path);
  return *train;
}

template <class Data, class Splits>
DenseData<Data> open_splits(const std::string& path, const Splits& splits,
                            const TrainOptions& options) {
  const Data& train = training_part<Data>(path, splits);
  check_class_names(path, train.classes());
  DenseData<Data> data{train, splits.val, false, {}};
  check_data(data.train, options, data.report);
  if (data.val.has_value()) check_data(*data.val, options, data.report);
  return data;
}

// A text that differs where, almost surely, the samples do; not by where the data lies.
template <class Data, class Extra>
std::string mark_of(const Data& data, Extra extra) {
  uint64_t mark = 0;
  for (size_t i = 0; i < data.size(); ++i) {
    const std::string path = data.path(i);
    mark = mix_bits(mark ^ hash_name(path.substr(path.find_last_of('/') + 1))) + extra(data, i);
  }
  return fmt::format("{:016x}", mark);
}

template <class Data, class Extra>
TaskData describe(const DenseData<Data>& data, Extra extra) {
  TaskData described;
  described.train = std::make_shared<const Data>(data.train);
  described.train_mark = mark_of(data.train, extra);
  if (!data.val.has_value()) return described;
  described.val = std::make_shared<const Data>(*data.val);
  described.val_mark = mark_of(*data.val, extra);
  if (data.held_out) {
    for (size_t i = 0; i < data.val->size(); ++i) described.held_out += data.val->path(i) + "\n";
  }
  return described;
}

// Of some images, always the same ones; without those that cannot be read.
std::vector<Sides> sampled_sizes(const SampleSource& source) {
  constexpr size_t kSamples = 25;
  std::vector<Sides> sizes;
  const size_t count = std::min(kSamples, source.size());
  for (size_t i = 0; i < count; ++i) {
    try {
      const auto image = source.load(i * source.size() / count).image;
      sizes.push_back({image->width, image->height});
    } catch (const Error&) {  // training will report it
    }
  }
  return sizes;
}

}  // namespace

SegmentationData open_segmentation_data(const std::string& path, const TrainOptions& options,
                                        int processes) {
  const auto reading = reading_options<LabelPairOptions>(options, processes);
  auto data = open_splits<LabelPairs>(path, open_label_pairs(path, reading), options);
  if (!data.val.has_value()) hold_out_share(data, options);
  return data;
}

DetectionData open_detection_data(const std::string& path, const TrainOptions& options,
                                  int processes) {
  const auto reading = reading_options<CocoOptions>(options, processes);
  auto data = open_splits<CocoDataset>(path, open_coco(path, reading), options);
  data.train = data.train.for_training();
  if (!data.val.has_value()) hold_out_share(data, options);
  return data;
}

template <>
std::unique_ptr<LabelPairs> open_training_source<LabelPairs>(const std::string& path,
                                                             const TrainOptions& options) {
  const auto splits = open_label_pairs(path, reading_options<LabelPairOptions>(options, 1));
  return std::make_unique<LabelPairs>(training_part<LabelPairs>(path, splits));
}

template <>
std::unique_ptr<CocoDataset> open_training_source<CocoDataset>(const std::string& path,
                                                               const TrainOptions& options) {
  const auto splits = open_coco(path, reading_options<CocoOptions>(options, 1));
  return std::make_unique<CocoDataset>(training_part<CocoDataset>(path, splits));
}

TaskData task_data(const SegmentationData& data) {
  return describe(data, [](const LabelPairs&, size_t) { return uint64_t{0}; });
}

TaskData task_data(const DetectionData& data) {
  return describe(data, [](const CocoDataset& images, size_t i) {
    return mix_bits(static_cast<uint64_t>(images.image_id(i))) + images.object_count(i);
  });
}

std::vector<std::string> report_sentences(const DataReport& report) {
  std::vector<std::string> sentences;
  const size_t shown = std::min(kMostShown, report.problems.size());
  sentences.assign(report.problems.begin(),
                   report.problems.begin() + static_cast<std::ptrdiff_t>(shown));
  if (report.problem_count > shown) {
    sentences.push_back(
        fmt::format("and {} more problems of the data", report.problem_count - shown));
  }
  if (report.left_out > 0) {
    sentences.push_back(
        fmt::format("{} samples are left out, {} remain", report.left_out, report.samples));
  }
  return sentences;
}

ImageFacts image_facts(const SampleSource& source) {
  ImageFacts facts;
  facts.images = source.size();
  std::vector<int> sides;
  for (const Sides& sample : sampled_sizes(source)) {
    sides.push_back(std::min(sample.width, sample.height));
  }
  if (sides.empty()) return facts;
  std::ranges::sort(sides);
  facts.short_side = sides[sides.size() / 2];
  return facts;
}

double smallest_scale(const SampleSource& source, const Recipe& recipe, const ViewOptions& view) {
  double smallest = 0;
  for (const Sides& sample : sampled_sizes(source)) {
    const Sides fitted = fitted_sides(recipe, view.resize_min, sample);
    const double scale = static_cast<double>(fitted.height) / sample.height;
    if (smallest == 0 || scale < smallest) smallest = scale;
  }
  return smallest;
}

}  // namespace vig::train
