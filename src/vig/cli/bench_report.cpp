#include "vig/cli/bench_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "vig/base/printable.h"
#include "vig/base/utf8.h"
#include "vig/bench/statistics.h"
#include "vig/cli/output.h"
#include "vig/runtime/machine.h"

namespace vig::cli {
namespace {

using Align = Table::Align;

constexpr const char* kRow =
    "{} {:>9} {:>5} {:>7} {:>10} {:>10} {:>7} {:>9} {:>8} {:>8} {:>6} {:>9} {:>9}\n";

std::string model_cell(std::string name) {
  constexpr size_t kWidth = 20;
  const size_t width = display_width(name);
  return width < kWidth ? name.append(kWidth - width, ' ') : name;
}

// "vig_t", "vig_t int8"
std::string network_text(const std::string& name, Arithmetic arithmetic) {
  const bool other = arithmetic != Arithmetic::kFloat32;
  return printable(name) + (other ? std::string(" ") + arithmetic_name(arithmetic) : "");
}

std::string size_text(const BenchSetting& setting) {
  return setting.height == setting.width ? fmt::format("{}", setting.height)
                                         : fmt::format("{}x{}", setting.height, setting.width);
}

// The engine's own time of one kind of work in one run, as if no thread ever waited.
double profile_time(const BenchResult& result, const ProfileEntry& entry) {
  return entry.seconds / result.setting.threads / std::max(result.profile_runs, 1);
}

double profile_gflops(const BenchResult& result, const ProfileEntry& entry) {
  const double seconds = entry.seconds / result.setting.threads;
  return seconds > 0 ? 2e-9 * static_cast<double>(entry.macs.total()) / seconds : 0;
}

// Of the peak: the whole network's, or that of one kind of work where the profile shows them.
double largest_share(const BenchResult& result) {
  double largest = result.peak_share;
  for (const ProfileEntry& entry : result.profile) {
    largest = std::max(largest, profile_gflops(result, entry) / result.peak_gflops);
  }
  return largest;
}

// Products of integers may be faster than the loop of floats.
bool is_disturbed(const BenchResult& result) {
  return result.arithmetic == Arithmetic::kFloat32 &&
         !disturbed_peak(largest_share(result)).empty();
}

std::string profile_text(const BenchResult& result) {
  Table table({{"    work"},
               {"ms", Align::kRight},
               {"share", Align::kRight},
               {"GFLOP/s", Align::kRight},
               {"of peak", Align::kRight}});
  // Of all threads: what the clock says, and what was spent in operations.
  const double all = result.profile_seconds * result.setting.threads;
  const double run_threads = std::max(result.profile_runs, 1) * result.setting.threads;
  double sum = 0;
  for (const ProfileEntry& entry : result.profile) sum += entry.seconds;
  for (const ProfileEntry& entry : result.profile) {
    const double gflops = profile_gflops(result, entry);
    table.add({"    " + entry.kind, fmt::format("{:.3f}", 1e3 * profile_time(result, entry)),
               fmt::format("{:.1f} %", 100 * entry.seconds / all),
               gflops > 0 ? fmt::format("{:.1f}", gflops) : "",
               gflops > 0 ? fmt::format("{:.1f} %", 100 * gflops / result.peak_gflops) : ""});
  }
  table.add({"    waiting", fmt::format("{:.3f}", 1e3 * (all - sum) / run_threads),
             fmt::format("{:.1f} %", 100 * (all - sum) / all), "", ""});
  return table.text();
}

Json result_json(const BenchResult& result) {
  const BenchSetting& setting = result.setting;
  Json json = {{"model", result.model},
               {"height", setting.height},
               {"width", setting.width},
               {"batch", setting.batch},
               {"threads", setting.threads},
               {"runs", result.runs},
               {"complete", result.complete},
               {"median_ms", 1e3 * result.median},
               {"p95_ms", 1e3 * result.p95},
               {"spread", result.spread},
               {"best_quarter_ms", 1e3 * result.best},
               {"images_per_second", result.images_per_second},
               {"dense_multiply_adds", result.macs.dense},
               {"scan_multiply_adds", result.macs.scan},
               {"gflops", result.gflops},
               {"peak_gflops", result.peak_gflops},
               {"peak_share", result.peak_share},
               {"peak_disturbed", is_disturbed(result)},
               {"arena_bytes", result.arena_bytes},
               {"scratch_bytes", result.scratch_bytes},
               {"packed_bytes", result.packed_bytes},
               {"process_bytes", result.process_bytes},
               {"engine", "vig"},
               {"ratio", nullptr},
               {"ratio_median", nullptr},
               {"difference", nullptr},
               {"proposals", nullptr},
               {"objects", nullptr},
               {"precision", arithmetic_name(result.arithmetic)}};
  if (result.proposals > 0) {
    json["proposals"] = result.proposals;
    json["objects"] = result.objects;
  }
  for (const ProfileEntry& entry : result.profile) {
    json["profile"].push_back({{"kind", entry.kind},
                               {"ms", 1e3 * profile_time(result, entry)},
                               {"gflops", profile_gflops(result, entry)},
                               {"peak_share", profile_gflops(result, entry) / result.peak_gflops}});
  }
  return json;
}

// GFLOP/s of a baseline that runs the same network; 0 otherwise.
double baseline_gflops(const BenchResult& result) {
  if (!result.baseline->same_network) return 0;
  return result.gflops * result.best / result.baseline->best;
}

// The keys of result_json(), null where a baseline does not report them.
Json baseline_json(const BenchResult& result) {
  const BaselineResult& baseline = *result.baseline;
  Json json = result_json(result);
  json.erase("profile");
  for (const char* key :
       {"gflops", "peak_share", "arena_bytes", "scratch_bytes", "packed_bytes", "process_bytes"}) {
    json[key] = nullptr;
  }
  json["model"] = baseline.model;
  json["runs"] = baseline.runs;
  json["median_ms"] = 1e3 * baseline.median;
  json["p95_ms"] = 1e3 * baseline.p95;
  json["spread"] = baseline.spread;
  json["best_quarter_ms"] = 1e3 * baseline.best;
  json["images_per_second"] = result.setting.batch / baseline.median;
  if (baseline.same_network) {
    json["gflops"] = baseline_gflops(result);
    json["peak_share"] = baseline_gflops(result) / result.peak_gflops;
  } else {
    json["dense_multiply_adds"] = nullptr;
    json["scan_multiply_adds"] = nullptr;
  }
  if (baseline.process_bytes > 0) json["process_bytes"] = baseline.process_bytes;
  json["engine"] = baseline.engine;
  json["precision"] = arithmetic_name(baseline.arithmetic);
  json["ratio"] = baseline.ratio;
  json["ratio_median"] = baseline.ratio_median;
  if (baseline.difference) json["difference"] = *baseline.difference;
  return json;
}

// Ours, then the baseline's.
std::vector<Json> result_rows(const BenchResult& result) {
  std::vector<Json> rows = {result_json(result)};
  if (result.baseline) rows.push_back(baseline_json(result));
  return rows;
}

std::string baseline_text(const BenchResult& result) {
  const BaselineResult& baseline = *result.baseline;
  const BenchSetting& setting = result.setting;
  const double gflops = baseline_gflops(result);
  std::string text = fmt::format(
      kRow, model_cell(network_text(baseline.engine, baseline.arithmetic)), size_text(setting),
      setting.batch, setting.threads, fmt::format("{:.3f}", 1e3 * baseline.median),
      fmt::format("{:.3f}", 1e3 * baseline.p95), fmt::format("{:.1f} %", 100 * baseline.spread),
      fmt::format("{:.1f}", setting.batch / baseline.median),
      gflops > 0 ? fmt::format("{:.1f}", gflops) : "", "",
      gflops > 0 ? fmt::format("{:.1f}", 100 * gflops / result.peak_gflops) : "", "",
      baseline.process_bytes > 0 ? readable_bytes(baseline.process_bytes) : "");
  text += fmt::format(
      "  {:.2f}x its time by the fastest quarters ({:.3f} and {:.3f} ms), {:.2f}x by the medians; ",
      baseline.ratio, 1e3 * result.best, 1e3 * baseline.best, baseline.ratio_median);
  text += baseline.difference
              ? fmt::format("logits differ by {:.1e} of the largest\n", *baseline.difference)
              : fmt::format("it runs {}: results are not compared\n", printable(baseline.model));
  return text;
}

}  // namespace

BenchReport::BenchReport() : cpu_(machine_cpu()), simd_(machine_simd()) {}

std::string BenchReport::heading() const {
  return fmt::format("{}, {}\n\n", cpu_, simd_) +
         fmt::format(kRow, model_cell("model"), "size", "batch", "threads", "median ms", "p95 ms",
                     "spread", "images/s", "GFLOP/s", "peak", "%", "arena", "process");
}

std::string BenchReport::row(const BenchResult& result) const {
  const BenchSetting& setting = result.setting;
  std::string text = fmt::format(
      kRow, model_cell(network_text(result.model, result.arithmetic)), size_text(setting),
      setting.batch, setting.threads, fmt::format("{:.3f}", 1e3 * result.median),
      fmt::format("{:.3f}", 1e3 * result.p95), fmt::format("{:.1f} %", 100 * result.spread),
      fmt::format("{:.1f}", result.images_per_second), fmt::format("{:.1f}", result.gflops),
      fmt::format("{:.1f}", result.peak_gflops), fmt::format("{:.1f}", 100 * result.peak_share),
      readable_bytes(result.arena_bytes), readable_bytes(result.process_bytes));
  if (result.baseline) text += baseline_text(result);
  if (result.proposals > 0) {
    text += fmt::format("  {} boxes through the box head, {} objects through the mask head\n",
                        result.proposals, result.objects);
  }
  if (!result.complete) text += fmt::format("  (stopped early, after {} runs)\n", result.runs);
  if (!result.profile.empty()) text += fmt::format("\n{}\n", profile_text(result));
  if (is_disturbed(result)) text += fmt::format("  ({})\n", disturbed_peak(largest_share(result)));
  return text;
}

// The columns are those of the JSON without the profile.
std::string BenchReport::csv(const std::vector<BenchResult>& results) const {
  const auto line = [&](const Json& row, std::string text, const auto& cell) {
    for (const auto& [key, value] : row.items()) {
      if (key != "profile") text += fmt::format(",{}", cell(key, value));
    }
    return text + "\n";
  };
  const auto value_cell = [](const auto&, const Json& value) -> std::string {
    if (value.is_null()) return "";
    return value.is_string() ? csv_quoted(value.get<std::string>()) : value.dump();
  };
  std::string text =
      line(result_json({}), "cpu,simd", [](const auto& key, const auto&) { return key; });
  for (const BenchResult& result : results) {
    for (const Json& row : result_rows(result)) {
      text += line(row, fmt::format("{},{}", csv_quoted(cpu_), simd_), value_cell);
    }
  }
  return text;
}

std::string BenchReport::json(const std::vector<BenchResult>& results) const {
  Json list = Json::array();
  for (const BenchResult& result : results) {
    for (Json& row : result_rows(result)) list.push_back(std::move(row));
  }
  return json_text({{"cpu", cpu_}, {"simd", simd_}, {"results", list}}, 2) + "\n";
}

}  // namespace vig::cli
