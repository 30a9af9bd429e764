#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "vig/base/error.h"
#include "vig/cli/commands.h"
#include "vig/cli/eval_compare.h"
#include "vig/cli/eval_dense.h"
#include "vig/cli/eval_report.h"
#include "vig/cli/eval_run.h"
#include "vig/cli/image_command.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/output_file.h"
#include "vig/cli/program.h"
#include "vig/cli/unreadable.h"
#include "vig/pipeline/evaluate_dense.h"

namespace vig::cli {
namespace {

struct Split {
  std::string name;  // empty: the whole
  Dataset data;
  size_t left_out = 0;  // rows of a list that name no image
};

// The split asked for; else test, else val, else train. The other splits are not checked.
DatasetSplits read_splits(const EvalOptions& options) {
  std::vector<std::string> wanted = {"test", "val", "train"};
  if (!options.split.empty()) wanted = {options.split};
  return open_dataset(options.data, {.archive = {},
                                     .decode = options.network.decode(),
                                     .cache_bytes = 0,
                                     .min_classes = 1,
                                     .splits = wanted,
                                     .first_split_only = true});
}

Split choose_split(const EvalOptions& options) {
  const DatasetSplits splits = read_splits(options);
  report_problems(splits.report);
  const size_t left_out = splits.report.left_out;
  if (splits.whole && options.split.empty()) return {"", *splits.whole, left_out};
  for (const auto& [name, split] :
       {std::pair{"test", &splits.test}, {"val", &splits.val}, {"train", &splits.train}}) {
    if (split->has_value()) return {name, **split, left_out};
  }
  fail("{}: has no split {}, only {}", options.data, options.split,
       splits.whole ? "one without a name" : fmt::format("{}", fmt::join(splits.there, " and ")));
}

// The predictions for single images, if an option asks for them.
class Predictions {
 public:
  Predictions(const Dataset& data, int classes)
      : data_(data), all_(data.size()), top_(std::min(kTop, classes)) {}

  void add(size_t sample, int label, std::span<const float> logits) {
    all_[sample].label = label;
    all_[sample].result = decode_classes(logits, top_, {});
  }
  void add_error(size_t sample, int label, const std::string& sentence) {
    all_[sample].label = label;
    all_[sample].error = sentence;
  }

  // In the order of the data, those without label or prediction (not reached) included.
  std::span<const Prediction> all() {
    for (size_t i = 0; i < all_.size(); ++i) all_[i].file = data_.path(i);
    return all_;
  }
  std::string csv(std::span<const std::string> names, bool header) {
    all();
    std::vector<Prediction> done;
    std::ranges::copy_if(all_, std::back_inserter(done),
                         [](const Prediction& one) { return one.label.has_value(); });
    return predictions_csv(done, names, {.top = top_, .labelled = true, .header = header});
  }

 private:
  static constexpr int kTop = 5;

  const Dataset& data_;
  std::vector<Prediction> all_;
  const int top_;
};

// Outputs that cannot be written are reported before the work, not after.
struct Outputs {
  std::optional<OutputFile> confusion, csv, predictions, mistakes;

  explicit Outputs(const EvalOptions& options) {
    const auto open = [](std::optional<OutputFile>& file, const std::string& path) {
      if (!path.empty()) file.emplace(path);
    };
    open(confusion, options.confusion);
    open(csv, options.csv);
    open(predictions, options.predictions);
    if (options.mistakes > 0) open(mistakes, options.page);
  }
};

void check_files(const EvalOptions& options) {
  FileRoles roles;
  roles.write("--confusion", options.confusion);
  roles.write("--csv", options.csv);
  roles.write("--predictions", options.predictions);
  if (options.mistakes > 0) roles.write("--page", options.page);
  roles.write("--curves", options.curves);
  roles.read("model", options.network.model_file());
  roles.read_data(options.data);
  roles.check();
}

// Options of one task that say nothing of another.
void check_options(const EvalOptions& options, ModelTask task) {
  const auto refuse = [&](bool given, const char* option, const char* what) {
    if (given) fail_usage("{} is for {}, and the model is for another task", option, what);
  };
  const bool classify = task == ModelTask::kClassify;
  refuse(!classify && options.mistakes > 0, "--mistakes", "classifiers");
  refuse(!classify && options.calibration, "--calibration", "classifiers");
  refuse(!classify && !options.compare.empty(), "--compare", "classifiers");
  refuse(!classify && !options.predictions.empty(), "--predictions", "classifiers");
  refuse(classify && options.worst > 0, "--worst", "segmentation and detection");
  refuse(task != ModelTask::kSegment && options.whole, "--whole", "segmentation");
  refuse(task != ModelTask::kSegment && options.window >= 0, "--window", "segmentation");
  refuse(task != ModelTask::kDetect && !options.curves.empty(), "--curves", "detection");
  refuse(task == ModelTask::kDetect && !options.confusion.empty(), "--confusion",
         "classifiers and segmentation");
}

// Without a model, the data says which default is meant. What is wrong with it is said later.
ModelTask task_meant(const std::string& data) {
  try {
    return task_of_data(data);
  } catch (const Error&) {
    return ModelTask::kClassify;
  }
}

// What the data is for; where it is for another task, says so.
void check_data(const std::string& data, const ModelSource& source) {
  constexpr const char* kKinds[] = {"images with a class each", "images with label maps",
                                    "images with COCO annotations"};
  const ModelTask own = source.spec.config->task(), found = task_of_data(data);
  if (own == found) return;
  fail("{}: {}, expected {} for {} ({})", data, kKinds[static_cast<int>(found)],
       kKinds[static_cast<int>(own)], source.name, source.spec.name);
}

int eval_classifier(const EvalOptions& options, const ModelSource& source,
                    const std::optional<TrainedRun>& run);

int eval(EvalOptions options) {
  const std::optional<TrainedRun> run = find_run(options.data, options.run_data);
  if (!run && !options.run_data.empty()) {
    fail_usage("{} is not the folder of a training run, so no second DATA may follow it",
               options.data);
  }
  if (run) options.data = run->data;
  if (run && options.network.model.model.empty()) options.network.model.model = run->model;
  if (options.network.model.model.empty()) options.network.task = task_meant(options.data);
  parse_shard(options.shard);
  check_files(options);
  const ModelSource source = require_weights(chosen_source(options.network));
  const ModelTask task = source.spec.config->task();
  check_options(options, task);
  if (task == ModelTask::kClassify) return eval_classifier(options, source, run);
  check_data(options.data, source);
  return task == ModelTask::kSegment ? eval_segmentation(options, source, run)
                                     : eval_detection(options, source, run);
}

int eval_classifier(const EvalOptions& options, const ModelSource& source,
                    const std::optional<TrainedRun>& run) {
  Split split =
      run && options.split.empty() ? Split{"validation", run->images(), 0} : choose_split(options);
  split.data = split.data.subset(shard_samples(options.shard, split.data.size()));
  if (!options.compare.empty()) return compare_precisions(options, source, split.data);
  Outputs outputs(options);

  const Runner runner(source, options.network.run(split.data.size()));
  catch_interrupt();
  const auto total = static_cast<int64_t>(split.data.size());
  Progress progress(total, "images");
  std::optional<Predictions> predictions;
  if (outputs.predictions || outputs.mistakes) {
    predictions.emplace(split.data, model_classes(source.spec));
  }
  const std::vector<int> output_of =
      match_classes(split.data.classes(), model_classes(source.spec), source.classes);
  EvaluateOptions evaluation;
  Unreadable unreadable;
  bool any_result = false;
  Calibration calibration;
  evaluation.on_problem = [&](size_t sample, const std::string& sentence) {
    progress.hide();
    unreadable.add(sentence);
    if (!predictions) return;
    const auto label = static_cast<size_t>(split.data.label(sample));
    predictions->add_error(sample, output_of[label], sentence);
  };
  evaluation.on_prediction = [&](size_t sample, int label, std::span<const float> logits) {
    any_result = true;
    if (options.calibration) calibration.add(logits, label);
    if (predictions) predictions->add(sample, label, logits);
  };
  evaluation.on_batch = [&](int64_t samples) {
    progress.advance(samples);
    return !interrupted() && !unreadable.hopeless(any_result);
  };
  const Evaluation result = evaluate(runner, split.data, evaluation);
  progress.hide();
  if (unreadable.hopeless(any_result)) {
    fail("{}: none of {} images could be read; the other {} were not tried", options.data,
         unreadable.count(), total - unreadable.count());
  } else if (!result.complete) {
    complain(
        fmt::format("stopped after {} of {} images", result.metrics.count + result.skipped, total));
  } else if (result.metrics.count == 0) {
    fail("{}: none of its {} images could be read", options.data, total);
  }

  const EvalReport report{
      source, options.network.model.model.empty(),         options.data, split.name, split.data,
      result, options.calibration ? &calibration : nullptr};
  if (options.json) {
    print(report.json() + "\n");
  } else {
    print(report.text());
  }
  const auto write = [&](std::optional<OutputFile>& file, const auto& text) {
    if (!file) return;
    file->write(text());
    file->finish(result.complete);
  };
  write(outputs.confusion, [&] { return report.confusion(); });
  write(outputs.csv, [&] { return report.classes_csv(); });
  write(outputs.predictions, [&] {
    return predictions->csv(report.class_names(), parse_shard(options.shard).index == 1);
  });
  write(outputs.mistakes, [&] {
    return report.mistakes_page(predictions->all(), static_cast<size_t>(options.mistakes));
  });
  if (!result.complete) return interrupted_exit();
  return finished_exit(result.metrics.count > 0, result.skipped > 0 || split.left_out > 0);
}

}  // namespace

void add_eval(CommandLine& line) {
  auto options = std::make_shared<EvalOptions>();
  Command& command = line.add_command("eval", "Measure how good a model is on labelled images");
  command
      .option(
          "data", options->data,
          "Folder, .tar, .tar.gz or .zip with one folder of images for each class, with "
          "images and label maps, or with COCO annotations; a .csv of path,label; or the folder "
          "of a training run, whose best network is then evaluated on its validation images")
      .required()
      .value("DATA");
  command
      .option("run_data", options->run_data,
              "Current location of the images of a training run, if they were moved")
      .value("DATA2");
  command
      .option("--split", options->split,
              "Split of DATA to evaluate: test, val or train (default: the first of these that "
              "DATA has)")
      .one_of({"test", "val", "train"})
      .value("SPLIT");
  add_network_options(command, options->network);
  command
      .option("--compare", options->compare,
              "Compare two precisions of a classifier, such as float32,int8: accuracy of both, "
              "equal labels, largest change of a probability; other outputs are not written")
      .value("TYPE,TYPE")
      .one_each(',');
  add_shard(command, options->shard);
  command
      .option("--confusion", options->confusion,
              "Also draw the confusion matrix to this SVG file (not for detectors)")
      .value("FILE.svg");
  command.option("--csv", options->csv, "Also write the metrics of each class to this CSV file")
      .value("FILE");
  command
      .option("--predictions", options->predictions,
              "Also write a CSV file with a line per image: file, label and best five classes")
      .value("FILE.csv");
  command
      .option("--mistakes", options->mistakes,
              "Also write an HTML page of the N misclassified images with the highest confidence")
      .range(1, 10000)
      .value("N");
  command.flag("--calibration", options->calibration,
               "Classifiers: also print the expected calibration error, the temperature that makes "
               "it small, and the precision of what --threshold would keep; logits stay in memory");
  command.option("--page", options->page, "Output file of --mistakes")
      .needs("--mistakes")
      .show_default()
      .value("FILE.html");
  command
      .option(
          "--worst", options->worst,
          "Segmentation and detection: also draw the N worst images, prediction and ground truth")
      .range(1, 10000)
      .value("N");
  command.option("--worst-out", options->worst_folder, "Output folder of --worst")
      .needs("--worst")
      .show_default()
      .value("DIR");
  command
      .option("--curves", options->curves,
              "Detection: also draw precision against recall to this SVG file")
      .value("FILE.svg");
  command.flag("--whole", options->whole, "Segmentation: as for vig segment");
  command.option("--window", options->window, "Segmentation: as for vig segment")
      .range(1, kMaxInputSide)
      .value("N");
  add_json(command, options->json);
  command.footer =
      "The metrics depend on the model: accuracy for a classifier, mIoU for a segmentation "
      "network,\n"
      "COCO's average precision for a detector.\n"
      "Classes are matched by name if the weight file names them, otherwise by their order.\n"
      "An image that cannot be read is reported and skipped, and the exit status is 3 (1: none "
      "could).\n"
      "Ctrl-C stops after the current batch and prints the result so far; each FILE is then "
      "written\n"
      "as FILE.partial.";
  command.run = [options] { return eval(*options); };
}

}  // namespace vig::cli
