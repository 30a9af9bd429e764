#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/suggestion.h"
#include "vig/cli/commands.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/picture_command.h"
#include "vig/cli/picture_outputs.h"
#include "vig/pipeline/detector.h"
#include "vig/pipeline/results_json.h"
#include "vig/tasks/overlay.h"

namespace vig::cli {
namespace {

const std::string kDrawing = "detections.png";

struct DetectCommand {
  PictureOptions pictures;
  std::string out = ".";
  double score = kShownScore;
  std::vector<std::string> classes;
  std::string labels = "auto";
  bool json = false;
};

// Names of classes, or their numbers.
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

// COCO knows pictures by number: the one that a file's name is, where all names are numbers and
// differ, else the place of the picture, from 1.
std::vector<int64_t> picture_numbers(const std::vector<std::string>& files) {
  std::vector<int64_t> places, numbers;
  std::set<int64_t> taken;
  for (const std::string& file : files) {
    places.push_back(static_cast<int64_t>(places.size()) + 1);
    const std::string stem = std::filesystem::path(file).stem().string();
    int64_t number = -1;
    const char* const end = stem.data() + stem.size();
    const auto parsed = std::from_chars(stem.data(), end, number);
    const bool good = parsed.ec == std::errc() && parsed.ptr == end && number >= 0;
    if (good && taken.insert(number).second) numbers.push_back(number);
  }
  return numbers.size() == files.size() ? numbers : places;
}

std::string as_text(const DetectedPicture& picture, const std::vector<std::string>& classes) {
  std::string text = printable(picture.name, 4096) + "\n";
  if (picture.answer.empty()) text += "  nothing found\n";
  for (const Detection& one : picture.answer) {
    const auto label = static_cast<size_t>(one.label);
    text += fmt::format(
        "  {:6.2f} %  {:4}  {}  at {:.0f},{:.0f}, {:.0f}x{:.0f}, {} pixels\n", 100 * one.score,
        one.label,
        label < classes.size() ? printable(classes[label]) : fmt::format("class {}", one.label),
        one.box.x1, one.box.y1, one.box.width(), one.box.height(), grouped(one.mask.area()));
  }
  return text + warning_lines(picture.warnings);
}

int detect(const DetectCommand& command) {
  PictureRun pictures(command.pictures);
  const PictureOutputs outputs(command.out, pictures, {kDrawing, preview_ending(kDrawing)});
  FileRoles roles = pictures.roles();
  outputs.add_roles(roles);
  roles.check();
  const ModelSource source = chosen_source(command.pictures);
  check_task(source, ModelTask::kDetect);
  const Detector detector(
      source, pictures.run_options(),
      {.score = static_cast<float>(command.score), .labels = labels_of(command.classes, source)});
  outputs.prepare();

  const std::string note = default_model_note(source, command.pictures);
  if (!note.empty() && command.json) complain(note);
  if (!note.empty() && !command.json) print(note + "\n");
  const std::vector<int64_t> numbers = picture_numbers(pictures.all_files());
  OverlayOptions overlay;
  overlay.labels = *parse_label_text(command.labels);
  bool first = true;
  const auto take = [&](const DetectedPicture& picture) {
    if (picture.error.empty()) {
      outputs.write_drawing(picture.index, kDrawing, [&] {
        return draw_detections(*picture.image, picture.answer, source.classes, overlay);
      });
    }
    pictures.hide_progress();
    if (!picture.error.empty()) pictures.reject(picture.error);
    if (command.json) {
      // Warnings stand with the objects; without any there is no other place for them.
      for (const ImageWarning& one : picture.warnings) {
        if (picture.answer.empty()) {
          complain(fmt::format("{}: warning: {}", picture.name, one.message));
        }
      }
      for (const Detection& one : picture.answer) {
        print(first ? "[\n" : ",\n");
        print(detection_json(one, numbers[pictures.first() + picture.index], picture.name,
                             source.classes, picture.warnings));
        first = false;
      }
    } else if (picture.error.empty()) {
      print(as_text(picture, source.classes));
    }
    return pictures.advance(1);
  };
  pictures.run([&](const SampleSource& all) { detector.detect(all, take); });
  if (command.json) print(first ? "[]\n" : "\n]\n");
  return pictures.exit_status();
}

}  // namespace

void add_detect(CommandLine& line) {
  auto options = std::make_shared<DetectCommand>();
  options->pictures.task = ModelTask::kDetect;
  Command& command =
      line.add_command("detect", "Detect objects in pictures: boxes, classes, scores and masks");
  add_picture_options(command, options->pictures);
  command.option("--out", options->out, "Folder for NAME.detections.png of each picture NAME")
      .show_default()
      .value("DIR");
  command.option("--score", options->score, "Leave out objects whose score is not above this")
      .range(0.0, 1.0)
      .show_default()
      .value("S");
  command
      .option("--classes", options->classes,
              "Look for these classes alone: names or numbers, separated by commas")
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
      "--json prints COCO's format of results, a list of objects with image_id (the number that\n"
      "the file's name is, where all are numbers, else the place of the picture), category_id\n"
      "(the number of the class, from 1), bbox, score and segmentation, and the names of both.\n"
      "A drawing of more than 4 million pixels gets NAME.detections.preview.jpg beside it. A\n"
      "warning says where an image was shrunk much more than in training, or where the limit of\n"
      "objects was reached.\n"
      "A picture that cannot be read is reported and skipped, and the exit status is 1.\n"
      "Ctrl-C stops after the current picture; what was finished stays.";
  command.run = [options] { return detect(*options); };
}

}  // namespace vig::cli
