#include "vig/train/bench.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "vig/base/error.h"
#include "vig/base/processors.h"
#include "vig/bench/statistics.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/train/commands.h"
#include "vig/kernels/targets.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

struct BenchCommand {
  ModelOptions model;
  train::BenchOptions options;
  bool alone = false;
  bool json = false;
  std::string csv;
};

Json to_json(const BenchCommand& command, const train::BenchResult& r, int size) {
  Json json = {{"model", command.model.model},
               {"size", size},
               {"batch", command.options.batch},
               {"threads", command.options.threads},
               {"simd", simd_target()},
               {"steps", r.steps},
               {"median_ms", 1e3 * r.median},
               {"p95_ms", 1e3 * r.p95},
               {"spread", r.spread},
               {"best_quarter_ms", 1e3 * r.best},
               {"images_per_second", r.images_per_second},
               {"gflops", r.gflops},
               {"peak_gflops", r.peak_gflops},
               {"peak_share", r.peak_share},
               {"peak_disturbed", !disturbed_peak(r.peak_share).empty()},
               {"process_mb", static_cast<double>(r.process_bytes) / 1e6}};
  if (r.expansion_best > 0) {
    json["expansion_ms"] = 1e3 * r.expansion_best;
    json["times_faster"] = r.expansion_best / r.best;
  }
  return json;
}

std::string to_csv(const Json& json) {
  std::string names, values;
  for (const auto& [name, value] : json.items()) {
    const std::string cell = value.is_string()  ? csv_quoted(value.get<std::string>())
                             : value.is_float() ? fmt::format("{:.4f}", value.get<double>())
                                                : value.dump();
    const char* const comma = names.empty() ? "" : ",";
    names += comma + name;
    values += comma + cell;
  }
  return names + "\n" + values + "\n";
}

int run_bench(const BenchCommand& command) {
  const ModelSource source = find_source(command.model.request());
  std::optional<AtomicFile> csv;
  if (!command.csv.empty()) csv.emplace(command.csv);
  train::BenchOptions options = command.options;
  options.expansion = !command.alone;
  options.keep_going = [] { return !interrupted(); };
  catch_interrupt();
  const train::BenchResult r = train::bench_training(source.spec, options);
  const int size = options.size > 0 ? options.size : source.spec.recipe.crop;
  const Json json = to_json(command, r, size);
  if (command.json) {
    print_json(json);
  } else {
    print(fmt::format("{} at {} x {}, batch {}, {} threads, {}: forward, backward and step\n",
                      source.name, size, size, options.batch, options.threads, simd_target()));
    print(
        fmt::format("  step          {:.1f} ms median, {:.1f} ms p95, {:.1f} ms fastest quarter "
                    "of {} steps\n",
                    1e3 * r.median, 1e3 * r.p95, 1e3 * r.best, r.steps));
    print(fmt::format("  images/s      {:.1f}\n", r.images_per_second));
    print(fmt::format("  GFLOP/s       {:.1f}, {:.1f} % of this machine's {:.1f}\n", r.gflops,
                      100 * r.peak_share, r.peak_gflops));
    if (const std::string note = disturbed_peak(r.peak_share); !note.empty()) {
      print(fmt::format("                ({})\n", note));
    }
    if (r.expansion_best > 0) {
      print(
          fmt::format("  expansion     {:.1f} ms in LibTorch's own operations: {:.2f} times as "
                      "long\n",
                      1e3 * r.expansion_best, r.expansion_best / r.best));
    }
    print(fmt::format("  peak memory   {}\n", readable_bytes(r.process_bytes)));
  }
  if (csv) csv->commit_text(to_csv(json));
  return interrupted() ? interrupted_exit() : 0;
}

}  // namespace

void add_train_bench(CommandLine& line) {
  auto command = std::make_shared<BenchCommand>();
  command->options.threads = default_threads();
  Command& sub =
      line.add_command("bench", "Measure the speed of training as a share of the machine's peak");
  sub.option("model", command->model.model,
             "Model name, weight file, or a model that comes with vig: default, segment, detect")
      .required()
      .value("MODEL");
  add_model_changes(sub, command->model);
  sub.option("--size", command->options.size,
             "Height and width of the input in pixels (default: the model's own)")
      .range(1, 8192)
      .value("N");
  sub.option("--batch", command->options.batch, "Images of one optimiser step")
      .range(1, 4096)
      .show_default()
      .value("N");
  add_threads(sub, command->options.threads);
  sub.option("--seconds", command->options.seconds, "Approximate measuring time in seconds")
      .range(0.01, 86400.0)
      .show_default()
      .value("S");
  sub.flag("--alone", command->alone, "Do not measure LibTorch's own operations for comparison");
  sub.option("--csv", command->csv, "Also write the result to this CSV file").value("FILE");
  add_json(sub, command->json);
  sub.run = [command] { return run_bench(*command); };
}

}  // namespace vig::cli
