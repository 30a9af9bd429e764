// Accuracy of the paper's dense networks in small: ViG, ViT and VRWKV with the adapter, trained
// alike from fresh weights, under UperNet (study `segmentation`) and Mask R-CNN (study
// `detection`).
//
// Rows: MODEL/seedN holds `seed`, `parameters`, and of the last validation `miou`, or `box_ap` and
// `mask_ap`, all as shares.
#include <fmt/format.h>

#include <array>

#include "vig/base/error.h"
#include "vig/study/claims.h"
#include "vig/study/list.h"
#include "vig/study/miniature.h"
#include "vig/study/paper_tables.h"
#include "vig/study/seeds.h"
#include "vig/study/trained_metrics.h"
#include "vig/tasks/chart.h"

namespace vig::study {
namespace {

using Fields = std::vector<std::string>;

// One of the two studies.
struct Scenes {
  const char* head;  // behind the name of the backbone
  const char* preset;
  int size;
  double epochs;
  int seeds;
  std::vector<std::string> metrics;
  std::vector<const char*> names;  // of the metrics
  Fields fields;                   // of the head
  const std::vector<DenseRow>& paper;
  const char* where;
};

const Scenes kSegmentation{"_upernet",
                           "segment",
                           192,
                           30,
                           3,
                           {"miou"},
                           {"mIoU"},
                           {"head_channels=64", "auxiliary_channels=32"},
                           ade20k_rows(),
                           "ADE20K"};
const Scenes kDetection{
    "_maskrcnn",
    "detect",
    256,
    30,
    2,
    {"box_ap", "mask_ap"},
    {"AP of boxes", "AP of masks"},
    {"fpn_channels=64", "fc_channels=128", "mask_channels=64", "anchor_scale=4"},
    coco_rows(),
    "COCO"};

struct Contender {
  const char* backbone;
  const char* name;
  Fields fields;
};

// Width and depth of the miniature classifiers, one interaction with each block. A ViT's FFN is six
// times as wide as its tokens, which makes it as large as ViG's.
const std::array<Contender, 3>& contenders_of_scenes() {
  static const std::array<Contender, 3> all = {
      {{"vig_t", "ViG", {"heads=2"}},
       {"vit_t", "ViT", {"heads=2", "mlp_ratio=6", "layer_scale=false"}},
       {"vrwkv_t", "VRWKV", {"layer_scale=false"}}}};
  return all;
}

std::string model_of(const Scenes& scenes, const Contender& contender) {
  return fmt::format("{}{}", contender.backbone, scenes.head);
}

Fields fields_of(const Scenes& scenes, const Contender& contender) {
  Fields fields = {"embed_dim=64", "depth=4",        "interactions=0,0,1,1,2,2,3,3",
                   "drop_path=0",  "deform_heads=4", "conv_inplane=16"};
  fields.insert(fields.end(), contender.fields.begin(), contender.fields.end());
  fields.insert(fields.end(), scenes.fields.begin(), scenes.fields.end());
  return fields;
}

double epochs_of_scenes(const Scenes& scenes, const StudyOptions& options) {
  return options.epochs > 0 ? options.epochs : scenes.epochs;
}

Row measure_scenes(const Scenes& scenes, const std::string& key, const StudyContext& context) {
  const std::string& data = context.options.data;
  if (data.empty()) {
    fail_usage("--data: expected images with {}, found nothing",
               scenes.metrics.size() == 1 ? "label maps, such as CamVid"
                                          : "COCO's annotations, such as nuclei");
  }
  const int seed = std::stoi(key.substr(key.find("/seed") + 5));
  const double epochs = epochs_of_scenes(scenes, context.options);
  const auto number = [](double value) { return fmt::format("{:.6g}", value); };
  for (const Contender& contender : contenders_of_scenes()) {
    const std::string model = model_of(scenes, contender);
    if (key != seed_key(model)(seed)) continue;
    Fields arguments = {data,
                        "--preset",
                        scenes.preset,
                        "--model",
                        model,
                        "--size",
                        fmt::format("{}", scenes.size),
                        "--epochs",
                        number(epochs),
                        "--eval-every",
                        number(epochs),
                        "--warmup-epochs",
                        number(epochs / 10),
                        "--layer-decay",
                        "1",
                        "--seed",
                        fmt::format("{}", seed)};
    for (const std::string& field : fields_of(scenes, contender)) {
      arguments.insert(arguments.end(), {"--set", field});
    }
    const auto run = run_training(fmt::format("{}-{}-{}epochs-seed{}", model,
                                              data_name(context.options), number(epochs), seed),
                                  std::move(arguments), context);
    Row row;
    row.set("seed", fmt::format("{}", seed));
    row.set("parameters", fmt::format("{}", file_parameters(run / "last.safetensors")));
    for (const std::string& metric : scenes.metrics) {
      row.set(metric, metrics_of(run, "val_" + metric).back());
    }
    return row;
  }
  fail("[study] there is no row '{}'", key);
}

std::vector<std::string> scenes_keys(const Scenes& scenes, const StudyOptions& options) {
  std::vector<std::string> keys;
  for (int seed = 1; seed <= seed_count(options, scenes.seeds); ++seed) {
    for (const Contender& contender : contenders_of_scenes()) {
      keys.push_back(seed_key(model_of(scenes, contender))(seed));
    }
  }
  return keys;
}

Presentation present_scenes(const Scenes& scenes, const Results& results) {
  Presentation shown;
  const Contender& own = contenders_of_scenes()[0];
  for (const Contender& other : contenders_of_scenes()) {
    if (&other == &own) continue;
    for (size_t i = 0; i < scenes.metrics.size(); ++i) {
      std::string gains;
      for (const char* size : {"T", "S", "B"}) {
        const auto of = [&](const char* name) {
          const DenseRow& row = dense_row(scenes.paper, fmt::format("{}-{}", name, size));
          return std::stod(std::string(i == 0 ? row.first : row.second));
        };
        gains += fmt::format("{}{:+.1f}", gains.empty() ? "" : ", ", of(own.name) - of(other.name));
      }
      shown.claims.push_back(
          seed_claim(fmt::format("{}: ViG outperforms {} in accuracy: {} of T, S, B", scenes.where,
                                 other.name, scenes.names[i]),
                     gains, results, seed_key(model_of(scenes, other)),
                     seed_key(model_of(scenes, own)), scenes.metrics[i], true));
    }
  }
  std::vector<std::string> titles = {"network", "parameters:"};
  for (const char* name : scenes.names) titles.push_back(fmt::format("{}:", name));
  std::vector<std::vector<std::string>> rows;
  ChartPanel panel;
  panel.title = results.conditions.settings;
  panel.x = {.label = "seed"};
  panel.y = {.label = fmt::format("{}, %", scenes.names[0])};
  for (const Contender& contender : contenders_of_scenes()) {
    const SeedKey key = seed_key(model_of(scenes, contender));
    const auto count = results.number(key(1), "parameters");
    std::vector<std::string>& cells = rows.emplace_back();
    cells = {fmt::format("{} `{}`", contender.name, model_of(scenes, contender)),
             count ? fmt::format("{:.3f}M", 1e-6 * *count) : ""};
    for (const std::string& metric : scenes.metrics) {
      cells.push_back(seeds_text(seed_values(results, key, metric)));
    }
    ChartSeries series{.name = contender.name, .points = {}};
    series.strong = &contender == &own;
    for (const double value : seed_values(results, key, scenes.metrics[0])) {
      series.points.emplace_back(static_cast<double>(series.points.size() + 1), 100 * value);
    }
    panel.series.push_back(std::move(series));
  }
  Chart chart;
  chart.title = fmt::format("{} of miniatures with the adapter", scenes.names[0]);
  chart.subtitle = conditions_sentence(results);
  chart.panels = {panel};
  chart.panel_width = 460;
  shown.svg = chart_svg(chart);
  shown.markdown =
      conditions_sentence(results) +
      fmt::format(
          "\nMiniatures (width 64, depth 4, an interaction with each block, narrow heads) at {0} x "
          "{0} are trained from fresh weights by `vig train` with the preset `{1}`; the last "
          "averaged weights are measured on `val/`. The direction is judged: the paper's networks "
          "are larger, pretrained on ImageNet and trained on {2}.\n\n",
          scenes.size, scenes.preset, scenes.where) +
      markdown_table(titles, rows) + "\n" + claims_markdown(shown.claims);
  return shown;
}

Study scenes_study(const Scenes& scenes) {
  Study study;
  study.columns = {{"seed"}, {"parameters"}};
  for (const std::string& metric : scenes.metrics) study.columns.push_back({metric});
  study.keys = [&scenes](const StudyOptions& options) { return scenes_keys(scenes, options); };
  study.measure = [&scenes](const std::string& key, const StudyContext& context) {
    return measure_scenes(scenes, key, context);
  };
  study.summary = [&scenes](const Row& row) {
    return fmt::format("{} {:.2f} %", scenes.names[0],
                       100 * row.number(scenes.metrics[0]).value_or(0));
  };
  study.present = [&scenes](const Results& results) { return present_scenes(scenes, results); };
  study.portable = [](const std::string&) { return true; };
  study.settings = [&scenes](const StudyOptions& options) {
    return data_and_epochs(options, epochs_of_scenes(scenes, options));
  };
  return study;
}

}  // namespace

Study segmentation_study() {
  Study study = scenes_study(kSegmentation);
  study.name = "segmentation";
  study.sentence = "mIoU of miniatures of ViG, ViT and VRWKV with the adapter under UperNet.";
  study.arguments = " --data camvid";
  study.duration = "3 hours";
  return study;
}

Study detection_study() {
  Study study = scenes_study(kDetection);
  study.name = "detection";
  study.sentence = "AP of miniatures of ViG, ViT and VRWKV with the adapter under Mask R-CNN.";
  study.arguments = " --data nuclei";
  study.duration = "2 hours";
  return study;
}

}  // namespace vig::study
