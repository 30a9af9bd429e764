#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/cli/commands.h"
#include "vig/cli/eval_run.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/output.h"
#include "vig/cli/picture_command.h"
#include "vig/pipeline/evaluate.h"
#include "vig/runtime/session.h"
#include "vig/tasks/confusion_svg.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

using nlohmann::ordered_json;
using Align = Table::Align;

struct EvalOptions {
  NetworkOptions network;
  std::string data;
  std::string run_data;  // where the pictures of a run are, if DATA is a run and they moved
  std::string split;
  std::string confusion;
  std::string csv;
  bool json = false;
};

struct Part {
  std::string name;  // empty: the whole
  Dataset data;
};

// The part asked for; else test, else val, else train. The others may be as they like.
DatasetParts read_part(const EvalOptions& options) {
  std::vector<std::string> wanted = {"test", "val", "train"};
  if (!options.split.empty()) wanted = {options.split};
  return open_dataset(options.data, {.archive = {},
                                     .decode = options.network.decode(),
                                     .cache_bytes = 0,
                                     .min_classes = 1,
                                     .parts = wanted,
                                     .first_part_only = true});
}

Part choose_part(const EvalOptions& options) {
  const DatasetParts parts = read_part(options);
  if (parts.whole && options.split.empty()) return {"", *parts.whole};
  for (const auto& [name, part] :
       {std::pair{"test", &parts.test}, {"val", &parts.val}, {"train", &parts.train}}) {
    if (part->has_value()) return {name, **part};
  }
  fail("{}: has no part {}, only {}", options.data, options.split,
       parts.whole ? "one without a name" : fmt::format("{}", fmt::join(parts.there, " and ")));
}

struct Report {
  const ModelSource& source;
  const EvalOptions& options;
  const Part& part;
  const Evaluation& result;

  const ClassificationMetrics& metrics() const { return result.metrics; }
  std::string class_name(size_t index) const {
    if (!source.classes.empty()) return source.classes[index];
    return part.data.classes()[index];
  }
  double images_per_second() const {
    return result.seconds > 0 ? static_cast<double>(metrics().count) / result.seconds : 0;
  }
  std::string data_name() const {
    return part.name.empty() ? options.data : fmt::format("{}, part {}", options.data, part.name);
  }

  std::string text() const;
  ordered_json json() const;
  std::string csv() const;
  std::string confusion() const;
};

std::string percent(double share) {
  return std::isnan(share) ? "" : fmt::format("{:.2f} %", 100 * share);
}

std::string Report::text() const {
  Table table({{"class"},
               {"pictures", Align::kRight},
               {"answered", Align::kRight},
               {"correct", Align::kRight},
               {"recall", Align::kRight},
               {"precision", Align::kRight}});
  const std::vector<ClassMetrics> classes = metrics().per_class();
  for (size_t i = 0; i < classes.size(); ++i) {
    table.add({printable(class_name(i), 40), grouped(classes[i].count),
               grouped(classes[i].answered), grouped(classes[i].correct),
               percent(classes[i].recall()), percent(classes[i].precision())});
  }
  return fmt::format(
      "model     {}{}, {}\ndata      {}\npictures  {}\nskipped   {}\n"
      "top-1     {}\ntop-5     {}\nloss      {:.4f}\nspeed     {:.1f} images/s\n\n{}",
      options.network.model.model.empty() ? "default, " : "", printable(source.name, 4096),
      source.spec.name, printable(data_name(), 4096), grouped(metrics().count),
      grouped(result.skipped), percent(metrics().top1()), percent(metrics().top5()),
      metrics().loss(), images_per_second(), table.text());
}

ordered_json Report::json() const {
  ordered_json json = {{"model", source.name},
                       {"arch", source.spec.name},
                       {"data", options.data},
                       {"part", part.name},
                       {"pictures", metrics().count},
                       {"skipped", result.skipped},
                       {"complete", result.complete},
                       {"top1", metrics().top1()},
                       {"top5", metrics().top5()},
                       {"loss", metrics().loss()},
                       {"seconds", result.seconds},
                       {"images_per_second", images_per_second()},
                       {"classes", ordered_json::array()},
                       {"confusion", ordered_json::array()}};
  const std::vector<ClassMetrics> classes = metrics().per_class();
  for (size_t i = 0; i < classes.size(); ++i) {
    json["classes"].push_back({{"index", i},
                               {"name", class_name(i)},
                               {"pictures", classes[i].count},
                               {"answered", classes[i].answered},
                               {"correct", classes[i].correct},
                               {"recall", classes[i].recall()},  // null when there is none
                               {"precision", classes[i].precision()}});
  }
  for (const auto& [pair, count] : metrics().confusion) {
    json["confusion"].push_back(
        {{"label", pair.first}, {"answer", pair.second}, {"pictures", count}});
  }
  return json;
}

std::string Report::csv() const {
  const auto cell = [](double share) {
    return std::isnan(share) ? std::string() : fmt::format("{}", share);
  };
  std::string text = "index,class,pictures,answered,correct,recall,precision\n";
  const std::vector<ClassMetrics> classes = metrics().per_class();
  for (size_t i = 0; i < classes.size(); ++i) {
    text += fmt::format("{},{},{},{},{},{},{}\n", i, csv_quoted(class_name(i)), classes[i].count,
                        classes[i].answered, classes[i].correct, cell(classes[i].recall()),
                        cell(classes[i].precision()));
  }
  return text;
}

std::string Report::confusion() const {
  std::vector<std::string> names;
  for (int i = 0; i < metrics().classes; ++i) names.push_back(class_name(static_cast<size_t>(i)));
  return confusion_svg(metrics(), names,
                       fmt::format("{} on {}: top-1 {} of {} pictures", source.name, data_name(),
                                   percent(metrics().top1()), grouped(metrics().count)));
}

int eval(EvalOptions options) {
  const std::optional<TrainedRun> run = find_run(options.data, options.run_data);
  if (!run && !options.run_data.empty()) {
    fail_usage("{} is not the folder of a training run, so no second DATA may follow it",
               options.data);
  }
  if (run) options.data = run->data;
  if (run && options.network.model.model.empty()) options.network.model.model = run->model;
  const ModelSource source = require_weights(chosen_source(options.network));
  const Part part =
      run && options.split.empty() ? Part{"validation", run->pictures()} : choose_part(options);
  // What cannot be written is said before the work, not after.
  std::optional<AtomicFile> confusion, csv;
  if (!options.confusion.empty()) confusion.emplace(options.confusion);
  if (!options.csv.empty()) csv.emplace(options.csv);

  const Recipe recipe = chosen_recipe(source, options.network);
  Runner runner(source, options.network.run(recipe, part.data.size()));
  catch_interrupt();
  const auto total = static_cast<int64_t>(part.data.size());
  Progress progress(total, "pictures");
  EvaluateOptions evaluation;
  evaluation.size = options.network.size;
  evaluation.decoders = options.network.threads != 0 ? options.network.threads : default_threads();
  evaluation.on_problem = [&](const std::string& sentence) {
    progress.hide();
    complain(sentence);
  };
  evaluation.on_batch = [&](int64_t samples) {
    progress.advance(samples);
    return !interrupted();
  };
  const Evaluation result = evaluate(runner, part.data, evaluation);
  progress.hide();
  if (!result.complete) {
    complain(fmt::format("stopped after {} of {} pictures", result.metrics.count + result.skipped,
                         total));
  } else if (result.metrics.count == 0) {
    fail("{}: none of its {} pictures could be read", options.data, total);
  }

  const Report report{source, options, part, result};
  if (options.json) {
    print_json(report.json());
  } else {
    print(report.text());
  }
  if (confusion) confusion->commit_text(report.confusion());
  if (csv) csv->commit_text(report.csv());
  if (!result.complete) return kInterruptedExit;
  return result.skipped == 0 ? 0 : 1;
}

}  // namespace

void add_eval(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App* command =
      app.add_subcommand("eval", "Measure how often a classifier is right on labelled pictures");
  command
      ->add_option("data", options->data,
                   "Folder, .tar, .tar.gz or .zip with a folder of pictures for each class, or the "
                   "folder of a training run: its best network on its validation pictures")
      ->required()
      ->type_name("DATA");
  command
      ->add_option("run_data", options->run_data,
                   "If DATA is the folder of a training run: where its pictures are now")
      ->type_name("DATA2");
  command
      ->add_option(
          "--split", options->split,
          "The part to use, where DATA has several: test, val or train (default: the first "
          "of these that is there)")
      ->check(CLI::IsMember({"test", "val", "train"}).description(""))
      ->type_name("PART");
  add_network_options(*command, options->network);
  command->add_option("--confusion", options->confusion, "Also draw the confusion matrix here")
      ->type_name("FILE.svg");
  command->add_option("--csv", options->csv, "Also write the table of classes here")
      ->type_name("FILE");
  add_json(*command, options->json);
  command->footer(
      "Classes are matched by name where the weight file names them, otherwise by their order.\n"
      "A picture that cannot be read is reported and skipped, and the exit status is 1.");
  command->callback([&chosen, options] { chosen = [options] { return eval(*options); }; });
}

}  // namespace vig::cli
