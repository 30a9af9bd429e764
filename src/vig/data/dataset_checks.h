// What the readers of classified pictures share (data/dataset.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "vig/data/dataset.h"

namespace vig {

// The first names, and how many more there are.
std::string list_some(const std::vector<std::string_view>& names);

// Throws Error naming what differs when splits have different classes, since labels mean the same
// in all of them only if the classes are the same; and when there are fewer than `min_classes` of
// them, which `layout` should show.
void check_classes(const std::string& path, const DatasetSplits& splits, size_t min_classes,
                   std::string_view layout);

// open_dataset of a list.
DatasetSplits open_csv_dataset(const std::string& path, const DatasetOptions& options);

}  // namespace vig
