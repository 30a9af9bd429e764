// Peak memory of ViG-T on whole images against their pixels: without a limit, with one, and in ONNX
// Runtime.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/region_writer.h"
#include "vig/study/bench_row.h"
#include "vig/study/child.h"
#include "vig/study/claims.h"
#include "vig/study/list.h"
#include "vig/study/onnxruntime.h"
#include "vig/tasks/chart.h"
#include "vig/weights/atomic_file.h"

namespace vig::study {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLimit = "250MB";
constexpr std::array kSides = {512, 1024, 2048, 4096, 8192, 16384};

enum class MemoryRun { kFree, kLimited, kOnnxRuntime };

struct MemoryCurve {
  MemoryRun run;
  const char* key;
  std::string name;
  int largest;         // side
  double pixel_bytes;  // about, of memory
};

const std::vector<MemoryCurve>& curves() {
  static const std::vector<MemoryCurve> all = {
      {MemoryRun::kFree, "free", "whole image in memory", 8192, 45},
      {MemoryRun::kLimited, "limited", fmt::format("--max-memory {}", kLimit), 16384, 0},
      {MemoryRun::kOnnxRuntime, "onnxruntime", "in ONNX Runtime", 4096, 250},
  };
  return all;
}

std::string memory_key(const MemoryCurve& curve, int side) {
  return fmt::format("{}/{}", curve.key, side);
}

std::vector<std::string> memory_keys(const StudyOptions& options) {
  std::vector<std::string> keys;
  for (const int side : kSides) {
    for (const MemoryCurve& curve : curves()) {
      if (side > curve.largest) continue;
      if (curve.run == MemoryRun::kOnnxRuntime && !has_onnxruntime(options)) continue;
      keys.push_back(memory_key(curve, side));
    }
  }
  return keys;
}

// A photograph's worth of detail, in tiles.
void write_image(const fs::path& path, int side) {
  AtomicFile file(path.string());
  TiffBandWriter tiff(byte_sink(file), {.width = side, .height = side});
  std::vector<uint8_t> row(static_cast<size_t>(side) * 3);
  uint32_t random = 1;
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      random = random * 1664525u + 1013904223u;
      uint8_t* pixel = row.data() + static_cast<size_t>(x) * 3;
      pixel[0] = static_cast<uint8_t>((x >> 3) + (y >> 4));
      pixel[1] = static_cast<uint8_t>((x >> 5) * (y >> 5));
      pixel[2] = static_cast<uint8_t>((x >> 4) + (random >> 28));
    }
    tiff.write_rows(row.data(), 1);
  }
  tiff.finish();
  file.commit();
}

// One run of vig embed, loading included.
void measure_whole(bool limited, int side, const StudyContext& context, Row& row) {
  const fs::path weights = context.folder / "vig_t.safetensors",
                 image = context.folder / "image.tif", out = context.folder / "image.json",
                 log = context.folder / "row.log";
  if (!fs::exists(weights))
    run_vig({"convert", "vig_t", weights.string(), "--random"}, log, context);
  write_image(image, side);
  std::vector<std::string> arguments = {
      "embed",        "-m",        weights.string(),
      image.string(), "--whole",   "--out",
      out.string(),   "--threads", fmt::format("{}", context.options.threads)};
  if (limited) {
    arguments.insert(arguments.end(),
                     {"--max-memory", kLimit, "--scratch", context.folder.string()});
  }
  row.set("process_bytes", static_cast<double>(run_vig(arguments, log, context)));
  row.set("engine", "vig " + context.version);
  std::error_code ignored;
  for (const fs::path& file : {image, out, log}) fs::remove(file, ignored);
}

Row measure(const std::string& key, const StudyContext& context) {
  const size_t slash = key.find('/');
  for (const MemoryCurve& curve : curves()) {
    if (key.substr(0, slash) != curve.key) continue;
    const int side = std::stoi(key.substr(slash + 1));
    Row row;
    row.set("megapixels", 1e-6 * side * side);
    BenchRequest request{.model = "vig_t", .fields = {}, .size = side};
    request.seconds = 0.1;
    request.bytes = curve.pixel_bytes * side * side;
    if (lacks_memory(request, row)) return row;
    if (curve.run != MemoryRun::kOnnxRuntime) {
      measure_whole(curve.run == MemoryRun::kLimited, side, context, row);
      return row;
    }
    const Figures baseline = bench_onnxruntime(request, "vig_t", {"--ort"}, context).baseline;
    if (const auto bytes = figure(baseline, "process_bytes")) row.set("process_bytes", *bytes);
    row.set("engine", baseline.at("engine"));
    return row;
  }
  fail("[memory] there is no row '{}'", key);
}

Presentation present(const Results& results) {
  Chart chart;
  chart.title = "Peak memory of ViG-T on a whole image";
  chart.subtitle = conditions_sentence(results);
  chart.note =
      "The process, weights included. Results with and without the limit are the same "
      "bits. Made by: vig study memory";
  chart.panel_width = 620;
  ChartPanel panel;
  panel.title = "Peak memory of the process";
  panel.x = {
      .label = "pixels", .scale = AxisScale::kLog, .ticks = {}, .unit = "", .prefixes = true};
  panel.y = {.label = "", .scale = AxisScale::kLog, .ticks = {}, .unit = "B", .prefixes = true};
  std::vector<std::string> titles = {"side:", "megapixels:"};
  std::vector<std::vector<std::string>> rows;
  for (const int side : kSides) {
    rows.push_back({fmt::format("{}", side), fmt::format("{:.1f}", 1e-6 * side * side)});
  }
  for (const MemoryCurve& curve : curves()) {
    titles.push_back(curve.name + ":");
    ChartSeries series{
        curve.name, {}, -1, curve.run == MemoryRun::kLimited, curve.run == MemoryRun::kOnnxRuntime};
    for (size_t i = 0; i < kSides.size(); ++i) {
      const auto bytes = results.number(memory_key(curve, kSides[i]), "process_bytes");
      rows[i].push_back(bytes_text(bytes));
      series.points.emplace_back(1.0 * kSides[i] * kSides[i],
                                 bytes.value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    panel.series.push_back(std::move(series));
  }
  chart.panels = {std::move(panel)};
  std::string text = conditions_sentence(results) + "\n\n" + markdown_table(titles, rows);
  for (const Row& row : results.rows) {
    if (!row.note.empty()) text += fmt::format("\n{}: {}.\n", row.key, row.note);
  }
  return {chart_svg(chart), text, {}};
}

}  // namespace

Study memory_study() {
  Study study;
  study.name = "memory";
  study.sentence = "Memory of ViG-T on whole images of up to 268 Mpixel, with a limit and without.";
  study.duration = "10 minutes";
  study.columns = {{"megapixels"}, {"process_bytes"}, {"engine", Column::Kind::kText}};
  study.keys = memory_keys;
  study.measure = measure;
  study.summary = [](const Row& row) { return bytes_text(row.number("process_bytes")); };
  study.present = present;
  return study;
}

}  // namespace vig::study
