#include "vig/cli/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "vig/base/printable.h"
#include "vig/base/utf8.h"
#include "vig/cli/output.h"
#include "vig/pipeline/bench_statistics.h"
#include "vig/runtime/machine.h"

namespace vig::cli {
namespace {

using nlohmann::ordered_json;
using Align = Table::Align;

constexpr const char* kRow =
    "{} {:>9} {:>5} {:>7} {:>10} {:>10} {:>7} {:>9} {:>8} {:>8} {:>6} {:>9} {:>9}\n";

std::string model_cell(std::string name) {
  constexpr size_t kWidth = 20;
  const size_t width = display_width(name);
  return width < kWidth ? name.append(kWidth - width, ' ') : name;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
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

bool is_disturbed(const BenchResult& result) {
  return !disturbed_peak(largest_share(result)).empty();
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

ordered_json result_json(const BenchResult& result) {
  const BenchSetting& setting = result.setting;
  ordered_json json = {{"model", result.model},
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
                       {"process_bytes", result.process_bytes}};
  for (const ProfileEntry& entry : result.profile) {
    json["profile"].push_back({{"kind", entry.kind},
                               {"ms", 1e3 * profile_time(result, entry)},
                               {"gflops", profile_gflops(result, entry)},
                               {"peak_share", profile_gflops(result, entry) / result.peak_gflops}});
  }
  return json;
}

}  // namespace

BenchReport::BenchReport() : cpu_(cpu_name()), simd_(machine_simd()) {}

std::string BenchReport::heading() const {
  return fmt::format("{}, {}\n\n", cpu_, simd_) +
         fmt::format(kRow, model_cell("model"), "size", "batch", "threads", "median ms", "p95 ms",
                     "spread", "images/s", "GFLOP/s", "peak", "%", "arena", "process");
}

std::string BenchReport::row(const BenchResult& result) const {
  const BenchSetting& setting = result.setting;
  std::string text = fmt::format(
      kRow, model_cell(printable(result.model)), size_text(setting), setting.batch, setting.threads,
      fmt::format("{:.3f}", 1e3 * result.median), fmt::format("{:.3f}", 1e3 * result.p95),
      fmt::format("{:.1f} %", 100 * result.spread), fmt::format("{:.1f}", result.images_per_second),
      fmt::format("{:.1f}", result.gflops), fmt::format("{:.1f}", result.peak_gflops),
      fmt::format("{:.1f}", 100 * result.peak_share), readable_bytes(result.arena_bytes),
      readable_bytes(result.process_bytes));
  if (!result.complete) text += fmt::format("  (stopped early, after {} runs)\n", result.runs);
  if (!result.profile.empty()) text += fmt::format("\n{}\n", profile_text(result));
  if (is_disturbed(result)) text += fmt::format("  ({})\n", disturbed_peak(largest_share(result)));
  return text;
}

// The columns are those of the JSON without the profile.
std::string BenchReport::csv(const std::vector<BenchResult>& results) const {
  const auto line = [&](const BenchResult& result, std::string text, const auto& cell) {
    const ordered_json row = result_json(result);
    for (const auto& [key, value] : row.items()) {
      if (key != "profile") text += fmt::format(",{}", cell(key, value));
    }
    return text + "\n";
  };
  std::string text = line({}, "cpu,simd", [](const auto& key, const auto&) { return key; });
  for (const BenchResult& result : results) {
    text += line(result, fmt::format("{},{}", csv_quoted(cpu_), simd_),
                 [&](const auto&, const ordered_json& value) {
                   return value.is_string() ? csv_quoted(value.get<std::string>()) : value.dump();
                 });
  }
  return text;
}

std::string BenchReport::json(const std::vector<BenchResult>& results) const {
  ordered_json list = ordered_json::array();
  for (const BenchResult& result : results) list.push_back(result_json(result));
  return json_text({{"cpu", cpu_}, {"simd", simd_}, {"results", list}}, 2) + "\n";
}

}  // namespace vig::cli
