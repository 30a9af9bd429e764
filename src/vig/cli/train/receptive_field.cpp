#include "vig/study/receptive_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "vig/base/error.h"
#include "vig/base/processors.h"
#include "vig/cli/file_roles.h"
#include "vig/cli/find_images.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/progress.h"
#include "vig/cli/train/commands.h"
#include "vig/data/image_files.h"
#include "vig/image/preprocess.h"
#include "vig/pipeline/default_model.h"
#include "vig/torch/input_gradient.h"
#include "vig/torch/parameters.h"
#include "vig/train/workers.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

using study::ReceptiveField;

struct FieldCommand {
  ModelOptions model;
  std::vector<std::string> inputs;
  int size = 0;
  int images = 20;
  int threads = 1;
  int64_t max_pixels = DecodeOptions().max_pixels;
  uint64_t seed = 1;
  bool json = false;
  std::string csv, svg;
};

// A network at one input size, to be differentiated by its input.
class Network {
 public:
  Network(const ModelSource& source, int size, uint64_t seed)
      : recipe_(source.spec.recipe.with_size(size)),
        graph_(build_graph(source.spec, size, size)),
        parameters_(
            graph_.params,
            source.has_weights() ? *source_weights(source) : *random_weights(graph_.params, seed),
            at::kCPU) {}

  at::Tensor gradient(const Image& image) const {
    at::Tensor input = at::empty({1, recipe_.crop, recipe_.crop, 3}, at::kFloat);
    preprocess(image, recipe_, input.data_ptr<float>());
    return train::input_gradient(graph_, parameters_.views(), input).contiguous();
  }
  int64_t parameters() const { return graph_.param_count(); }

 private:
  Recipe recipe_;
  Graph graph_;
  train::Parameters parameters_;
};

struct Measured {
  ReceptiveField field;
  int images = 0;  // that the field is the sum of
  int broken = 0;
};

// The first images that can be read, some at a time, added in their order.
Measured measure(const Network& network, const std::vector<std::string>& files, int size,
                 const FieldCommand& command) {
  Measured measured{ReceptiveField(size)};
  const int most = command.images;
  const ImageFiles source(files, {.max_pixels = command.max_pixels});
  train::Workers workers(command.threads);
  Progress progress(std::min<int64_t>(most, static_cast<int64_t>(files.size())), "images");
  for (size_t next = 0; next < files.size() && measured.images < most && !interrupted();) {
    const size_t count = std::min({static_cast<size_t>(workers.size()), files.size() - next,
                                   static_cast<size_t>(most - measured.images)});
    std::vector<at::Tensor> gradients(count);
    std::vector<std::string> problems(count);
    workers.each([&](int worker) {
      const auto i = static_cast<size_t>(worker);
      if (i >= count) return;
      try {
        gradients[i] = network.gradient(*source.load(next + i).image);
      } catch (const Error& error) {
        problems[i] = error.what();
      }
    });
    for (size_t i = 0; i < count; ++i) {
      if (!gradients[i].defined()) {
        progress.hide();
        complain(problems[i]);
        ++measured.broken;
        continue;
      }
      measured.field.add(
          {gradients[i].data_ptr<float>(), static_cast<size_t>(gradients[i].numel())});
      ++measured.images;
      progress.advance(1);
    }
    next += count;
  }
  return measured;
}

// Cells of the text of a field: about four pixels of 224 each.
int cells_of(int size) {
  constexpr int kMost = 56;
  int side = std::min(size, kMost);
  while (size % side != 0) --side;
  return side;
}

int run_field(const FieldCommand& command) {
  const FoundImages found = find_images(command.inputs);
  FileRoles roles;
  roles.write("--csv", command.csv, /*stoppable=*/false);
  roles.write("--svg", command.svg, /*stoppable=*/false);
  roles.read("model", resolve_model(command.model.model));
  for (const std::string& file : found.files) roles.read("image", file);
  roles.check();
  const ModelSource source = find_source(command.model.request());
  const int size = command.size > 0 ? command.size : source.spec.recipe.crop;
  std::optional<AtomicFile> csv, svg;
  if (!command.csv.empty()) csv.emplace(command.csv);
  if (!command.svg.empty()) svg.emplace(command.svg);
  const Network network(source, size, command.seed);
  catch_interrupt();
  for (const std::string& problem : found.problems) complain(problem);
  const Measured measured = measure(network, found.files, size, command);
  if (interrupted()) return interrupted_exit();
  if (measured.images == 0) {
    fail("none of the {} images could be read", found.files.size());
  }
  const ReceptiveField& field = measured.field;
  Json json = {{"model", source.name},
               {"weights", source.has_weights() ? "file" : "initial"},
               {"parameters", network.parameters()},
               {"size", size},
               {"images", measured.images},
               {"area20", field.area_holding(0.2)},
               {"area50", field.area_holding(0.5)},
               {"area99", field.area_holding(0.99)},
               {"outer_level", field.outer_level()}};
  const std::string text = field.text(cells_of(size));
  if (command.json) {
    print_json(json);
  } else {
    print(fmt::format("{} at {} x {}, {} weights, {} images\n", source.name, size, size,
                      source.has_weights() ? "the file's" : "initial", measured.images));
    for (const double share : {0.2, 0.5, 0.99}) {
      print(fmt::format("  {:2.0f} % of the gradient in the centred {:.1f} % of the image\n",
                        100 * share, 100 * field.area_holding(share)));
    }
    print(fmt::format("  a pixel of the outer half has {:.3f} of the mean gradient\n",
                      field.outer_level()));
  }
  if (csv) {
    json["field"] = text;
    std::string names, values;
    for (const auto& [name, value] : json.items()) {
      names += (names.empty() ? "" : ",") + name;
      values += (values.empty() ? "" : ",") +
                (value.is_string() ? csv_quoted(value.get<std::string>()) : value.dump());
    }
    csv->commit_text(names + "\n" + values + "\n");
  }
  if (svg) {
    const study::FieldTile tile{source.name,
                                fmt::format("99 % in {:.0f} %", 100 * field.area_holding(0.99)),
                                study::field_image(text)};
    const study::FieldRow row{source.has_weights() ? "weights" : "initial", {tile}};
    svg->commit_text(study::field_sheet_svg("Effective receptive field", std::span(&row, 1)));
  }
  return measured.broken == 0 && found.problems.empty() ? 0 : 1;
}

}  // namespace

void add_receptive_field(CommandLine& line) {
  auto command = std::make_shared<FieldCommand>();
  command->threads = default_threads();
  Command& sub =
      line.add_command("receptive-field", "Measure the effective receptive field of a network");
  sub.option(
         "model", command->model.model,
         "Model name (with initial random weights), weight file, or a model that comes with vig: "
         "default, segment, detect")
      .required()
      .value("MODEL");
  sub.option("images", command->inputs, "Image files, folders or quoted patterns")
      .required()
      .value("IMAGE ...");
  add_model_changes(sub, command->model);
  sub.option("--size", command->size,
             "Height and width of the input in pixels (default: the model's own)")
      .range(1, 2048)
      .value("N");
  sub.option("--count", command->images, "Average over the first N readable images")
      .range(1, 1000000)
      .show_default()
      .value("N");
  sub.option("--seed", command->seed, "Seed of the initial weights of a model name")
      .show_default()
      .value("N");
  add_threads(sub, command->threads);
  add_max_pixels(sub, command->max_pixels);
  sub.option("--csv", command->csv, "Also write the figures and the field to this CSV file")
      .value("FILE");
  sub.option("--svg", command->svg, "Also draw the field into this SVG file").value("FILE");
  add_json(sub, command->json);
  sub.footer =
      "The field is the absolute gradient of the centre of the last feature map (the sum of its "
      "positive\n"
      "channels) with respect to the pixels, summed over colours and images.";
  sub.run = [command] { return run_field(*command); };
}

}  // namespace vig::cli
