#include "vig/cli/eval_run.h"

#include <filesystem>
#include <sstream>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/regular_file.h"
#include "vig/cli/eval_dense.h"
#include "vig/data/image_list.h"
#include "vig/weights/strict_json.h"

namespace vig::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostRecord = size_t{1} << 20;
constexpr size_t kMostNames = size_t{1} << 30;  // bytes of a list: ten million names

}  // namespace

std::optional<TrainedRun> find_run(const std::string& path, const std::string& data) {
  const std::string record = path + "/run.json";
  std::error_code ignored;
  if (!fs::is_regular_file(record, ignored)) return std::nullopt;
  TrainedRun run;
  run.folder = path;
  run.model = path + "/best.safetensors";
  try {
    const Json json = parse_strict_json(record, read_regular_file(record, kMostRecord));
    run.data = data.empty() ? json.at("data").get<std::string>() : data;
    if (json.at("validation").is_null()) {
      fail("{}: this run has no validation images; name a weight file with -m and the images",
           path);
    }
    const std::string validation = json.at("validation").get<std::string>();
    if (validation != "val" && validation != "validation.txt") {
      fail("{}: validated with \"{}\", expected \"val\" or \"validation.txt\"", record,
           printable(validation, 40));
    }
    run.own_split = validation == "val";
    run.decode.max_pixels = json.at("max-pixels").get<int64_t>();
    run.decode.apply_orientation = !json.at("ignore-orientation").get<bool>();
  } catch (const JsonError&) {
    fail("{}: does not name the validation images; it was written by an older version", record);
  }
  if (!fs::exists(run.model, ignored)) {
    fail("{}: there is no best network yet; the first validation writes it", path);
  }
  return run;
}

void TrainedRun::check_data() const {
  std::error_code ignored;
  if (fs::exists(data, ignored)) return;
  fail(
      "{}: the images of the run are no longer there; name their present folder: vig eval {} "
      "DATA",
      data, folder);
}

std::string TrainedRun::list() const { return folder + "/validation.txt"; }

std::vector<std::string> TrainedRun::held_out() const {
  std::istringstream text(read_regular_file(list(), kMostNames));
  std::vector<std::string> names;
  for (std::string line; std::getline(text, line);) names.push_back(line);
  return names;
}

Dataset TrainedRun::images() const {
  check_data();
  const DatasetSplits splits = open_dataset(data, {.archive = {},
                                                   .decode = decode,
                                                   .cache_bytes = 0,
                                                   .min_classes = 1,
                                                   .splits = {own_split ? "val" : "train"},
                                                   .first_split_only = true});
  const std::optional<Dataset>& found = own_split      ? splits.val
                                        : splits.train ? splits.train
                                                       : splits.whole;
  if (!found.has_value()) {
    fail("{}: no longer has the split {}", data, own_split ? "val" : "train");
  }
  report_problems(splits.report);
  if (own_split) return *found;
  return select_images(*found, read_regular_file(list(), kMostNames), list());
}

}  // namespace vig::cli
