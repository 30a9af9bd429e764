#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/cli/classify_tiles.h"
#include "vig/cli/commands.h"
#include "vig/cli/image_command.h"
#include "vig/cli/image_stream.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/result_lines.h"
#include "vig/cli/sort_images.h"
#include "vig/pipeline/classifier.h"
#include "vig/pipeline/results_json.h"
#include "vig/tasks/predictions.h"

namespace vig::cli {
namespace {

struct ClassifyOptions {
  ImageOptions images;
  WholeCommand whole;
  TileOptions tiles;
  int top = 5;
  double threshold = -1;  // of the best class's probability; below 0: the file's
  std::string move;       // folder
  std::string out;        // file of results; of --tiles their folder
  bool resume = false;
  bool json = false;
};

std::string predicted_name(const Classification& result, double threshold) {
  if (none_of_them(result, threshold)) return kNoneOfThem;
  const ClassScore& best = result.scores.front();
  return best.name.empty() ? fmt::format("{}", best.index) : best.name;
}

std::string as_text(const ClassifiedImage& image, double threshold) {
  std::string text = printable(image.name, 4096) + "\n";
  if (none_of_them(image.prediction, threshold)) {
    text += fmt::format("  {}: no class reaches {:.4g} %\n", kNoneOfThem, 100 * threshold);
  }
  for (const ClassScore& score : image.prediction.scores) {
    text += fmt::format("  {:6.2f} %  {:4}  {}", 100 * score.probability, score.index,
                        printable(score.name));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

void check(const ClassifyOptions& options) {
  ImageRun::check_whole(options.whole, options.images);
  if (options.tiles.side > 0) {
    if (!options.move.empty() || options.resume || options.threshold >= 0 || options.whole.whole) {
      fail_usage("--tiles does not go with --move, --resume, --threshold or --whole");
    }
    return;
  }
  if (options.tiles.large.given()) {
    fail_usage("--level, --region, --mpp and --skip-background need --tiles");
  }
  check_results(options.out, {".jsonl", ".csv"}, options.json, options.resume);
  if (options.move.empty()) return;
  if (!options.images.shard.empty()) {
    fail_usage("--move with --shard: what one job moves is missing from the parts of the others");
  }
  if (options.resume) fail_usage("--move with --resume: what was moved is not found again");
  for (const std::string& input : options.images.inputs) {
    if (is_stream(input) || input.ends_with(".tar")) {
      fail_usage("--move: {} is no file that can be moved", input);
    }
  }
}

// The lines of images in the file of --out.
class ClassLines {
 public:
  ClassLines(const ClassifyOptions& options, const ModelSource& source, ImageRun& images)
      : classes_(source.classes),
        json_{"", options.threshold},
        csv_{.top = std::min(options.top, model_classes(source.spec)),
             .header = false,
             .threshold = options.threshold},
        is_csv_(options.out.ends_with(".csv")),
        lines_(options.out, parse_shard(options.images.shard).index == 1 && is_csv_ ? header() : "",
               options.resume) {
    lines_.leave_out_done(images);
  }

  void add(const ClassifiedImage& image) {
    lines_.add(image.name, is_csv_ ? row(image) : classification_json(image, json_),
               image.error.empty());
  }
  void finish(bool whole) { lines_.finish(whole); }

 private:
  std::string header() const {
    PredictionsTable table = csv_;
    table.header = true;
    return without_line_end(predictions_csv({}, classes_, table));
  }
  std::string row(const ClassifiedImage& image) const {
    const Prediction one = {image.name, std::nullopt, image.prediction, image.error};
    return without_line_end(predictions_csv({&one, 1}, classes_, csv_));
  }
  static std::string without_line_end(std::string text) {
    text.pop_back();
    return text;
  }

  const std::vector<std::string>& classes_;
  const ClassificationText json_;
  const PredictionsTable csv_;
  const bool is_csv_;
  ResultLines lines_;
};

int classify(ClassifyOptions options) {
  check(options);
  if (options.tiles.side > 0) {
    TileOptions tiles = options.tiles;
    if (!options.out.empty()) tiles.out = options.out;
    return classify_tiles(options.images, tiles, options.top, options.json);
  }
  ImageRun images(options.images);
  FileRoles roles = images.roles();
  roles.write("--out", options.out);
  roles.check();
  const ModelSource source = chosen_source(options.images);
  if (options.threshold < 0) options.threshold = source.confidence.threshold;
  const Classifier classifier(source, images.run_options(options.whole));
  std::optional<ClassLines> lines;
  if (!options.out.empty()) lines.emplace(options, source, images);
  std::optional<ImageSorter> sorter;
  if (!options.move.empty()) sorter.emplace(options.move);

  const std::string note = default_model_note(source, options.images);
  // Names the default model in the output.
  const std::string unnamed = note.empty() ? "" : source.name;
  const bool text = !options.json && !lines;
  if (!note.empty() && !text) complain(note);
  if (!note.empty() && text) print(note + "\n");
  bool first = true;
  const auto take = [&](std::span<const ClassifiedImage> batch) {
    images.hide_progress();
    for (const ClassifiedImage& image : batch) {
      if (!image.error.empty()) images.reject(image.error);
      if (lines) lines->add(image);
      if (options.json) {
        print(first ? "[\n" : ",\n");
        print(classification_json(image, {unnamed, options.threshold}));
        first = false;
      } else if (text && image.error.empty()) {
        print(as_text(image, options.threshold));
      }
      if (sorter && image.error.empty()) {
        try {
          sorter->move(image.name, predicted_name(image.prediction, options.threshold));
        } catch (const Error& error) {
          images.reject(error.what());
        }
      }
    }
    return images.advance(batch.size());
  };
  images.run([&](const SampleSource& all) {
    if (options.whole.whole) {
      const WholeOptions whole = images.whole_options(options.whole, all);
      classifier.classify_whole(all, options.top, whole, take);
    } else {
      classifier.classify(all, options.top, take);
    }
  });
  if (options.json) print(first ? "[]\n" : "\n]\n");
  if (lines) lines->finish(images.complete());
  return images.exit_status();
}

}  // namespace

void add_classify(CommandLine& line) {
  auto options = std::make_shared<ClassifyOptions>();
  options->images.tar_files = true;
  Command& command =
      line.add_command("classify", "Classify images: print the most probable classes of each");
  add_image_options(command, options->images);
  add_whole_options(command, options->whole);
  command.option("--top", options->top, "Number of classes to print for each image")
      .range(1, 1 << 20)
      .show_default()
      .value("K");
  command
      .option("--out", options->out,
              "Write a line for each image to FILE.jsonl or FILE.csv instead of standard output; "
              "with --tiles the folder of its files")
      .value("FILE");
  add_resume(command, options->resume);
  command
      .option("--threshold", options->threshold,
              "Predict \"none of them\" if the best class is less probable than this, 0 to 1 "
              "(default: from the weight file)")
      .range(0.0, 1.0)
      .value("P");
  command
      .option("--move", options->move,
              "Move each image to the folder DIR/CLASS; nothing is overwritten")
      .value("DIR");
  add_tile_options(command, options->tiles);
  add_json(command, options->json);
  command.footer =
      "An image that cannot be read is reported and skipped, and the exit status is 3 (1: none "
      "could).\n"
      "--tiles reads images of any size by regions; Ctrl-C keeps the finished rows of tiles, and "
      "the same\n"
      "command continues.\n"
      "--out writes each finished image at once to FILE.partial, which becomes FILE at the end. "
      "After "
      "Ctrl-C or a\n"
      "crash, the same command with --resume continues.";
  command.run = [options] { return classify(*options); };
}

}  // namespace vig::cli
