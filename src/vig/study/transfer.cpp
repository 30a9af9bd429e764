// What a start from trained weights is worth on few images: fine-tuning and a linear probe from
// weight files and from fresh weights of the same network, each with the defaults of `vig train`.
//
// Rows: START/finetune/seedN and START/probe/seedN hold `metric` (top-1, mIoU or mask AP of the
// test split), `images` (of the test split) and `minutes` (of training); START/neighbour the share
// of test images whose nearest training image by the cosine of embeddings is of the same class.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <system_error>

#include "vig/base/error.h"
#include "vig/data/dataset.h"
#include "vig/pipeline/default_model.h"
#include "vig/pipeline/embedder.h"
#include "vig/pipeline/evaluate_dense.h"
#include "vig/pipeline/model_source.h"
#include "vig/study/child.h"
#include "vig/study/claims.h"
#include "vig/study/list.h"
#include "vig/study/miniature.h"
#include "vig/study/results.h"
#include "vig/tasks/chart.h"

namespace vig::study {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFresh = "fresh";
constexpr const char *kFinetune = "finetune", *kProbe = "probe", *kNeighbour = "neighbour";
constexpr int kSeeds = 2;

struct Start {
  std::string name;
  std::string file;
};

// Weight files to start from: those given, or the default model.
std::vector<Start> starts_of(const StudyOptions& options) {
  std::vector<Start> starts;
  for (const std::string& setting : options.weights) {
    const size_t equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    if (equals == std::string::npos || name.empty() || name == kFresh ||
        name.find('/') != std::string::npos) {
      fail_usage("--weights: expected NAME=FILE with a name of your choice but {}, found '{}'",
                 kFresh, setting);
    }
    starts.push_back({name, resolve_model(setting.substr(equals + 1))});
  }
  if (starts.empty()) starts.push_back({"default", default_model_file()});
  return starts;
}

const std::string& data_of(const StudyOptions& options) {
  if (options.data.empty()) {
    fail_usage("--data: expected images with a training and a test split, found nothing");
  }
  return options.data;
}

std::vector<std::string> keys(const StudyOptions& options) {
  // Without data, the names of rows are those of classifiers.
  const bool classify = options.data.empty() || task_of_data(options.data) == ModelTask::kClassify;
  std::vector<std::string> starts;
  for (const Start& start : starts_of(options)) starts.push_back(start.name);
  starts.emplace_back(kFresh);
  std::vector<std::string> keys;
  for (const std::string& start : starts) {
    if (classify && start != kFresh) keys.push_back(fmt::format("{}/{}", start, kNeighbour));
    for (const char* method : {kFinetune, kProbe}) {
      if (method == kProbe && (!classify || start == kFresh)) continue;
      for (int seed = 1; seed <= kSeeds; ++seed) {
        keys.push_back(fmt::format("{}/{}/seed{}", start, method, seed));
      }
    }
  }
  return keys;
}

// "START/METHOD/seedN" as a folder's name.
std::string run_name(std::string key) {
  std::ranges::replace(key, '/', '-');
  return "transfer-" + key;
}

// The options that train fresh weights of the network in this file.
std::vector<std::string> fresh_arguments(const std::string& file) {
  ModelRequest request;
  request.model = file;
  const ModelSource source = find_source(request);
  std::vector<std::string> arguments = {"--model", source.spec.name};
  for (const auto& [field, value] : changed_fields(source.spec)) {
    if (field == "classes" || field == "image_size") continue;
    arguments.insert(arguments.end(), {"--set", fmt::format("{}={}", field, value)});
  }
  if (source.spec.config->task() == ModelTask::kClassify) {
    arguments.insert(arguments.end(), {"--size", fmt::format("{}", source.spec.recipe.crop)});
  }
  return arguments;
}

// The mean of a column over the classes that have a value.
Accuracy mean_of_classes(const fs::path& csv, size_t column) {
  const auto lines = parse_csv(read_text(csv), csv.string());
  double sum = 0, count = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() <= column) {
      fail("{}: line {}: expected more than {} cells", csv.string(), i + 1, column);
    }
    const std::string& cell = lines[i][column];
    if (cell.empty() || cell == "nan") continue;
    sum += std::stod(cell);
    ++count;
  }
  return {count > 0 ? sum / count : 0, 0};
}

// Of a trained network on the test split of the data.
Accuracy measure(const fs::path& weights, ModelTask task, const StudyContext& context) {
  if (task == ModelTask::kClassify) return measure_accuracy(weights, 0, "test", context);
  const fs::path csv = context.folder / "eval.csv", log = context.folder / "eval.log";
  std::error_code ignored;
  fs::remove(log, ignored);
  run_vig({"eval", context.options.data, "--split", "test", "-m", weights.string(), "--threads",
           fmt::format("{}", context.options.threads), "--csv", csv.string()},
          log, context);
  // index,class,labelled,predicted,both,iou or index,class,objects,box_ap,mask_ap
  const Accuracy accuracy = mean_of_classes(csv, task == ModelTask::kSegment ? 5 : 4);
  fs::remove(csv, ignored);
  fs::remove(log, ignored);
  return accuracy;
}

Row measure_training(const std::string& start, const std::string& method, int seed,
                     const std::string& key, const StudyContext& context) {
  const ModelTask task = task_of_data(data_of(context.options));
  const std::vector<Start> starts = starts_of(context.options);
  std::vector<std::string> arguments = {data_of(context.options), "--seed",
                                        fmt::format("{}", seed)};
  const auto found = std::ranges::find(starts, start, &Start::name);
  if (found != starts.end()) {
    arguments.insert(arguments.end(), {"--model", found->file});
  } else {
    // A dense network has fields that follow from the classifier it starts from.
    const std::string same =
        task == ModelTask::kClassify
            ? starts[0].file
            : (context.runs / run_name(fmt::format("{}/{}/seed1", starts[0].name, kFinetune)) /
               "best.safetensors")
                  .string();
    for (std::string& argument : fresh_arguments(same)) arguments.push_back(std::move(argument));
  }
  if (method == kProbe) arguments.emplace_back("--probe");
  if (context.options.epochs > 0) {
    arguments.insert(arguments.end(), {"--epochs", fmt::format("{:.6g}", context.options.epochs)});
  }
  const auto begin = std::chrono::steady_clock::now();
  const fs::path run = run_training(run_name(key), std::move(arguments), context);
  const std::chrono::duration<double, std::ratio<60>> minutes =
      std::chrono::steady_clock::now() - begin;
  const Accuracy accuracy = measure(run / "best.safetensors", task, context);
  Row row;
  row.set("metric", accuracy.top1);
  if (accuracy.images > 0) row.set("images", accuracy.images);
  row.set("minutes", minutes.count());
  return row;
}

struct Vectors {
  std::vector<std::vector<float>> values;  // of length 1
  std::vector<int> labels;
};

Vectors embed(const Embedder& embedder, const Dataset& data, const StudyContext& context) {
  Vectors vectors;
  const auto take = [&](std::span<const EmbeddedImage> batch) {
    for (const EmbeddedImage& image : batch) {
      if (!image.error.empty()) fail("{}", image.error);
      std::vector<float> own = image.prediction.values;
      double square = 0;
      for (const float value : own) square += double{value} * value;
      const auto factor = static_cast<float>(1 / std::sqrt(std::max(square, 1e-30)));
      for (float& value : own) value *= factor;
      vectors.values.push_back(std::move(own));
      vectors.labels.push_back(data.label(image.index));
    }
    context.tick();
    return context.keep_going();
  };
  embedder.embed(data, Embedder::Kind::kPooled, take);
  if (!context.keep_going()) throw Stopped();
  return vectors;
}

Row measure_neighbours(const Start& start, const StudyContext& context) {
  const DatasetSplits splits = open_dataset(data_of(context.options), {.min_classes = 1});
  if (!splits.train || !splits.test) {
    fail("{}: expected the splits train and test", context.options.data);
  }
  ModelRequest request;
  request.model = start.file;
  RunOptions run;
  run.threads = context.options.threads;
  run.batch = 0;
  const Embedder embedder(request, run);
  const Vectors known = embed(embedder, *splits.train, context);
  const Vectors asked = embed(embedder, *splits.test, context);
  double right = 0;
  for (size_t i = 0; i < asked.values.size(); ++i) {
    const std::vector<float>& own = asked.values[i];
    size_t nearest = 0;
    float largest = -2;
    for (size_t j = 0; j < known.values.size(); ++j) {
      float cosine = 0;
      for (size_t c = 0; c < own.size(); ++c) cosine += own[c] * known.values[j][c];
      if (cosine > largest) {
        largest = cosine;
        nearest = j;
      }
    }
    right += known.labels[nearest] == asked.labels[i] ? 1 : 0;
    if (i % 64 == 0 && !context.keep_going()) throw Stopped();
  }
  Row row;
  row.set("metric", right / static_cast<double>(std::max<size_t>(1, asked.values.size())));
  row.set("images", static_cast<double>(asked.values.size()));
  return row;
}

Row measure_row(const std::string& key, const StudyContext& context) {
  const size_t first = key.find('/');
  const size_t second = std::min(key.find('/', first + 1), key.size());
  const std::string start = key.substr(0, first);
  const std::string method = key.substr(first + 1, second - first - 1);
  if (method == kNeighbour) {
    const std::vector<Start> starts = starts_of(context.options);
    return measure_neighbours(*std::ranges::find(starts, start, &Start::name), context);
  }
  const int seed = std::stoi(key.substr(second + std::string_view("/seed").size()));
  return measure_training(start, method, seed, key, context);
}

std::string summary(const Row& row) {
  return fmt::format("{:.2f} % on the test split", 100 * row.number("metric").value_or(0));
}

// START/METHOD of a key.
std::string group_of(const std::string& key) {
  const size_t seed = key.rfind("/seed");
  return key.substr(0, seed);
}

Presentation present(const Results& results) {
  std::vector<std::string> groups;
  for (const Row& row : results.rows) {
    const std::string group = group_of(row.key);
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
  }
  std::vector<std::vector<std::string>> rows;
  ChartPanel panel;
  panel.title = "test split, %";
  panel.x.label = "seed";
  for (int seed = 1; seed <= kSeeds; ++seed) panel.x.ticks.push_back(seed);
  for (const std::string& group : groups) {
    ChartSeries series{.name = group, .points = {}};
    double sum = 0, count = 0, least = 1, most = 0, minutes = 0;
    for (const Row& row : results.rows) {
      if (group_of(row.key) != group) continue;
      const double metric = row.number("metric").value_or(0);
      sum += metric;
      ++count;
      series.points.emplace_back(count, 100 * metric);
      least = std::min(least, metric);
      most = std::max(most, metric);
      minutes += row.number("minutes").value_or(0);
    }
    panel.series.push_back(series);
    const size_t slash = group.find('/');
    rows.push_back({group.substr(0, slash), group.substr(slash + 1),
                    fmt::format("{:.1f}", 100 * sum / count),
                    count > 1 ? fmt::format("{:.1f} to {:.1f}", 100 * least, 100 * most) : "",
                    minutes > 0 ? fmt::format("{:.1f}", minutes / count) : ""});
  }
  Presentation shown;
  shown.markdown =
      conditions_sentence(results) +
      fmt::format(
          "\nTrained with the defaults of `vig train` on {}; top-1, mIoU or mask AP of the "
          "test split in percent, mean of {} seeds.\n\n",
          results.conditions.settings, kSeeds) +
      markdown_table({"start", "method", "metric:", "seeds:", "minutes:"}, rows);
  Chart chart;
  chart.title = "Starts from trained and from fresh weights";
  chart.subtitle = results.conditions.settings;
  chart.panels = {panel};
  chart.panel_width = 460;
  shown.svg = chart_svg(chart);
  return shown;
}

}  // namespace

Study transfer_study() {
  Study study;
  study.name = "transfer";
  study.sentence =
      "Fine-tuning, linear probe and nearest neighbours from weight files and fresh weights.";
  study.arguments = " --data images.csv";
  study.duration = "an hour";
  study.columns = {{"metric"}, {"images"}, {"minutes"}};
  study.keys = keys;
  study.measure = measure_row;
  study.summary = summary;
  study.present = present;
  study.settings = [](const StudyOptions& options) {
    return data_and_epochs(options, options.epochs);
  };
  return study;
}

}  // namespace vig::study
