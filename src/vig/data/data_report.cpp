#include "vig/data/data_report.h"

#include <filesystem>
#include <utility>

#include "vig/data/coco_layout.h"
#include "vig/data/csv_list.h"
#include "vig/data/dense_files.h"
#include "vig/data/label_pairs_layout.h"
#include "vig/data/shards.h"

namespace vig {

void DataReport::add(std::string problem) {
  if (problems.size() < kMostShown) problems.push_back(std::move(problem));
  ++problem_count;
}

void DataReport::add(const DataReport& other) {
  for (const std::string& problem : other.problems) {
    if (problems.size() < kMostShown) problems.push_back(problem);
  }
  problem_count += other.problem_count;
}

DataKind recognise_data(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    if (path.ends_with(".json")) return DataKind::kCoco;
    if (path.ends_with(".txt")) return DataKind::kLabelPairs;
    if (is_csv_list(path)) return DataKind::kClasses;
  }
  if (!find_shards(path).empty()) return DataKind::kClasses;
  const FilesByName files(open_archive(path));
  if (!find_coco_files(files).files.empty()) return DataKind::kCoco;
  if (has_label_pairs(files)) return DataKind::kLabelPairs;
  return DataKind::kClasses;
}

}  // namespace vig
