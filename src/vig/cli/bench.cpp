#include "vig/bench/bench.h"

#include <fmt/format.h>

#include <optional>
#include <sstream>

#include "vig/base/error.h"
#include "vig/base/processors.h"
#include "vig/cli/bench_report.h"
#include "vig/cli/commands.h"
#include "vig/cli/file_roles.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/output_file.h"
#include "vig/pipeline/default_model.h"
#include "vig/runtime/machine.h"

namespace vig::cli {
namespace {

constexpr int kMaxBatch = 1024;
constexpr int kMaxThreads = 1024;
const std::vector<std::string> kInstructionSets = {"avx512", "avx2", "sse4", "neon", "plain"};

struct BenchCommand {
  std::vector<std::string> models;
  ModelOptions model;  // changes for all of `models`
  std::string sizes;
  std::string batches = "1";
  std::string threads;
  std::string simd;
  std::string precisions = "float32";
  std::vector<std::string> float_layers;
  std::string baseline_precision = "float32";
  BenchOptions options;
  std::string csv;
  bool json = false;
  bool train = false;
};

struct Job {
  ModelSource source;
  Precision precision;
  std::vector<BenchSetting> settings;
};

std::vector<Precision> parse_precisions(const BenchCommand& command) {
  std::vector<Precision> precisions;
  std::istringstream list(command.precisions);
  for (std::string name; std::getline(list, name, ',');) {
    precisions.push_back({arithmetic_from_name(name), {}});
    if (precisions.back().arithmetic == Arithmetic::kInt8) {
      precisions.back().float_layers = command.float_layers;
    }
  }
  return precisions;
}

// Throws for anything that is wrong with the request, before the first measurement.
std::vector<Job> make_jobs(const BenchCommand& command) {
  const std::vector<int> batches = parse_integers("--batch", command.batches, kMaxBatch);
  const std::vector<int> threads = command.threads.empty()
                                       ? std::vector<int>{default_threads()}
                                       : parse_integers("--threads", command.threads, kMaxThreads);
  const std::vector<Precision> precisions = parse_precisions(command);
  std::vector<Job> jobs;
  for (const std::string& name : command.models) {
    ModelOptions options = command.model;
    options.model = name;
    Job job{find_source(options.request()), {}, {}};
    const GridSize own = described_size(job.source.spec);
    const std::vector<InputSize> sizes = command.sizes.empty()
                                             ? std::vector<InputSize>{{own.height, own.width}}
                                             : parse_sizes(command.sizes);
    for (const InputSize& size : sizes) {
      build_graph(job.source.spec, size.height, size.width);  // throws when it is too small
      for (int batch : batches) {
        for (int count : threads) {
          job.settings.push_back({size.height, size.width, batch, count});
          check_bench(job.source, job.settings.back(), command.options);
        }
      }
    }
    for (const Precision& precision : precisions) {
      job.precision = precision;
      jobs.push_back(job);
    }
  }
  return jobs;
}

int bench(const BenchCommand& command) {
  if (command.train) fail_usage("--train takes no value");
  if (command.options.baseline.command.empty() && !command.options.baseline.other.empty()) {
    fail_usage("--baseline-other says what the baseline runs, and there is no --baseline");
  }
  if (!command.simd.empty()) use_machine_simd(command.simd);
  FileRoles roles;
  roles.write("--csv", command.csv);
  for (const std::string& model : command.models) roles.read("model", resolve_model(model));
  roles.check();
  std::vector<Job> jobs = make_jobs(command);
  std::optional<OutputFile> csv;
  if (!command.csv.empty()) csv.emplace(command.csv);
  catch_interrupt();
  BenchOptions options = command.options;
  options.baseline.arithmetic = arithmetic_from_name(command.baseline_precision);
  options.keep_going = [] { return !interrupted(); };
  std::vector<BenchResult> results;
  const BenchReport report;
  if (!command.json) print(report.heading());
  flush_output();
  for (Job& job : jobs) {
    if (interrupted()) break;
    const Bench measured(job.source, job.precision);
    job.source.checkpoint.reset();  // so that the file's pages do not count as memory in use
    for (const BenchSetting& setting : job.settings) {
      if (interrupted()) break;
      try {
        results.push_back(measured.measure(setting, options));
      } catch (const BenchStopped&) {
        break;
      }
      if (!command.json) print(report.row(results.back()));
      flush_output();
    }
  }
  if (command.json) print(report.json(results));
  size_t asked = 0;
  for (const Job& job : jobs) asked += job.settings.size();
  const bool whole = results.size() == asked && (results.empty() || results.back().complete);
  if (csv) {
    csv->write(report.csv(results));
    csv->finish(whole);
  }
  return whole ? 0 : interrupted_exit();
}

}  // namespace

void add_bench(CommandLine& line) {
  auto options = std::make_shared<BenchCommand>();
  Command& command =
      line.add_command("bench", "Measure speed, memory and the share of this machine's peak");
  command
      .option("models", options->models,
              "Model names (with random weights), weight files, or models that come with vig: "
              "default, segment, detect")
      .required()
      .value("MODEL");
  add_model_changes(command, options->model);
  command
      .option("--size", options->sizes,
              "Input sizes, N or HEIGHTxWIDTH, separated by commas (default: the model's own)")
      .value("SIZE,...");
  command.option("--batch", options->batches, "Batch sizes, separated by commas")
      .show_default()
      .value("N,...");
  command
      .option("--threads", options->threads,
              "Numbers of threads, separated by commas (default: the processors that "
              "affinity and CPU quotas allow)")
      .value("N,...");
  command
      .option(
          "--simd", options->simd,
          fmt::format("Instruction set to run with, without VNNI, of those this machine has: {} "
                      "(default: the best)",
                      fmt::join(kInstructionSets, ", ")))
      .offers(kInstructionSets)
      .value("SET");
  command
      .option("--precision", options->precisions,
              "Precision of the dense layers, separated by commas: float32, int8")
      .show_default()
      .value("TYPE,...");
  add_float_layers(command, options->float_layers);
  command.option("--seconds", options->options.seconds, "Approximate seconds of each measurement")
      .range(0.01, 86400.0)
      .show_default()
      .value("S");
  command.flag("--profile", options->options.profile,
               "Also print the time of each kind of operation");
  command.option("--csv", options->csv, "Also write the results to this CSV file").value("FILE");
  BaselineOptions& baseline = options->options.baseline;
  command
      .option("--baseline", baseline.command,
              "Compare with another engine, started as this shell command; see "
              "bench/baselines/README.md")
      .value("COMMAND");
  command
      .option("--baseline-other", baseline.other,
              "The baseline runs another network, NAME: do not compare its logits")
      .value("NAME");
  command
      .option("--baseline-precision", options->baseline_precision,
              "Precision of the dense layers that the baseline runs: float32 or int8")
      .one_of({"float32", "int8"})
      .needs("--baseline")
      .show_default()
      .value("TYPE");
  command
      .option("--baseline-timeout", baseline.timeout,
              "Seconds to wait for each reply of the baseline")
      .range(0.01, 86400.0)
      .show_default()
      .value("S");
  add_json(command, options->json);
  // For the help: main hands the plain word on to vig-train.
  command.flag("--train", options->train,
               "Measure training instead; for its options: vig bench --train --help");
  command.footer =
      "Before timing, the logits are checked: they must be finite, and bit-identical in a second "
      "run and\n"
      "on one thread. Rounds of the model alternate with rounds of a loop of fused multiply-adds, "
      "which\n"
      "measures the machine's peak. images/s follows from the median; GFLOP/s, peak and the share "
      "of peak\n"
      "compare the fastest quarters of the rounds. A multiply-add counts as two operations, also "
      "in\n"
      "the scan. More than 100 % of peak means that other programs disturbed the loop: measure "
      "again.\n"
      "A detector is measured from the network's input to the masks, with its minimum score set so "
      "that\n"
      "it finds as many objects as the model allows.\n"
      "A baseline gets VIG_MODEL, VIG_HEIGHT, VIG_WIDTH, VIG_BATCH and VIG_THREADS in its "
      "environment.\n"
      "Unless --baseline-other is given, its logits must equal ours within 1e-4 of the largest, "
      "or\n"
      "within 0.1 where one of the two is int8. Its rounds alternate with ours.\n"
      "After Ctrl-C, --csv writes the finished measurements to FILE.partial.";
  command.run = [options] { return bench(*options); };
}

}  // namespace vig::cli
