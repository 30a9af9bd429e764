#include <fmt/format.h>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/cli/commands.h"
#include "vig/cli/image_command.h"
#include "vig/cli/image_outputs.h"
#include "vig/cli/large_images.h"
#include "vig/cli/large_segment.h"
#include "vig/cli/npy.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/result_lines.h"
#include "vig/image/label_file.h"
#include "vig/pipeline/results_json.h"
#include "vig/pipeline/segmenter.h"
#include "vig/tasks/class_colors.h"
#include "vig/tasks/overlay.h"

namespace vig::cli {
namespace {

const std::string kOverlay = "overlay.png", kLabels = "labels.png",
                  kProbabilities = "probabilities.npy";
// Of large images.
const std::string kLargeOverlay = "overlay.tif", kLargeLabels = "labels.tif",
                  kSegmentPreview = "overlay.preview.png", kSegmentJournal = "segment.partial";

struct SegmentCommand {
  ImageOptions images;
  LargeOptions large;
  std::vector<std::string> out;
  bool resume = false;
  int window = -1;  // below 0: as the weight file says
  bool whole = false;
  bool probabilities = false;
  bool json = false;

  SegmentOptions options() const {
    SegmentOptions segment;
    if (whole) segment.window = 0;
    if (window >= 0) segment.window = window;
    segment.probabilities = probabilities;
    return segment;
  }
};

std::string as_text(const std::string& name, int64_t width, int64_t height,
                    const std::vector<AreaShare>& shares, const std::vector<std::string>& classes) {
  std::string text = fmt::format("{}  {}x{}\n", printable(name, 4096), width, height);
  for (const AreaShare& area : shares) {
    const auto label = static_cast<size_t>(area.label);
    text += fmt::format("  {:6.2f} %  {:4}  {}", 100 * area.share, area.label,
                        label < classes.size() ? printable(classes[label]) : "");
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string as_text(const SegmentedImage& result, const std::vector<std::string>& classes) {
  const LabelMap& labels = result.prediction.labels;
  return as_text(result.name, labels.width, labels.height, area_shares(labels), classes) +
         warning_lines(result.warnings);
}

// [height, width, classes].
void write_probabilities(const SegmentedImage& result, const std::string& path) {
  const LabelMap& labels = result.prediction.labels;
  const std::vector<float>& values = result.prediction.probabilities;
  const auto width = static_cast<size_t>(labels.width);
  const size_t row = values.size() / static_cast<size_t>(labels.height);
  NpyWriter array(path);
  for (size_t y = 0; y < static_cast<size_t>(labels.height); ++y) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(y * row);
    array.append({labels.width, static_cast<int>(row / width)},
                 {first, first + static_cast<std::ptrdiff_t>(row)});
  }
  array.finish(true);
}

int segment(const SegmentCommand& command) {
  if (command.whole && command.window >= 0) {
    fail_usage("--whole and --window exclude each other");
  }
  if (command.large.given() && (command.whole || command.probabilities)) {
    fail_usage("{} does not go with windows at the image's own resolution",
               command.whole ? "--whole" : "--probabilities");
  }
  const OutPaths out = split_out(command.out, command.json, command.resume);
  if (out.folder.empty() && command.probabilities) {
    fail_usage("--probabilities needs --out DIR for its files");
  }
  ImageRun images(command.images);
  std::vector<std::string> endings = {kOverlay,       preview_ending(kOverlay), kLabels,
                                      kLargeOverlay,  kSegmentPreview,          kLargeLabels,
                                      kSegmentJournal};
  if (command.probabilities) endings.push_back(kProbabilities);
  FileRoles roles = images.roles();
  if (!out.folder.empty()) ImageOutputs(out.folder, images, endings).add_roles(roles);
  roles.write("--out", out.lines);
  roles.check();
  const ModelSource source = chosen_source(command.images);
  const Segmenter segmenter(source, images.run_options(), command.options());
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
  const std::vector<Color> palette =
      class_palette(static_cast<size_t>(model_classes(source.spec)), source.classes);
  bool first = true;
  const auto take = [&](const SegmentedImage& result) {
    SegmentationFiles files;
    if (result.error.empty() && !out.folder.empty()) {
      const LabelMap& labels = result.prediction.labels;
      outputs.write_drawing(result.index, kOverlay, [&] {
        return draw_segmentation(*result.sample.image, labels, source.classes);
      });
      outputs.write(result.index, kLabels, [&] { return encode_label_map(labels, palette); });
      files = {outputs.path(result.index, kOverlay), outputs.path(result.index, kLabels), ""};
      if (command.probabilities) {
        files.probabilities = outputs.path(result.index, kProbabilities);
        write_probabilities(result, files.probabilities);
      }
    }
    images.hide_progress();
    if (!result.error.empty()) images.reject(result.error);
    if (lines) {
      lines->add(result.name, segmentation_json(result, source.classes, files),
                 result.error.empty());
    }
    if (command.json) {
      print(first ? "[\n" : ",\n");
      print(segmentation_json(result, source.classes, files));
      first = false;
    } else if (text && result.error.empty()) {
      print(as_text(result, source.classes));
    }
  };
  const auto take_large = [&](size_t index, RegionSource& regions) {
    const std::string& name = images.files()[index];
    if (out.folder.empty()) fail("{}: {}", name, kNeedsFolder);
    const WindowPlan plan = plan_windows(
        regions, segmenter.runner().recipe(),
        command.large.windows(std::max(command.window, 0), command.images.size), kSegmentOverlap);
    const LargeSegmentFiles files = {
        outputs.path(index, kLargeLabels), outputs.path(index, kLargeOverlay),
        outputs.path(index, kSegmentPreview), outputs.path(index, kSegmentJournal)};
    images.hide_progress();
    const std::optional<LabelCounts> counts =
        segment_large(segmenter, regions, plan, source.classes,
                      work_line("segment", name, command.images, plan, {}), files);
    if (!counts) return false;
    const auto json = [&] {
      return segmentation_json({name, plan.region.width, plan.region.height}, *counts,
                               source.classes, {files.overlay, files.labels, "", files.preview});
    };
    if (lines) {
      lines->add(name, json(), true);
    } else if (command.json) {
      print(first ? "[\n" : ",\n");
      print(json());
      first = false;
    } else {
      print(as_text(name, plan.region.width, plan.region.height, area_shares(*counts),
                    source.classes));
    }
    return images.advance(1);
  };
  const auto take_batch = [&](std::span<const SegmentedImage> batch) {
    for (const SegmentedImage& result : batch) take(result);
    return images.advance(batch.size());
  };
  images.run([&](const SampleSource& all) {
    if (command.whole || command.probabilities) {  // for which the image must fit
      segmenter.segment(all, take_batch);
      return;
    }
    for_each_image(
        images, command.images, command.large.given(),
        [&](const std::vector<size_t>& order) { return segmenter.segment(all, take_batch, order); },
        take_large,
        [&](size_t index, const std::string& error) {
          SegmentedImage failed;
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

void add_segment(CommandLine& line) {
  auto options = std::make_shared<SegmentCommand>();
  options->images.task = ModelTask::kSegment;
  Command& command = line.add_command(
      "segment",
      "Segment images: assign a class to every pixel and draw the classes over the image");
  add_image_options(command, options->images);
  command
      .option("--out", options->out,
              "Folder for NAME.overlay.png and NAME.labels.png of each image NAME (default: the "
              "current one), or FILE.jsonl for a line for each image; both may be given")
      .one_each()
      .value("DIR|FILE");
  add_resume(command, options->resume);
  command.flag("--whole", options->whole, "Run the network on the whole image instead of windows");
  command
      .option("--window", options->window,
              "Side of the sliding windows; their stride is two thirds of it (default: from "
              "the weight file)")
      .range(1, kMaxInputSide)
      .value("N");
  add_large_options(command, options->large);
  command.flag("--probabilities", options->probabilities,
               "Also write NAME.probabilities.npy, float32 [height, width, classes]");
  add_json(command, options->json);
  command.footer =
      "Prints the share of the image that each class covers. NAME.labels.png holds the class index "
      "of\n"
      "each pixel, with the colours of NAME.overlay.png as its palette. An overlay of more than 4 "
      "million\n"
      "pixels gets an additional NAME.overlay.preview.jpg.\n"
      "An image above --max-pixels, or any image with one of the options for large images, is "
      "processed at its\n"
      "own resolution in windows, in memory that does not depend on its size: NAME.labels.tif, "
      "NAME.overlay.tif\n"
      "and NAME.overlay.preview.png. Ctrl-C keeps the finished rows, and the same command "
      "continues.\n"
      "A warning is printed if an image was shrunk much more than the training images.\n"
      "An image that cannot be read is reported and skipped, and the exit status is 3 (1: none "
      "could).\n"
      "Ctrl-C stops after the current image; finished files stay. FILE.jsonl is FILE.jsonl.partial "
      "until "
      "the end;\n"
      "after Ctrl-C or a crash, the same command with --resume continues.";
  command.run = [options] { return segment(*options); };
}

}  // namespace vig::cli
