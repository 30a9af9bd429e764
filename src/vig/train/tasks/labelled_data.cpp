#include "vig/train/tasks/labelled_data.h"

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/base/random.h"
#include "vig/weights/model_info.h"

namespace vig::train {
namespace {

DatasetSplits open_splits(const std::string& path, const TrainOptions& options, int processes,
                          const std::vector<std::string>& splits) {
  DatasetOptions dataset_options;
  dataset_options.cache_bytes /= static_cast<uint64_t>(processes);
  dataset_options.archive.max_unpacked_bytes /= static_cast<uint64_t>(processes);
  dataset_options.decode.max_pixels = options.max_pixels;
  dataset_options.decode.apply_orientation = !options.ignore_orientation;
  dataset_options.splits = splits;
  return open_dataset(path, dataset_options);
}

const Dataset& training_split(const std::string& path, const DatasetSplits& splits) {
  const std::optional<Dataset>& train = splits.train.has_value() ? splits.train : splits.whole;
  if (!train.has_value()) fail("{}: there is no training split", path);
  return *train;
}

}  // namespace

Dataset open_training_split(const std::string& path, const TrainOptions& options) {
  return training_split(path, open_splits(path, options, 1, {"train"}));
}

LabelledData open_labelled_data(const std::string& path, const TrainOptions& options,
                                int processes) {
  const DatasetSplits splits = open_splits(path, options, processes, {"train", "val"});
  const Dataset& train = training_split(path, splits);
  check_class_names(path, train.classes());
  if (splits.val.has_value()) return {train, splits.val, false, splits.ignored, splits.report};
  // Every class has images, so as many as classes are one each.
  if (options.val_share == 0 || train.size() == train.classes().size()) {
    return {train, std::nullopt, false, splits.ignored, splits.report};
  }
  const long long share = std::llround(options.val_share * static_cast<double>(train.size()));
  const size_t count = std::clamp<size_t>(static_cast<size_t>(share), 1, train.size() - 1);
  HeldOut held_out = hold_out(train, count, options.seed);
  return {std::move(held_out.train), std::move(held_out.validation), true, splits.ignored,
          splits.report};
}

std::string listing_mark(const Dataset& dataset) {
  uint64_t mark = 0;
  for (size_t i = 0; i < dataset.size(); ++i) {
    mark = mix_bits(mark ^ hash_name(dataset.name(i))) + static_cast<uint64_t>(dataset.label(i));
  }
  return fmt::format("{:016x}", mark);
}

}  // namespace vig::train
