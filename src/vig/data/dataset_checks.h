// Shared by the readers of classified images (data/dataset.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vig/data/dataset.h"

namespace vig {

// The first names, and how many more there are.
std::string list_some(const std::vector<std::string_view>& names);

// The names as classes, in their order; each label becomes the number of its class.
std::shared_ptr<const std::vector<std::string>> number_classes(
    std::map<std::string_view, int32_t>& labels);

// Throws Error naming what differs when splits have different classes, since labels mean the same
// in all of them only if the classes are the same; and when there are fewer than `min_classes` of
// them, which `layout` should show.
void check_classes(const std::string& path, const DatasetSplits& splits, size_t min_classes,
                   std::string_view layout);

// open_dataset of a list.
DatasetSplits open_csv_dataset(const std::string& path, const DatasetOptions& options);

// The same of shards, see data/shards.h.
DatasetSplits open_shard_dataset(const std::string& path, const std::vector<std::string>& shards,
                                 const DatasetOptions& options);

}  // namespace vig
