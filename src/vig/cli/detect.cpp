#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/suggestion.h"
#include "vig/cli/commands.h"
#include "vig/cli/image_command.h"
#include "vig/cli/image_outputs.h"
#include "vig/cli/large_detect.h"
#include "vig/cli/large_images.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/result_lines.h"
#include "vig/pipeline/detector.h"
#include "vig/pipeline/results_json.h"
#include "vig/tasks/overlay.h"

namespace vig::cli {
namespace {

const std::string kDrawing = "detections.png";
// Of large images.
const std::string kLines = "detections.jsonl", kGeoJson = "detections.geojson",
                  kLargeDrawing = "detections.tif", kDetectPreview = "detections.preview.png",
                  kDetectJournal = "detect.partial";

struct DetectCommand {
  ImageOptions images;
  LargeOptions large;
  int window = 0;  // 0: as the weight file says
  std::vector<std::string> out;
  bool resume = false;
  double score = kShownScore;
  std::vector<std::string> classes;
  std::string labels = "auto";
  bool json = false;
};

// Names of classes, or their indices.
std::vector<int> labels_of(const std::vector<std::string>& names, const ModelSource& source) {
  std::vector<int> labels;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(source.classes, name);
    int label = static_cast<int>(found - source.classes.begin());
    if (found == source.classes.end()) {
      const char* const end = name.data() + name.size();
      const auto parsed = std::from_chars(name.data(), end, label);
      if (parsed.ec != std::errc() || parsed.ptr != end || label < 0 ||
          label >= model_classes(source.spec)) {
        fail_usage("--classes {}: {} has no such class{}", name, source.name,
                   suggestion(name, source.classes));
      }
    }
    labels.push_back(label);
  }
  return labels;
}

// COCO identifies images by number: that of the file name if all names are numbers and
// differ, else the position of the image, from 1.
std::vector<int64_t> image_ids(const std::vector<std::string>& files) {
  std::vector<int64_t> positions, ids;
  std::set<int64_t> taken;
  for (const std::string& file : files) {
    positions.push_back(static_cast<int64_t>(positions.size()) + 1);
    const std::string stem = std::filesystem::path(file).stem().string();
    int64_t number = -1;
    const char* const end = stem.data() + stem.size();
    const auto parsed = std::from_chars(stem.data(), end, number);
    const bool good = parsed.ec == std::errc() && parsed.ptr == end && number >= 0;
    if (good && taken.insert(number).second) ids.push_back(number);
  }
  return ids.size() == files.size() ? ids : positions;
}

std::string as_text(const DetectedImage& result, const std::vector<std::string>& classes) {
  std::string text = printable(result.name, 4096) + "\n";
  if (result.prediction.empty()) text += "  nothing found\n";
  for (const Detection& one : result.prediction) {
    const auto label = static_cast<size_t>(one.label);
    text += fmt::format(
        "  {:6.2f} %  {:4}  {}  at {:.0f},{:.0f}, {:.0f}x{:.0f}, {} pixels\n", 100 * one.score,
        one.label,
        label < classes.size() ? printable(classes[label]) : fmt::format("class {}", one.label),
        one.box.x1, one.box.y1, one.box.width(), one.box.height(), grouped(one.mask.area()));
  }
  return text + warning_lines(result.warnings);
}

std::string class_name(const std::vector<std::string>& classes, size_t label) {
  return label < classes.size() ? classes[label] : fmt::format("class {}", label);
}

// Of a large image, whose objects are in files.
std::string as_text(const std::string& name, const WindowPlan& plan, const ObjectCounts& counts,
                    const std::vector<std::string>& classes) {
  std::string text =
      fmt::format("{}  {}x{}\n", printable(name, 4096), plan.region.width, plan.region.height);
  if (counts.objects == 0) text += "  nothing found\n";
  for (size_t label = 0; label < counts.by_label.size(); ++label) {
    if (counts.by_label[label] == 0) continue;
    text += fmt::format("  {:>9}  {:4}  {}\n", grouped(counts.by_label[label]), label,
                        printable(class_name(classes, label)));
  }
  if (counts.full_windows > 0) {
    text += fmt::format(
        "  warning: {} windows have as many objects as the network finds at most, and there may be "
        "more; give a larger --set detections=N, or a smaller --window\n",
        grouped(counts.full_windows));
  }
  return text;
}

// `key` is that of the image's name.
std::string as_json(const char* key, const std::string& name, const WindowPlan& plan,
                    const ObjectCounts& counts, const std::vector<std::string>& classes,
                    const LargeDetectFiles& files) {
  Json entry = {{key, name},
                {"width", plan.region.width},
                {"height", plan.region.height},
                {"objects", counts.objects},
                {"full_windows", counts.full_windows},
                {"classes", Json::array()},
                {"lines", files.lines},
                {"geojson", files.geojson},
                {"drawing", files.drawing},
                {"preview", files.preview}};
  for (size_t label = 0; label < counts.by_label.size(); ++label) {
    if (counts.by_label[label] == 0) continue;
    entry["classes"].push_back(Json{{"category_id", label + 1},
                                    {"category_name", class_name(classes, label)},
                                    {"objects", counts.by_label[label]}});
  }
  return json_text(entry);
}

// {"file", "image_id", "detections"}, and the warnings where there are any; or {"file", "error"}.
std::string line_of(const DetectedImage& result, int64_t image_id,
                    const std::vector<std::string>& classes) {
  if (!result.error.empty()) return json_text({{"file", result.name}, {"error", result.error}});
  std::string line = fmt::format("{{\"file\":{},\"image_id\":{},\"detections\":[",
                                 json_text(Json(result.name)), image_id);
  for (size_t i = 0; i < result.prediction.size(); ++i) {
    if (i > 0) line += ',';
    line += detection_json(result.prediction[i], image_id, result.name, classes);
  }
  line += ']';
  if (!result.warnings.empty()) line += ",\"warnings\":" + warnings_json(result.warnings);
  return line + "}";
}

int detect(const DetectCommand& command) {
  const OutPaths out = split_out(command.out, command.json, command.resume);
  const std::vector<std::string> endings = {
      kDrawing,      preview_ending(kDrawing), kLines,        kGeoJson,
      kLargeDrawing, kDetectPreview,           kDetectJournal};
  ImageRun images(command.images);
  FileRoles roles = images.roles();
  if (!out.folder.empty()) ImageOutputs(out.folder, images, endings).add_roles(roles);
  roles.write("--out", out.lines);
  roles.check();
  const ModelSource source = chosen_source(command.images);
  check_task(source, ModelTask::kDetect);
  const Detector detector(
      source, images.run_options(),
      {.score = static_cast<float>(command.score), .labels = labels_of(command.classes, source)});
  std::optional<ResultLines> lines;
  if (!out.lines.empty()) {
    lines.emplace(out.lines, "", command.resume);
    lines->leave_out_done(images);
  }
  const ImageOutputs outputs(out.folder, images, endings);
  if (!out.folder.empty()) outputs.prepare();

  const std::string note = default_model_note(source, command.images);
  const bool text = !command.json && !lines;
  if (!note.empty() && !text) complain(note);
  if (!note.empty() && text) print(note + "\n");
  const std::vector<int64_t> ids = image_ids(images.all_files());
  OverlayOptions overlay;
  overlay.labels = *parse_label_text(command.labels);
  bool first = true;
  const auto take = [&](const DetectedImage& result) {
    if (result.error.empty() && !out.folder.empty()) {
      outputs.write_drawing(result.index, kDrawing, [&] {
        return draw_detections(*result.sample.image, result.prediction, source.classes, overlay);
      });
    }
    images.hide_progress();
    if (!result.error.empty()) images.reject(result.error);
    const int64_t id = ids[images.position(result.index)];
    if (lines) {
      lines->add(result.name, line_of(result, id, source.classes), result.error.empty());
    }
    if (command.json) {
      // Warnings are printed with the objects; without objects they need a line of their own.
      for (const ImageWarning& one : result.warnings) {
        if (result.prediction.empty()) {
          complain(fmt::format("{}: warning: {}", result.name, one.message));
        }
      }
      for (const Detection& one : result.prediction) {
        print(first ? "[\n" : ",\n");
        print(detection_json(one, id, result.name, source.classes, result.warnings));
        first = false;
      }
    } else if (text && result.error.empty()) {
      print(as_text(result, source.classes));
    }
  };
  const auto take_large = [&](size_t index, RegionSource& regions) {
    const std::string& name = images.files()[index];
    if (out.folder.empty()) fail("{}: {}", name, kNeedsFolder);
    const WindowPlan plan =
        plan_windows(regions, detector.runner().recipe(),
                     command.large.windows(command.window, command.images.size), kDetectOverlap);
    const LargeDetectFiles files = {outputs.path(index, kLines), outputs.path(index, kGeoJson),
                                    outputs.path(index, kLargeDrawing),
                                    outputs.path(index, kDetectPreview),
                                    outputs.path(index, kDetectJournal)};
    images.hide_progress();
    const std::optional<ObjectCounts> counts =
        detect_large(detector, regions, plan, source.classes,
                     work_line("detect", name, command.images, plan,
                               {{"score", command.score}, {"classes", command.classes}}),
                     files);
    if (!counts) return false;
    if (lines) {
      lines->add(name, as_json("file", name, plan, *counts, source.classes, files), true);
    } else if (command.json) {
      print(first ? "[\n" : ",\n");
      print(as_json("file_name", name, plan, *counts, source.classes, files));
      first = false;
    } else {
      print(as_text(name, plan, *counts, source.classes));
    }
    return images.advance(1);
  };
  const auto take_batch = [&](std::span<const DetectedImage> batch) {
    for (const DetectedImage& result : batch) take(result);
    return images.advance(batch.size());
  };
  images.run([&](const SampleSource& all) {
    for_each_image(
        images, command.images, command.large.given() || command.window > 0,
        [&](const std::vector<size_t>& order) { return detector.detect(all, take_batch, order); },
        take_large,
        [&](size_t index, const std::string& error) {
          DetectedImage failed;
          failed.name = images.files()[index];
          failed.error = error;
          failed.index = index;
          return take_batch(std::span(&failed, 1));
        });
  });
  if (command.json) print(first ? "[]\n" : "\n]\n");
  if (lines) lines->finish(images.complete());
  return images.exit_status();
}

}  // namespace

void add_detect(CommandLine& line) {
  auto options = std::make_shared<DetectCommand>();
  options->images.task = ModelTask::kDetect;
  Command& command =
      line.add_command("detect", "Detect objects in images: boxes, classes, scores and masks");
  add_image_options(command, options->images);
  command
      .option("--out", options->out,
              "Folder for NAME.detections.png of each image NAME (default: the current one), or "
              "FILE.jsonl for a line for each image; both may be given")
      .one_each()
      .value("DIR|FILE");
  add_resume(command, options->resume);
  command.option("--score", options->score, "Minimum score: leave out objects up to this")
      .range(0.0, 1.0)
      .show_default()
      .value("S");
  command
      .option("--classes", options->classes,
              "Detect only these classes: names or indices, separated by commas")
      .one_each(',')
      .value("A,B");
  command
      .option("--labels", options->labels,
              "Labels of drawn objects: none, short (the class), full (class and score) or "
              "auto (full up to 12 objects)")
      .one_of({"auto", "none", "short", "full"})
      .show_default()
      .value("L");
  command
      .option("--window", options->window,
              "Side of the windows over a large image (default: from the weight file)")
      .range(1, kMaxInputSide)
      .value("N")
      .group("Large images");
  add_large_options(command, options->large);
  add_json(command, options->json);
  command.footer =
      "--json prints a list of objects in COCO's result format, with file and class names added.\n"
      "image_id is the file name as a number if all names are numbers, otherwise the index of the "
      "image\n"
      "from 1; category_id counts the classes from 1.\n"
      "An image above --max-pixels, or any image with one of the options for large images, is "
      "processed at its\n"
      "own resolution in windows, in memory that does not depend on its size. Its objects are in\n"
      "NAME.detections.jsonl and NAME.detections.geojson, the drawing is NAME.detections.tif with\n"
      "NAME.detections.preview.png. Ctrl-C keeps what is finished, and the same command "
      "continues.\n"
      "A drawing of more than 4 million pixels gets an additional NAME.detections.preview.jpg. A "
      "warning\n"
      "is printed if an image was shrunk much more than the training images, or if it has as many\n"
      "objects as the model allows.\n"
      "An image that cannot be read is reported and skipped, and the exit status is 3 (1: none "
      "could).\n"
      "Ctrl-C stops after the current image; finished files stay. FILE.jsonl is FILE.jsonl.partial "
      "until "
      "the end;\n"
      "after Ctrl-C or a crash, the same command with --resume continues.";
  command.run = [options] { return detect(*options); };
}

}  // namespace vig::cli
