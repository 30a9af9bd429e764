// Whether a detector can learn at all: it overfits eight annotated images.
//
// Rows: EPOCH holds `step`, `loss` (of training), `box_ap`, `box_ap50`, `mask_ap` and `mask_ap50`
// of the averaged weights, as training validates them on the same eight images; `engine` holds
// the figures of the last weights as `vig eval` measures them.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "vig/base/error.h"
#include "vig/data/coco.h"
#include "vig/image/encode_png.h"
#include "vig/pipeline/evaluate_dense.h"
#include "vig/pipeline/model_source.h"
#include "vig/study/claims.h"
#include "vig/study/list.h"
#include "vig/study/miniature.h"
#include "vig/study/results.h"
#include "vig/tasks/chart.h"
#include "vig/weights/atomic_file.h"

namespace vig::study {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEngine = "engine";
constexpr size_t kImages = 8, kMostObjects = 5;
constexpr int kValidations = 10;
constexpr double kEpochs = 200;
constexpr double kGoal = 0.95;

constexpr const char* kModel = "vig_h_t_maskrcnn";
// Widths as those of the model that comes with the program, and narrow heads: the images are few.
constexpr const char* kFields[] = {"dims=64,128,256,128", "depths=2,4,2,1",  "heads=2,4,8,4",
                                   "drop_path=0",         "fpn_channels=96", "fc_channels=256",
                                   "mask_channels=96",    "anchor_scale=4"};
constexpr int kSize = 256;

double epochs_of(const StudyOptions& options) {
  if (options.epochs <= 0) return kEpochs;
  if (std::fmod(options.epochs, kValidations) != 0) {
    fail_usage("--epochs {:.6g}: expected a multiple of {}", options.epochs, kValidations);
  }
  return options.epochs;
}

std::string epoch_key(const StudyOptions& options, int validation) {
  return fmt::format("{:.6g}", epochs_of(options) * validation / kValidations);
}

std::vector<std::string> keys(const StudyOptions& options) {
  std::vector<std::string> keys;
  for (int i = 1; i <= kValidations; ++i) keys.push_back(epoch_key(options, i));
  keys.emplace_back(kEngine);
  return keys;
}

// ---- the images -------------------------------------------------------------------------

// The first images of the training split with a few objects, none of them a crowd. None is taller
// than wide, or the canvas of all would be a large square.
std::vector<size_t> chosen_images(const CocoDataset& data) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < data.size() && chosen.size() < kImages; ++i) {
    if (data.width(i) < data.height(i) || data.object_count(i) > kMostObjects) continue;
    const std::vector<Object> objects = data.objects(i).objects;
    const auto is_plain = [](const Object& one) { return !one.crowd && !one.mask.runs.empty(); };
    if (!objects.empty() && std::ranges::all_of(objects, is_plain)) chosen.push_back(i);
  }
  return chosen;
}

std::string json_string(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20) {
      text += fmt::format("\\u{:04x}", code);
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

std::string json_of(const CocoDataset& data, const std::vector<size_t>& chosen) {
  std::string images, annotations, categories;
  const auto add = [](std::string& list, const std::string& entry) {
    list += (list.empty() ? "" : ",\n") + entry;
  };
  size_t number = 0;
  for (const size_t i : chosen) {
    add(images, fmt::format(R"({{"id":{0},"file_name":"{0}.png","width":{1},"height":{2}}})",
                            data.image_id(i), data.width(i), data.height(i)));
    for (const Object& one : data.objects(i).objects) {
      add(annotations,
          fmt::format(R"({{"id":{},"image_id":{},"category_id":{},"iscrowd":0,"area":{},)"
                      R"("bbox":[{},{},{},{}],"segmentation":{{"size":[{},{}],"counts":[{}]}}}})",
                      ++number, data.image_id(i),
                      data.category_ids()[static_cast<size_t>(one.label)], one.area, one.box.x1,
                      one.box.y1, one.box.width(), one.box.height(), one.mask.height,
                      one.mask.width, fmt::join(one.mask.runs, ",")));
    }
  }
  for (size_t k = 0; k < data.classes().size(); ++k) {
    add(categories, fmt::format(R"({{"id":{},"name":{}}})", data.category_ids()[k],
                                json_string(data.classes()[k])));
  }
  return fmt::format("{{\"images\":[{}],\n\"annotations\":[{}],\n\"categories\":[{}]}}\n", images,
                     annotations, categories);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("{}: cannot make the folder: {}", folder.string(), error.message());
}

// A folder of the eight images, to be trained and validated with. Made once.
fs::path images_folder(const StudyContext& context) {
  const std::string& path = context.options.data;
  if (path.empty()) {
    fail_usage("--data: expected a folder or archive with COCO's annotations, found nothing");
  }
  const fs::path folder = context.folder / "images";
  const fs::path last = folder / "annotations/instances_val.json";  // written at last
  std::error_code ignored;
  if (fs::exists(last, ignored)) return folder;
  const CocoSplits splits = open_coco(path, {.splits = {"train"}});
  const std::optional<CocoDataset>& found = splits.train ? splits.train : splits.whole;
  if (!found) fail("{}: holds no split \"train\"", path);
  const CocoDataset data = found->for_training();
  const std::vector<size_t> chosen = chosen_images(data);
  if (chosen.size() < kImages) {
    fail("{}: {} images, none taller than wide, with 1 to {} objects that have masks, expected {}",
         path, chosen.size(), kMostObjects, kImages);
  }
  for (const char* split : {"train", "val"}) {
    make_folder(folder / split);
    for (const size_t i : chosen) {
      const std::vector<uint8_t> png = encode_png(*data.load(i).image);
      AtomicFile file((folder / split / fmt::format("{}.png", data.image_id(i))).string());
      file.write(png.data(), png.size());
      file.commit();
    }
  }
  make_folder(folder / "annotations");
  for (const char* split : {"train", "val"}) {
    AtomicFile((folder / "annotations" / fmt::format("instances_{}.json", split)).string())
        .commit_text(json_of(data, chosen));
  }
  return folder;
}

// ---- rows ---------------------------------------------------------------------------------

fs::path trained(const fs::path& images, const StudyContext& context) {
  const double epochs = epochs_of(context.options);
  std::vector<std::string> arguments = {images.string(),
                                        "--preset",
                                        "detect",
                                        "--model",
                                        kModel,
                                        "--size",
                                        fmt::format("{}", kSize),
                                        "--epochs",
                                        fmt::format("{:.6g}", epochs),
                                        "--eval-every",
                                        fmt::format("{:.6g}", epochs / kValidations),
                                        "--warmup-epochs",
                                        fmt::format("{:.6g}", epochs / 30),
                                        "--lr",
                                        "1e-3",
                                        "--layer-decay",
                                        "1",
                                        "--weight-decay",
                                        "0.01",
                                        "--flip",
                                        "0",
                                        "--ema",
                                        "0.95",
                                        "--seed",
                                        "1"};
  for (const char* field : kFields) arguments.insert(arguments.end(), {"--set", field});
  return run_training("overfit", std::move(arguments), context);
}

Row row_of_epoch(const fs::path& csv, const std::string& epoch) {
  const auto lines = parse_csv(read_text(csv), csv.string());
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() != lines[0].size() || lines[i][0] != epoch) continue;
    std::map<std::string, std::string> cells;
    for (size_t c = 0; c < lines[0].size(); ++c) cells[lines[0][c]] = lines[i][c];
    Row row;
    row.set("step", cells["step"]);
    row.set("loss", cells["train_loss"]);
    for (const char* figure : {"box_ap", "box_ap50", "mask_ap", "mask_ap50"}) {
      row.set(figure, cells[fmt::format("val_{}", figure)]);
    }
    return row;
  }
  fail("{}: no line of epoch {}", csv.string(), epoch);
}

Row measure_engine(const fs::path& weights, const fs::path& images, const StudyContext& context) {
  ModelRequest request;
  request.model = weights.string();
  RunOptions run;
  run.threads = context.options.threads;
  const Detector detector(find_source(request), run);
  DenseEvaluateOptions options;
  options.on_done = [&] {
    context.tick();
    return context.keep_going();
  };
  const CocoSplits splits = open_coco(images.string(), {.splits = {"val"}});
  const DetectionEvaluation found = evaluate(detector, splits.val.value(), options);
  if (!found.complete) throw Stopped();
  Row row;
  row.set("box_ap", found.boxes.figures().ap);
  row.set("box_ap50", found.boxes.figures().ap50);
  row.set("mask_ap", found.masks.figures().ap);
  row.set("mask_ap50", found.masks.figures().ap50);
  return row;
}

Row measure(const std::string& key, const StudyContext& context) {
  const fs::path images = images_folder(context), run = trained(images, context);
  if (key == kEngine) return measure_engine(run / "last.safetensors", images, context);
  return row_of_epoch(run / "metrics.csv", key);
}

std::string summary(const Row& row) {
  return fmt::format("AP50 of boxes {}, of masks {}", percent_text(row.number("box_ap50")),
                     percent_text(row.number("mask_ap50")));
}

// ---- what is shown ------------------------------------------------------------------------

Claim overfits(const Results& results) {
  Claim claim{
      fmt::format(
          "A detector overfits {} images: AP50 of boxes and of masks, measured by the engine",
          kImages),
      "at least 95 %", ""};
  const Row* row = results.find(kEngine);
  if (row == nullptr) return claim;
  const auto boxes = row->number("box_ap50"), masks = row->number("mask_ap50");
  claim.here = fmt::format("{} and {}", percent_text(boxes), percent_text(masks));
  claim.verdict = verdict_of(boxes.value_or(0) >= kGoal && masks.value_or(0) >= kGoal);
  return claim;
}

std::string check_text(const Claim& claim) {
  return fmt::format("{} (here {}), expected {}: {}.\n", claim.text,
                     claim.here.empty() ? "nothing" : claim.here, claim.paper,
                     verdict_markdown(claim.verdict, claim.remark));
}

Presentation present(const Results& results) {
  std::vector<std::vector<std::string>> rows;
  ChartSeries boxes{.name = "boxes", .points = {}}, masks{.name = "masks", .points = {}};
  for (const Row& row : results.rows) {
    const bool engine = row.key == kEngine;
    const auto loss = row.number("loss");
    rows.push_back({engine ? "last weights, by the engine" : row.key, row.text("step"),
                    loss ? fmt::format("{:.3f}", *loss) : "", percent_text(row.number("box_ap")),
                    percent_text(row.number("box_ap50")), percent_text(row.number("mask_ap")),
                    percent_text(row.number("mask_ap50"))});
    if (engine) continue;
    const double epoch = std::stod(row.key);
    boxes.points.emplace_back(epoch, 100 * row.number("box_ap50").value_or(0));
    masks.points.emplace_back(epoch, 100 * row.number("mask_ap50").value_or(0));
  }
  Chart chart;
  chart.title = "A detector overfits eight images";
  chart.subtitle = conditions_sentence(results);
  chart.panel_width = 460;
  ChartPanel panel;
  panel.title = "AP50 on the training images";
  panel.x = {.label = "epochs"};
  panel.y = {.unit = "%"};
  panel.series = {boxes, masks};
  chart.panels = {panel};
  return {
      chart_svg(chart),
      conditions_sentence(results) + "\n" +
          fmt::format("\n`{}` with {} is trained from fresh weights on the first {} "
                      "images of the training split that are not taller than wide and have at "
                      "most {} objects and no crowd, "
                      "with a short side of {}, and validated on the same.\n\n",
                      kModel, fmt::join(kFields, ", "), kImages, kMostObjects, kSize) +
          markdown_table(
              {"epoch", "step:", "loss:", "box AP:", "box AP50:", "mask AP:", "mask AP50:"}, rows) +
          "\nA check of ours, which the paper does not have: " + check_text(overfits(results)),
      {overfits(results)}};
}

}  // namespace

Study overfit_study() {
  Study study;
  study.name = "overfit";
  study.sentence = "AP50 of a small detector on the eight images that it is trained with.";
  study.arguments = " --data coco-mini";
  study.duration = "10 minutes";
  study.columns = {{"step"}, {"loss"}, {"box_ap"}, {"box_ap50"}, {"mask_ap"}, {"mask_ap50"}};
  study.keys = keys;
  study.measure = measure;
  study.summary = summary;
  study.present = present;
  study.settings = [](const StudyOptions& options) {
    return data_and_epochs(options, epochs_of(options));
  };
  return study;
}

}  // namespace vig::study
