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
#include "vig/cli/output_file.h"
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
  std::string csv;
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

int classify(ClassifyOptions options) {
  ImageRun::check_whole(options.whole, options.images);
  if (options.tiles.side > 0) {
    if (!options.move.empty() || !options.csv.empty() || options.threshold >= 0 ||
        options.whole.whole) {
      fail_usage("--tiles does not go with --move, --csv, --threshold or --whole");
    }
    return classify_tiles(options.images, options.tiles, options.top, options.json);
  }
  if (options.tiles.large.given()) {
    fail_usage("--level, --region, --mpp and --skip-background need --tiles");
  }
  if (!options.move.empty()) {
    if (!options.images.shard.empty()) {
      fail_usage("--move with --shard: what one job moves is missing from the parts of the others");
    }
    for (const std::string& input : options.images.inputs) {
      if (is_stream(input)) fail_usage("--move: {} is no file that can be moved", input);
    }
  }
  ImageRun images(options.images);
  FileRoles roles = images.roles();
  roles.write("--csv", options.csv);
  roles.check();
  const ModelSource source = chosen_source(options.images);
  if (options.threshold < 0) options.threshold = source.confidence.threshold;
  const Classifier classifier(source, images.run_options(options.whole));
  std::optional<OutputFile> csv;
  if (!options.csv.empty()) csv.emplace(options.csv);
  std::vector<Prediction> rows;
  std::optional<ImageSorter> sorter;
  if (!options.move.empty()) sorter.emplace(options.move);

  const std::string note = default_model_note(source, options.images);
  // Names the default model in the output.
  const std::string unnamed = note.empty() ? "" : source.name;
  if (!note.empty() && options.json) complain(note);
  if (!note.empty() && !options.json) print(note + "\n");
  bool first = true;
  const auto take = [&](std::span<const ClassifiedImage> batch) {
    images.hide_progress();
    for (const ClassifiedImage& image : batch) {
      if (!image.error.empty()) images.reject(image.error);
      if (csv) rows.push_back({image.name, std::nullopt, image.prediction, image.error});
      if (options.json) {
        print(first ? "[\n" : ",\n");
        print(classification_json(image, {unnamed, options.threshold}));
        first = false;
      } else if (image.error.empty()) {
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
  if (csv) {
    const int top = std::min(options.top, model_classes(source.spec));
    const Shard shard = parse_shard(options.images.shard);
    csv->write(
        predictions_csv(rows, source.classes,
                        {.top = top, .header = shard.index == 1, .threshold = options.threshold}));
    csv->finish(images.complete());
  }
  return images.exit_status();
}

}  // namespace

void add_classify(CommandLine& line) {
  auto options = std::make_shared<ClassifyOptions>();
  Command& command =
      line.add_command("classify", "Classify images: print the most probable classes of each");
  add_image_options(command, options->images);
  add_whole_options(command, options->whole);
  command.option("--top", options->top, "Number of classes to print for each image")
      .range(1, 1 << 20)
      .show_default()
      .value("K");
  command
      .option("--csv", options->csv,
              "Also write a CSV file with a line per image: file and best classes")
      .value("FILE");
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
      "An image that cannot be read is reported and skipped, and the exit status is 1.\n"
      "--tiles reads images of any size by regions; Ctrl-C keeps the finished rows of tiles, and "
      "the same\n"
      "command continues.\n"
      "Ctrl-C stops after the current batch; --csv then writes FILE.partial.";
  command.run = [options] { return classify(*options); };
}

}  // namespace vig::cli
