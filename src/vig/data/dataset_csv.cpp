#include <algorithm>
#include <filesystem>
#include <map>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/regular_file.h"
#include "vig/data/csv_list.h"
#include "vig/data/dataset.h"
#include "vig/data/dataset_checks.h"
#include "vig/data/dense_files.h"
#include "vig/data/image_store.h"

namespace vig {

namespace fs = std::filesystem;

namespace {

std::string folder_of_list(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

}  // namespace

class CsvDatasetReader {
 public:
  CsvDatasetReader(const std::string& path, const DatasetOptions& options)
      : path_(path),
        options_(options),
        folder_(folder_of_list(path)),
        list_(parse_csv_list(path, read_regular_file(path, kMaxCsvBytes))) {}

  DatasetSplits read() {
    DatasetSplits result;
    for (const char* split : {"train", "val", "test"}) {
      if (std::ranges::find(list_.rows, split, &CsvRow::split) != list_.rows.end()) {
        result.there.emplace_back(split);
      }
    }
    const std::vector<std::string> chosen =
        choose_splits(options_.splits, result.there, options_.first_split_only);
    if (list_.rows.empty()) fail_empty("expected rows of a path and a label, found none");
    leave_out_files(chosen);
    open_images();
    if (!list_.has_splits) result.whole = make_dataset("");
    for (const std::string& split : chosen) {
      auto& to = split == "train" ? result.train : split == "val" ? result.val : result.test;
      to = make_dataset(split);
    }
    check_classes(path_, result, options_.min_classes, "its column of labels");
    list_.problems.samples = list_.rows.size();
    result.report = std::move(list_.problems);
    return result;
  }

 private:
  // The first row that was left out says more than that none is left.
  [[noreturn]] void fail_empty(const std::string& sentence) const {
    const std::vector<std::string>& problems = list_.problems.problems;
    if (problems.empty()) fail("{}: {}", path_, sentence);
    fail("{}: {}; {}", path_, sentence, problems.front());
  }

  // Those of other splits, without a word, and those whose images are not there.
  void leave_out_files(const std::vector<std::string>& chosen) {
    std::erase_if(list_.rows, [&](const CsvRow& row) {
      if (list_.has_splits && std::ranges::find(chosen, row.split) == chosen.end()) return true;
      const std::string problem = file_problem(row);
      if (problem.empty()) return false;
      list_.problems.add(fmt::format("{}: line {}: names \"{}\", {}", path_, row.line,
                                     printable(row.path, 200), problem));
      ++list_.problems.left_out;
      return true;
    });
  }

  // What is wrong with the file by its name alone; empty: nothing.
  std::string file_problem(const CsvRow& row) const {
    std::error_code error;
    const fs::file_status status = fs::status(fs::path(folder_) / row.path, error);
    if (fs::is_regular_file(status)) return "";
    if (fs::exists(status)) return "which is no regular file";
    const char* hint = row.line == 1 ? " (a header would be path,label)" : "";
    if (status.type() == fs::file_type::not_found) return fmt::format("which is not there{}", hint);
    return fmt::format("which cannot be read: {}", error.message());
  }

  void open_images() {
    std::vector<std::string> names;
    names.reserve(list_.rows.size());
    for (CsvRow& row : list_.rows) names.push_back(std::move(row.path));
    store_ = std::make_shared<ImageStore>(open_listed_files(folder_, std::move(names)),
                                          options_.decode, options_.cache_bytes);
  }

  // Row number i is file number i of the store.
  Dataset make_dataset(std::string_view split) const {
    std::map<std::string_view, int32_t> labels;
    for (const CsvRow& row : list_.rows) {
      if (row.split == split) labels.emplace(list_.labels[row.label], 0);
    }
    if (labels.empty()) {
      fail_empty(split.empty() ? "none of its images is there"
                               : fmt::format("no image of its split {} is there", split));
    }
    Dataset dataset;
    dataset.store_ = store_;
    dataset.classes_ = number_classes(labels);
    for (size_t i = 0; i < list_.rows.size(); ++i) {
      const CsvRow& row = list_.rows[i];
      if (row.split != split) continue;
      dataset.samples_.push_back(
          {static_cast<uint32_t>(i), labels.find(list_.labels[row.label])->second});
    }
    dataset.sort();
    return dataset;
  }

  const std::string& path_;
  const DatasetOptions& options_;
  const std::string folder_;
  CsvList list_;
  std::shared_ptr<const ImageStore> store_;
};

DatasetSplits open_csv_dataset(const std::string& path, const DatasetOptions& options) {
  return CsvDatasetReader(path, options).read();
}

}  // namespace vig
