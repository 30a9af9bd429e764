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
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/pipeline/detector.h"
#include "vig/pipeline/results_json.h"
#include "vig/tasks/overlay.h"

namespace vig::cli {
namespace {

const std::string kDrawing = "detections.png";

struct DetectCommand {
  ImageOptions images;
  std::string out = ".";
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

int detect(const DetectCommand& command) {
  ImageRun images(command.images);
  const ImageOutputs outputs(command.out, images, {kDrawing, preview_ending(kDrawing)});
  FileRoles roles = images.roles();
  outputs.add_roles(roles);
  roles.check();
  const ModelSource source = chosen_source(command.images);
  check_task(source, ModelTask::kDetect);
  const Detector detector(
      source, images.run_options(),
      {.score = static_cast<float>(command.score), .labels = labels_of(command.classes, source)});
  outputs.prepare();

  const std::string note = default_model_note(source, command.images);
  if (!note.empty() && command.json) complain(note);
  if (!note.empty() && !command.json) print(note + "\n");
  const std::vector<int64_t> ids = image_ids(images.all_files());
  OverlayOptions overlay;
  overlay.labels = *parse_label_text(command.labels);
  bool first = true;
  const auto take = [&](const DetectedImage& result) {
    if (result.error.empty()) {
      outputs.write_drawing(result.index, kDrawing, [&] {
        return draw_detections(*result.sample.image, result.prediction, source.classes, overlay);
      });
    }
    images.hide_progress();
    if (!result.error.empty()) images.reject(result.error);
    if (command.json) {
      // Warnings are printed with the objects; without objects they need a line of their own.
      for (const ImageWarning& one : result.warnings) {
        if (result.prediction.empty()) {
          complain(fmt::format("{}: warning: {}", result.name, one.message));
        }
      }
      for (const Detection& one : result.prediction) {
        print(first ? "[\n" : ",\n");
        print(detection_json(one, ids[images.first() + result.index], result.name, source.classes,
                             result.warnings));
        first = false;
      }
    } else if (result.error.empty()) {
      print(as_text(result, source.classes));
    }
  };
  images.run([&](const SampleSource& all) {
    detector.detect(all, [&](std::span<const DetectedImage> batch) {
      for (const DetectedImage& result : batch) take(result);
      return images.advance(batch.size());
    });
  });
  if (command.json) print(first ? "[]\n" : "\n]\n");
  return images.exit_status();
}

}  // namespace

void add_detect(CommandLine& line) {
  auto options = std::make_shared<DetectCommand>();
  options->images.task = ModelTask::kDetect;
  Command& command =
      line.add_command("detect", "Detect objects in images: boxes, classes, scores and masks");
  add_image_options(command, options->images);
  command.option("--out", options->out, "Folder for NAME.detections.png of each image NAME")
      .show_default()
      .value("DIR");
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
  add_json(command, options->json);
  command.footer =
      "--json prints a list of objects in COCO's result format, with file and class names added.\n"
      "image_id is the file name as a number if all names are numbers, otherwise the index of the "
      "image\n"
      "from 1; category_id counts the classes from 1.\n"
      "A drawing of more than 4 million pixels gets an additional NAME.detections.preview.jpg. A "
      "warning\n"
      "is printed if an image was shrunk much more than the training images, or if it has as many\n"
      "objects as the model allows.\n"
      "An image that cannot be read is reported and skipped, and the exit status is 1.\n"
      "Ctrl-C stops after the current image; finished files stay.";
  command.run = [options] { return detect(*options); };
}

}  // namespace vig::cli
