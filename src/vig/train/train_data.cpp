#include "vig/train/train_data.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "vig/base/error.h"
#include "vig/weights/model_info.h"

namespace vig::train {
namespace {

namespace fs = std::filesystem;

DatasetParts open_parts(const std::string& path, const TrainOptions& options, int processes,
                        const std::vector<std::string>& parts) {
  DatasetOptions dataset_options;
  dataset_options.cache_bytes /= static_cast<uint64_t>(processes);
  dataset_options.archive.max_unpacked_bytes /= static_cast<uint64_t>(processes);
  dataset_options.decode.max_pixels = options.max_pixels;
  dataset_options.decode.apply_orientation = !options.ignore_orientation;
  dataset_options.parts = parts;
  return open_dataset(path, dataset_options);
}

const Dataset& training_part(const std::string& path, const DatasetParts& parts) {
  const std::optional<Dataset>& train = parts.train.has_value() ? parts.train : parts.whole;
  if (!train.has_value()) fail("{}: there is no training part", path);
  return *train;
}

}  // namespace

Dataset open_training_part(const std::string& path, const TrainOptions& options) {
  return training_part(path, open_parts(path, options, 1, {"train"}));
}

TrainData open_train_data(const std::string& path, const TrainOptions& options, int processes) {
  const DatasetParts parts = open_parts(path, options, processes, {"train", "val"});
  const Dataset& train = training_part(path, parts);
  check_class_names(path, train.classes());
  if (parts.val.has_value()) return {train, parts.val, false, parts.ignored};
  // Every class has pictures, so as many as classes are one each.
  if (options.val_share == 0 || train.size() == train.classes().size()) {
    return {train, std::nullopt, false, parts.ignored};
  }
  const long long share = std::llround(options.val_share * static_cast<double>(train.size()));
  const size_t count = std::clamp<size_t>(static_cast<size_t>(share), 1, train.size() - 1);
  DatasetSplit split = split_dataset(train, count, options.seed);
  return {std::move(split.train), std::move(split.validation), true, parts.ignored};
}

void check_apart(const std::string& data, const std::string& out) {
  std::error_code error;
  if (!fs::is_directory(data, error)) return;
  const fs::path pictures = fs::canonical(data, error);
  if (error) return;  // opening it says why
  const fs::path folder = fs::weakly_canonical(out, error);
  if (error || std::ranges::mismatch(pictures, folder).in1 != pictures.end()) return;
  fail_usage("--out {} lies inside of {}, where it would be taken for pictures; name another place",
             out, data);
}

}  // namespace vig::train
