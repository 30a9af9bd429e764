#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <new>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/suggestion.h"
#include "vig/cli/commands.h"
#include "vig/cli/image_command.h"
#include "vig/cli/image_outputs.h"
#include "vig/cli/image_stream.h"
#include "vig/cli/npy.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/pipeline/explainer.h"
#include "vig/pipeline/results_json.h"
#include "vig/tasks/explanation.h"

namespace vig::cli {
namespace {

const std::string kEvidence = "evidence.png", kAttention = "attention.png", kMap = "map.npy";

// In the order of Explainer::Direction.
const std::vector<std::string> kDirections = {"both", "forward", "backward", "all"};

struct ExplainCommand {
  ImageOptions images;
  std::string about, against;  // classes, by name or number
  std::string at;              // "0.5,0.5"
  int layer = -1;
  int head = -1;
  std::string direction = "both";
  double opacity = 0.7;
  std::string out = ".";
  bool npy = false;
  bool json = false;
};

// A class by its name, or by its number where no class has that name.
int find_class(const std::string& option, const std::string& text, const ModelSource& source) {
  if (text.empty()) return -1;
  const auto found = std::ranges::find(source.classes, text);
  if (found != source.classes.end()) return static_cast<int>(found - source.classes.begin());
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const int classes = model_classes(source.spec);
  if (error == std::errc() && end == text.data() + text.size() && number >= 0 && number < classes) {
    return number;
  }
  fail_usage("{} {}: none of the {} classes of {}{}", option, printable(text, 60), classes,
             source.name, suggestion(text, source.classes));
}

// "0.25,0.5": across and down, in parts of what the network sees.
Explainer::AttentionRequest parse_position(const ExplainCommand& command) {
  Explainer::AttentionRequest request;
  const char* const end = command.at.data() + command.at.size();
  const auto across = std::from_chars(command.at.data(), end, request.x);
  bool good = across.ec == std::errc() && across.ptr != end && *across.ptr == ',';
  if (good) {
    const auto down = std::from_chars(across.ptr + 1, end, request.y);
    good = down.ec == std::errc() && down.ptr == end;
  }
  if (!good) {
    fail_usage("--at {}: expected X,Y from 0 to 1, such as 0.5,0.5 for the middle",
               printable(command.at, 60));
  }
  request.layer = command.layer;
  request.head = command.head;
  const auto direction = std::ranges::find(kDirections, command.direction);
  request.direction = static_cast<Explainer::Direction>(direction - kDirections.begin());
  return request;
}

std::string as_text(const ImageEvidence& image) {
  const Evidence& evidence = image.prediction;
  const auto name = [](const ClassScore& score) {
    return score.name.empty() ? fmt::format("class {}", score.index) : printable(score.name);
  };
  const auto [least, most] = std::ranges::minmax(evidence.map.values);
  std::string text = fmt::format("{}\n  {} {:.4f}", printable(image.name, 4096),
                                 name(evidence.about), evidence.about.logit);
  if (evidence.against) {
    text += fmt::format(" against {} {:.4f}", name(*evidence.against), evidence.against->logit);
  }
  return text + fmt::format(": evidence from {:.4f} to {:.4f}\n", least, most);
}

std::string as_text(const ImageAttention& image) {
  const LayerAttention& attention = image.prediction;
  const TokenMap& map = attention.map;
  const auto most = std::ranges::max_element(map.values) - map.values.begin();
  return fmt::format(
      "{}\n  layer {}, {}: the token in row {}, column {} of {} x {} takes most from row {}, "
      "column {}\n",
      printable(image.name, 4096), attention.layer,
      attention.head < 0 ? "all heads" : fmt::format("head {}", attention.head), attention.row,
      attention.column, map.height, map.width, most / map.width, most % map.width);
}

// Images that are needed twice: for the network, and to be drawn on. Files are read again, so
// that a batch keeps none of them; a stream can be read once, and its image is kept. The copy is
// apart from the memory of decoding, which further images of the batch may wait for.
class ReadTwice final : public SampleSource {
 public:
  ReadTwice(const SampleSource& images, const DecodeOptions& decode)
      : images_(images), decode_(decode) {}

  size_t size() const override { return images_.size(); }
  std::string location(size_t sample) const override { return images_.location(sample); }
  std::string path(size_t sample) const override { return images_.path(sample); }
  Sample load(size_t sample) const override {
    Sample loaded = images_.load(sample);
    if (!is_stream(path(sample))) return loaded;
    try {
      auto copy = std::make_shared<const Image>(*loaded.image);
      const std::lock_guard lock(mutex_);
      kept_[sample] = std::move(copy);
    } catch (const std::bad_alloc&) {
      fail("{}: not enough memory for the image", location(sample));
    }
    return loaded;
  }
  // What was loaded before.
  Sample load_again(size_t sample) const {
    {
      const std::lock_guard lock(mutex_);
      if (auto kept = kept_.extract(sample)) return {std::move(kept.mapped()), {}};
    }
    return ImageFiles({path(sample)}, decode_).load(0);
  }

 private:
  const SampleSource& images_;
  const DecodeOptions decode_;
  mutable std::mutex mutex_;
  mutable std::map<size_t, std::shared_ptr<const Image>> kept_;
};

// The images of a run, drawn and printed one after the other.
class Drawing {
 public:
  Drawing(const ExplainCommand& command, ImageRun& images, const ImageOutputs& outputs,
          const std::string& ending, const Recipe& recipe)
      : command_(command), images_(images), outputs_(outputs), ending_(ending), recipe_(recipe) {}

  template <class T>
  HandleResults<T> handler(const ReadTwice& all) {
    return [this, &all](std::span<const ImageResult<T>> batch) {
      for (const ImageResult<T>& image : batch) take(image, all);
      return images_.advance(batch.size());
    };
  }
  void finish() const {
    if (command_.json) print(first_ ? "[]\n" : "\n]\n");
  }

 private:
  template <class T>
  void take(const ImageResult<T>& image, const ReadTwice& all) {
    std::string error = image.error;
    if (error.empty()) {
      try {
        draw(all.load_again(next_), maps_of(image.prediction));
      } catch (const Error& problem) {
        error = problem.what();
      }
    }
    images_.hide_progress();
    if (!error.empty()) images_.reject(error);
    if (command_.json) {
      print(first_ ? "[\n" : ",\n");
      print(explanation_json(image, error.empty() ? outputs_.path(next_, ending_) : ""));
      first_ = false;
    } else if (error.empty()) {
      print(as_text(image));
    }
    ++next_;
  }

  static std::vector<TokenMap> maps_of(const Evidence& evidence) { return {evidence.map}; }
  // The directions first, where they are shown.
  static std::vector<TokenMap> maps_of(const LayerAttention& attention) {
    std::vector<TokenMap> maps = attention.directions;
    maps.push_back(attention.map);
    return maps;
  }

  void draw(const Sample& sample, const std::vector<TokenMap>& maps) {
    const Placement placement = place(recipe_, sample.image->width, sample.image->height);
    outputs_.write_drawing(next_, ending_, [&] {
      std::vector<Image> drawings;
      for (const TokenMap& map : maps) {
        drawings.push_back(
            draw_explanation(*sample.image, seen_part(placement), map, command_.opacity));
      }
      return drawings.size() == 1 ? std::move(drawings[0]) : side_by_side(drawings);
    });
    if (!command_.npy) return;
    NpyWriter array(outputs_.path(next_, kMap));
    for (const TokenMap& map : maps) {
      if (maps.size() > 1) {
        array.append({map.height, map.width}, map.values);
        continue;
      }
      for (int row = 0; row < map.height; ++row) {
        const auto first = map.values.begin() + static_cast<std::ptrdiff_t>(row) * map.width;
        array.append({map.width}, {first, first + map.width});
      }
    }
    array.finish(true);
  }

  const ExplainCommand& command_;
  ImageRun& images_;
  const ImageOutputs& outputs_;
  const std::string ending_;
  const Recipe recipe_;
  size_t next_ = 0;  // image
  bool first_ = true;
};

void check(const ExplainCommand& command) {
  const bool attention = !command.at.empty();
  if (attention && !(command.about.empty() && command.against.empty())) {
    fail_usage("--at shows attention, which has no class: it excludes --class and --against");
  }
  if (!attention && (command.layer >= 0 || command.head >= 0 || command.direction != "both")) {
    fail_usage(
        "--layer, --head and --direction need --at X,Y, the position whose attention is shown");
  }
}

int explain(const ExplainCommand& command) {
  check(command);
  const bool attention = !command.at.empty();
  ImageRun images(command.images);
  const std::string& ending = attention ? kAttention : kEvidence;
  std::vector<std::string> endings = {ending, preview_ending(ending)};
  if (command.npy) endings.push_back(kMap);
  const ImageOutputs outputs(command.out, images, endings);
  FileRoles roles = images.roles();
  outputs.add_roles(roles);
  roles.check();
  const ModelSource source = chosen_source(command.images);
  const Explainer explainer(source, images.run_options());
  outputs.prepare();
  const std::string note = default_model_note(source, command.images);
  if (!note.empty() && command.json) complain(note);
  if (!note.empty() && !command.json) print(note + "\n");
  Drawing drawing(command, images, outputs, ending, explainer.runner().recipe());
  images.run([&](const SampleSource& files) {
    const ReadTwice all(files, command.images.decode());
    if (attention) {
      explainer.attention(all, parse_position(command), drawing.handler<LayerAttention>(all));
    } else {
      const Explainer::EvidenceRequest request{find_class("--class", command.about, source),
                                               find_class("--against", command.against, source)};
      explainer.evidence(all, request, drawing.handler<Evidence>(all));
    }
  });
  drawing.finish();
  return images.exit_status();
}

}  // namespace

void add_explain(CommandLine& line) {
  auto options = std::make_shared<ExplainCommand>();
  Command& command = line.add_command(
      "explain",
      "Explain a prediction: draw the evidence for a class, or the attention of a token");
  add_image_options(command, options->images);
  command
      .option("--class", options->about,
              "Class to explain, by name or index (default: the most probable one)")
      .value("CLASS");
  command
      .option("--against", options->against,
              "Another class: draw the evidence for CLASS against this one")
      .value("CLASS");
  command
      .option(
          "--at", options->at,
          "Draw the attention of the token at this position instead: X and Y from 0 to 1 across "
          "and down the network's input, such as 0.5,0.5")
      .value("X,Y");
  command.option("--layer", options->layer, "With --at: layer, from 0 (default: the last one)")
      .range(0, 1 << 20)
      .value("L");
  command
      .option("--head", options->head, "With --at: head, from 0 (default: the mean of all heads)")
      .range(0, 1 << 20)
      .value("H");
  command
      .option(
          "--direction", options->direction,
          "With --at: the direction of the scan whose weights are drawn; all: forward, backward "
          "and both, side by side")
      .one_of(kDirections)
      .show_default()
      .value("D");
  command.option("--opacity", options->opacity, "Opacity of the map over the image, 0 to 1")
      .range(0.0, 1.0)
      .show_default()
      .value("A");
  command
      .option("--out", options->out,
              "Folder for NAME.evidence.png or NAME.attention.png of each image NAME")
      .show_default()
      .value("DIR");
  command.flag("--npy", options->npy,
               "Also write NAME.map.npy, float32 [rows, columns]; with --direction all [3, rows, "
               "columns]");
  add_json(command, options->json);
  command.footer =
      "Both maps are exact. Evidence: the classifier is linear in the mean of the last tokens, so "
      "the\n"
      "mean of the map is the logit of the class. Attention: the weight of each token's value in "
      "the\n"
      "output of the layer at the chosen token, both directions, times the length of that value.\n"
      "Red is positive, blue is negative, and parts outside the network's input are dark. The "
      "colour bar\n"
      "has the scale.\n"
      "A drawing of more than 4 million pixels gets an additional NAME.evidence.preview.jpg or\n"
      "NAME.attention.preview.jpg.";
  command.run = [options] { return explain(*options); };
}

}  // namespace vig::cli
