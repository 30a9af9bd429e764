#include "vig/train/train_data.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "vig/base/error.h"
#include "vig/base/memory.h"
#include "vig/base/printable.h"

namespace vig::train {
namespace {

namespace fs = std::filesystem;

// Decoded pictures may fill an eighth of the machine's memory.
size_t cache_bytes(int processes) {
  const uint64_t most = std::min<uint64_t>(DatasetOptions().cache_bytes, physical_memory() / 8);
  return static_cast<size_t>(most) / static_cast<size_t>(processes);
}

void check_names(const std::string& path, const std::vector<std::string>& classes) {
  for (const std::string& name : classes) {
    try {
      nlohmann::json(name).dump();
    } catch (const nlohmann::json::exception&) {
      fail("{}: the class folder \"{}\" is not named in UTF-8, as weight files must be; rename it",
           path, printable(name));
    }
  }
}

}  // namespace

TrainData open_train_data(const std::string& path, const TrainOptions& options, int processes) {
  DatasetOptions dataset_options;
  dataset_options.cache_bytes = cache_bytes(processes);
  dataset_options.parts = {"train", "val"};
  DatasetParts parts = open_dataset(path, dataset_options);
  const std::optional<Dataset>& train = parts.train.has_value() ? parts.train : parts.whole;
  if (!train.has_value()) fail("{}: there is no training part", path);
  check_names(path, train->classes());
  if (parts.val.has_value()) return {*train, parts.val, parts.ignored};
  const size_t count =
      static_cast<size_t>(std::llround(options.val_share * static_cast<double>(train->size())));
  if (count == 0) return {*train, std::nullopt, parts.ignored};
  DatasetSplit split = split_dataset(*train, count, options.seed);
  return {std::move(split.train), std::move(split.validation), parts.ignored};
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
