#include "vig/study/bench_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "vig/base/error.h"
#include "vig/base/memory.h"
#include "vig/models/family.h"
#include "vig/study/child.h"
#include "vig/study/results.h"

namespace vig::study {
namespace {

namespace fs = std::filesystem;

constexpr double kMemoryShare = 0.8;  // of the machine's, that a row may take

std::string lacking_memory(double bytes) {
  const double all = static_cast<double>(physical_memory());
  return bytes > 0
             ? fmt::format("left out: needs {:.1f} GB, this machine has {:.1f} GB", 1e-9 * bytes,
                           1e-9 * all)
             : fmt::format("left out: needs more than the {:.1f} GB of this machine", 1e-9 * all);
}

}  // namespace

const std::vector<Column>& bench_columns() {
  static const std::vector<Column> columns = {{"dense_multiply_adds"},
                                              {"scan_multiply_adds"},
                                              {"median_ms"},
                                              {"best_ms"},
                                              {"spread"},
                                              {"images_per_second"},
                                              {"gflops"},
                                              {"peak_share"},
                                              {"activation_bytes"},
                                              {"process_bytes"}};
  return columns;
}

const std::vector<Column>& pair_columns() {
  static const std::vector<Column> columns = {
      {"ratio"}, {"ratio_low"}, {"ratio_high"}, {"memory_ratio"}};
  return columns;
}

void measure_pair(BenchRequest first, BenchRequest other, const StudyContext& context, Row& row) {
  constexpr int kRounds = 3;
  constexpr double kSeconds = 4;
  first.seconds = other.seconds = kSeconds;
  if (lacks_memory(first, row) || lacks_memory(other, row)) return;
  double sum = 0, low = 0, high = 0, bytes = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Figures ours = run_bench(first, {}, context).front(),
                  theirs = run_bench(other, {}, context).front();
    const auto of = [](const Figures& figures, const char* column) {
      return figure(figures, column).value_or(0);
    };
    // Of an image each, where the batches differ.
    const double ratio = of(theirs, "best_quarter_ms") / other.batch /
                         std::max(1e-9, of(ours, "best_quarter_ms") / first.batch);
    low = round == 0 ? ratio : std::min(low, ratio);
    high = std::max(high, ratio);
    sum += ratio;
    bytes += of(theirs, "process_bytes") / std::max(1.0, of(ours, "process_bytes"));
  }
  row.set("ratio", sum / kRounds);
  row.set("ratio_low", low);
  row.set("ratio_high", high);
  row.set("memory_ratio", bytes / kRounds);
}

std::optional<Interval> pair_ratio(const Row* row) {
  if (row == nullptr || !row->number("ratio")) return std::nullopt;
  const double value = *row->number("ratio");
  return Interval{value, row->number("ratio_low").value_or(value),
                  row->number("ratio_high").value_or(value)};
}

ModelSpec spec_of(const BenchRequest& request) {
  ModelSpec spec = find_model(request.model);
  for (const std::string& field : request.fields) {
    const size_t equals = field.find('=');
    override_field(spec, field.substr(0, equals), field.substr(equals + 1));
  }
  return spec;
}

MacCount multiply_adds(const BenchRequest& request) {
  const ModelSpec spec = spec_of(request);
  const GridSize size =
      request.size > 0 ? GridSize{request.size, request.size} : described_size(spec);
  return count_macs(build_graph(spec, size.height, size.width));
}

std::vector<Figures> run_bench(const BenchRequest& request, std::vector<std::string> options,
                               const StudyContext& context) {
  const fs::path csv = context.folder / "row.csv", log = context.folder / "row.log";
  const double seconds = context.options.seconds > 0 ? context.options.seconds : request.seconds;
  const GridSize own = described_size(spec_of(request));
  const GridSize size = request.size > 0 ? GridSize{request.size, request.size} : own;
  std::vector<std::string> arguments = {"bench",     request.model,
                                        "--size",    fmt::format("{}x{}", size.height, size.width),
                                        "--batch",   fmt::format("{}", request.batch),
                                        "--threads", fmt::format("{}", context.options.threads),
                                        "--seconds", fmt::format("{:.6g}", seconds),
                                        "--csv",     csv.string()};
  for (const std::string& field : request.fields) {
    arguments.insert(arguments.end(), {"--set", field});
  }
  arguments.insert(arguments.end(), options.begin(), options.end());
  std::error_code ignored;
  fs::remove(csv, ignored);
  fs::remove(log, ignored);
  run_vig(arguments, log, context);
  const auto lines = parse_csv(read_text(csv), csv.string());
  std::vector<Figures> results;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() != lines[0].size()) fail("{}: line {} is damaged", csv.string(), i + 1);
    Figures& figures = results.emplace_back();
    for (size_t c = 0; c < lines[0].size(); ++c) figures[lines[0][c]] = lines[i][c];
  }
  if (results.empty()) fail("{}: holds no result of vig bench", csv.string());
  fs::remove(csv, ignored);
  fs::remove(log, ignored);
  return results;
}

std::optional<double> figure(const Figures& figures, const std::string& column) {
  const auto cell = figures.find(column);
  if (cell == figures.end()) fail("[study] vig bench wrote no column {}", column);
  if (cell->second.empty()) return std::nullopt;
  return std::stod(cell->second);
}

bool lacks_memory(const BenchRequest& request, Row& row) {
  if (request.bytes <= kMemoryShare * static_cast<double>(physical_memory())) return false;
  row.note = lacking_memory(request.bytes);
  return true;
}

void measure_bench(const BenchRequest& request, const StudyContext& context, Row& row) {
  const MacCount macs = multiply_adds(request);
  row.set("dense_multiply_adds", fmt::format("{}", macs.dense));
  row.set("scan_multiply_adds", fmt::format("{}", macs.scan));
  if (lacks_memory(request, row)) return;
  Figures figures;
  try {
    figures = run_bench(request, {}, context).front();
  } catch (const Error& error) {
    const bool memory = std::string_view(error.what()).find("memory") != std::string_view::npos;
    if (!memory) throw;
    row.note = lacking_memory(request.bytes);
    return;
  }
  const auto number = [&](const char* column) { return figure(figures, column).value_or(0); };
  for (const char* column : {"dense_multiply_adds", "scan_multiply_adds"}) {
    row.set(column, figures.at(column));  // of a detector with its heads
  }
  const double best = number("best_quarter_ms");
  row.set("median_ms", number("median_ms"));
  row.set("best_ms", best);
  row.set("spread", number("spread"));
  row.set("images_per_second", 1e3 * request.batch / best);
  row.set("gflops", number("gflops"));
  row.set("peak_share", number("peak_share"));
  row.set("activation_bytes", number("arena_bytes") + number("scratch_bytes"));
  row.set("process_bytes", number("process_bytes"));
}

}  // namespace vig::study
