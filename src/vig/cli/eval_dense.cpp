#include "vig/cli/eval_dense.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "vig/base/error.h"
#include "vig/cli/eval_dense_report.h"
#include "vig/cli/image_outputs.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/output.h"
#include "vig/cli/output_file.h"
#include "vig/cli/program.h"
#include "vig/cli/unreadable.h"
#include "vig/data/target.h"
#include "vig/image/encode_png.h"
#include "vig/pipeline/evaluate.h"
#include "vig/tasks/overlay.h"

namespace vig::cli {
namespace {

constexpr size_t kProblemsShown = 10;
const std::string kPrediction = "prediction.png", kTruth = "truth.png";

template <class Data>
struct Chosen {
  std::string split;  // empty: the whole
  Data data;
};

LabelPairSplits open(const std::string& path, const LabelPairOptions& options) {
  return open_label_pairs(path, options);
}
CocoSplits open(const std::string& path, const CocoOptions& options) {
  return open_coco(path, options);
}

// The images of a run that were held out, by the names that training wrote down; where the data
// has moved, by the last part of each.
template <class Data>
Data held_out(const Data& data, const TrainedRun& run) {
  std::map<std::string, size_t> by_path;
  std::multimap<std::string, size_t> by_name;
  for (size_t i = 0; i < data.size(); ++i) {
    by_path.emplace(data.path(i), i);
    by_name.emplace(std::filesystem::path(data.path(i)).filename().string(), i);
  }
  std::vector<size_t> samples;
  for (const std::string& name : run.held_out()) {
    const auto found = by_path.find(name);
    const std::string last = std::filesystem::path(name).filename().string();
    if (found != by_path.end()) {
      samples.push_back(found->second);
    } else if (by_name.count(last) == 1) {
      samples.push_back(by_name.find(last)->second);
    } else {
      fail("{}: names the image {}, which is not among the images of {}", run.folder, name,
           run.data);
    }
  }
  return data.subset(samples);
}

// The split asked for; else test, else val, else train.
template <class Data, class Options>
Chosen<Data> choose_split(const EvalOptions& options, Options reading,
                          const std::optional<TrainedRun>& run) {
  const bool of_run = run && options.split.empty();
  if (of_run) run->check_data();
  reading.cache_bytes = 0;
  reading.decode.max_pixels = options.network.max_pixels;
  reading.first_split_only = true;
  reading.splits = {"test", "val", "train"};
  if (!options.split.empty()) reading.splits = {options.split};
  if (of_run) reading.splits = {run->own_split ? "val" : "train"};
  const auto splits = open(options.data, reading);
  if (of_run && !run->own_split) {
    const std::optional<Data>& part = splits.train ? splits.train : splits.whole;
    if (!part) fail("{}: no longer has the split train", options.data);
    return {"validation", held_out(*part, *run)};
  }
  if (splits.whole && options.split.empty() && !of_run) return {"", *splits.whole};
  for (const auto& [name, part] :
       {std::pair{"test", &splits.test}, {"val", &splits.val}, {"train", &splits.train}}) {
    if (part->has_value()) return {of_run ? "validation" : name, **part};
  }
  fail("{}: has no split {}, only {}", options.data, fmt::join(reading.splits, " or "),
       splits.whole ? "one without a name" : fmt::format("{}", fmt::join(splits.there, " and ")));
}

// Of it, the part asked for.
template <class Data, class Options>
Chosen<Data> choose(const EvalOptions& options, const Options& reading,
                    const std::optional<TrainedRun>& run) {
  Chosen<Data> chosen = choose_split<Data>(options, reading, run);
  chosen.data = chosen.data.subset(shard_samples(options.shard, chosen.data.size()));
  return chosen;
}

bool are_indices(const std::vector<std::string>& classes) {
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] != fmt::format("{}", i)) return false;
  }
  return true;
}

// Label maps may have no names; their indices are then those of the model's classes.
Chosen<LabelPairs> choose_pairs(const EvalOptions& options, const ModelSource& source,
                                const std::optional<TrainedRun>& run) {
  auto chosen = choose<LabelPairs>(options, LabelPairOptions(), run);
  if (!are_indices(chosen.data.classes()) || source.classes.empty()) return chosen;
  LabelPairOptions named;
  named.classes = model_classes(source.spec);
  named.names = source.classes;
  return choose<LabelPairs>(options, named, run);
}

std::vector<std::string> class_names(const ModelSource& source) {
  std::vector<std::string> names = source.classes;
  for (int i = static_cast<int>(names.size()); i < model_classes(source.spec); ++i) {
    names.push_back(fmt::format("{}", i));
  }
  return names;
}

// Runs an evaluation with progress, and remembers how good single images are.
class Evaluating {
 public:
  explicit Evaluating(const SampleSource& data)
      : data_(data), progress_(static_cast<int64_t>(data.size()), "images") {
    catch_interrupt();
  }

  DenseEvaluateOptions options() {
    DenseEvaluateOptions options;
    options.on_problem = [this](size_t, const std::string& sentence) {
      progress_.hide();
      unreadable_.add(sentence);
    };
    options.on_score = [this](size_t sample, double score) {
      any_result_ = true;
      if (!std::isnan(score)) scores_.emplace_back(score, sample);
    };
    options.on_done = [this] {
      progress_.advance(1);
      return !interrupted() && !unreadable_.hopeless(any_result_);
    };
    return options;
  }
  // Reports what was left out; throws if there is no result at all.
  void finish(const std::string& path, const DenseRun& result) {
    progress_.hide();
    const auto total = static_cast<int64_t>(data_.size());
    if (unreadable_.hopeless(any_result_)) {
      fail("{}: none of {} images could be read; the other {} were not tried", path,
           unreadable_.count(), total - unreadable_.count());
    } else if (!result.complete) {
      complain(fmt::format("stopped after {} of {} images", result.images + result.skipped, total));
    } else if (result.images == 0) {
      fail("{}: none of its {} images could be read", path, total);
    }
  }
  // The samples with the lowest scores, the worst first.
  std::vector<size_t> worst(int count) {
    std::ranges::sort(scores_);
    std::vector<size_t> samples;
    for (const auto& [score, sample] : scores_) {
      if (samples.size() < static_cast<size_t>(count)) samples.push_back(sample);
    }
    return samples;
  }

 private:
  const SampleSource& data_;
  Progress progress_;
  Unreadable unreadable_;
  bool any_result_ = false;
  std::vector<std::pair<double, size_t>> scores_;
};

// Draws prediction and truth of the worst images; `run(order, handle)` runs them once more.
template <class Prediction, class Run, class Draw>
void draw_worst(const EvalOptions& options, const SampleSource& data,
                const std::vector<size_t>& worst, const Run& run, const Draw& draw) {
  if (worst.empty()) return;
  std::vector<std::string> names;
  for (const size_t sample : worst) {
    const std::string name = std::filesystem::path(data.path(sample)).filename().string();
    names.push_back(fmt::format("{}-{}", names.size() + 1, name));
  }
  const ImageOutputs outputs(options.worst_folder, names, {kPrediction, kTruth});
  FileRoles roles;
  outputs.add_roles(roles);
  roles.read_data(options.data);
  roles.check();
  outputs.prepare();
  size_t rank = 0;
  run(
      [&](std::span<const ImageResult<Prediction>> batch) {
        for (const ImageResult<Prediction>& result : batch) {
          if (result.error.empty()) {
            Image truth;
            outputs.write(rank, kPrediction, [&] {
              auto [prediction, expected] = draw(result);
              truth = std::move(expected);
              return encode_png(prediction);
            });
            outputs.write(rank, kTruth, [&] { return encode_png(truth); });
          }
          ++rank;
        }
        return !interrupted();
      },
      worst);
}

DenseTitle title_of(const EvalOptions& options, const ModelSource& source,
                    const std::string& split) {
  return {source.name, source.spec.name,    options.data,
          split,       class_names(source), options.network.model.model.empty()};
}

struct DenseOutputs {
  std::optional<OutputFile> confusion, csv, curves;

  explicit DenseOutputs(const EvalOptions& options) {
    if (!options.confusion.empty()) confusion.emplace(options.confusion);
    if (!options.csv.empty()) csv.emplace(options.csv);
    if (!options.curves.empty()) curves.emplace(options.curves);
  }
};

void write(std::optional<OutputFile>& file, const std::string& text, bool whole) {
  if (!file) return;
  file->write(text);
  file->finish(whole);
}

// What is missing from the data is as bad as what cannot be read.
int exit_status(const DenseRun& result, const DataReport& problems) {
  if (!result.complete) return interrupted_exit();
  return finished_exit(result.images > 0, result.skipped > 0 || problems.problem_count > 0);
}

Detections truth_of(const DetectedImage& result, const std::vector<int>& output_of) {
  Detections truths;
  const Image& image = *result.sample.image;
  const auto pixels = static_cast<uint32_t>(image.width) * static_cast<uint32_t>(image.height);
  for (const Object& one : target_of<Objects>(result.sample).objects) {
    Mask mask = one.mask;
    if (mask.width == 0) mask = {image.width, image.height, {pixels}};
    truths.push_back({one.box, output_of.at(static_cast<size_t>(one.label)), 1.0f, mask});
  }
  return truths;
}

}  // namespace

void report_problems(const DataReport& report) {
  const size_t shown = std::min(kProblemsShown, report.problems.size());
  for (size_t i = 0; i < shown; ++i) complain(report.problems[i]);
  if (report.problem_count > shown) {
    complain(fmt::format("and {} more problems of the data", report.problem_count - shown));
  }
}

int eval_segmentation(const EvalOptions& options, const ModelSource& source,
                      const std::optional<TrainedRun>& run) {
  const Chosen<LabelPairs> chosen = choose_pairs(options, source, run);
  report_problems(chosen.data.problems());
  const std::vector<int> output_of =
      match_classes(chosen.data.classes(), model_classes(source.spec), source.classes);
  DenseOutputs outputs(options);
  SegmentOptions segment;
  if (options.whole) segment.window = 0;
  if (options.window >= 0) segment.window = options.window;
  const Segmenter segmenter(source, options.network.run(chosen.data.size()), segment);
  Evaluating evaluating(chosen.data);
  const SegmentationEvaluation result = evaluate(segmenter, chosen.data, evaluating.options());
  evaluating.finish(options.data, result);

  const DenseTitle title = title_of(options, source, chosen.split);
  const SegmentationReport report{title, result};
  print(options.json ? report.json() + "\n" : report.text());
  if (outputs.confusion) write(outputs.confusion, report.confusion(), result.complete);
  if (outputs.csv) write(outputs.csv, report.classes_csv(), result.complete);
  draw_worst<Segmentation>(
      options, chosen.data, evaluating.worst(options.worst),
      [&](const HandleResults<Segmentation>& handle, const std::vector<size_t>& order) {
        segmenter.segment(chosen.data, handle, order);
      },
      [&](const SegmentedImage& one) {
        const LabelMap truth = matched_labels(target_of<LabelMap>(one.sample), output_of);
        return std::pair{
            draw_segmentation(*one.sample.image, one.prediction.labels, source.classes),
            draw_segmentation(*one.sample.image, truth, source.classes)};
      });
  return exit_status(result, chosen.data.problems());
}

int eval_detection(const EvalOptions& options, const ModelSource& source,
                   const std::optional<TrainedRun>& run) {
  const auto chosen = choose<CocoDataset>(options, CocoOptions(), run);
  report_problems(chosen.data.problems());
  const std::vector<int> output_of =
      match_classes(chosen.data.classes(), model_classes(source.spec), source.classes);
  DenseOutputs outputs(options);
  const Detector detector(source, options.network.run(chosen.data.size()));
  Evaluating evaluating(chosen.data);
  const DetectionEvaluation result = evaluate(detector, chosen.data, evaluating.options());
  evaluating.finish(options.data, result);

  const DenseTitle title = title_of(options, source, chosen.split);
  const DetectionReport report{title, result};
  print(options.json ? report.json() + "\n" : report.text());
  if (outputs.csv) write(outputs.csv, report.classes_csv(), result.complete);
  if (outputs.curves) write(outputs.curves, report.curves(), result.complete);
  OverlayOptions clear;
  clear.least_score = kShownScore;
  draw_worst<Detections>(
      options, chosen.data, evaluating.worst(options.worst),
      [&](const HandleResults<Detections>& handle, const std::vector<size_t>& order) {
        detector.detect(chosen.data, handle, order);
      },
      [&](const DetectedImage& one) {
        return std::pair{
            draw_detections(*one.sample.image, one.prediction, source.classes, clear),
            draw_detections(*one.sample.image, truth_of(one, output_of), source.classes)};
      });
  return exit_status(result, chosen.data.problems());
}

}  // namespace vig::cli
