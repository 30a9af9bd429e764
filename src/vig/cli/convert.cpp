#include <fmt/ranges.h>

#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "vig/base/error.h"
#include "vig/cli/convert.h"

#include "vig/cli/file_roles.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/models/imagenet_classes.h"
#include "vig/pipeline/default_model.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/save_model.h"
#include "vig/weights/class_names.h"

namespace vig::cli {
namespace {

const char* format_name(Checkpoint::Format format) {
  switch (format) {
    case Checkpoint::Format::kSafetensors:
      return "safetensors";
    case Checkpoint::Format::kTorchZip:
      return "PyTorch checkpoint";
    case Checkpoint::Format::kTorchLegacy:
      return "PyTorch checkpoint (before 1.6)";
  }
  return "";
}

const char* known_by(ModelSource::Known known) {
  switch (known) {
    case ModelSource::Known::kByName:
    case ModelSource::Known::kByHand:
      return "given as";
    case ModelSource::Known::kByMetadata:
      return "described as";
    case ModelSource::Known::kByShapes:
      return "recognised as";
  }
  return "";
}

constexpr std::pair<const char*, DType> kTypes[] = {
    {"float64", DType::kF64},   {"float32", DType::kF32}, {"float16", DType::kF16},
    {"bfloat16", DType::kBF16}, {"int8", DType::kI8},
};

std::string type_names(const std::set<DType>& types) {
  std::vector<std::string> names;
  for (const auto& [name, type] : kTypes) {
    if (types.contains(type)) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

std::optional<DType> wanted_type(const ConvertOptions& options) {
  for (const auto& [name, type] : kTypes) {
    if (options.dtype == name) return type;
  }
  return std::nullopt;
}

// A checkpoint of a published network for 1000 classes that says nothing of itself: ImageNet's.
bool is_published(const ModelSource& source) {
  if (!source.has_weights()) return false;
  if (source.checkpoint->metadata().contains("vig.arch")) return false;
  if (source.spec.name.starts_with("test_") || model_classes(source.spec) != 1000) return false;
  auto changed = changed_fields(source.spec);
  for (const char* same_network : {"image_size", "window_size", "bn_eps", "padding"}) {
    changed.erase(same_network);
  }
  return changed.empty();
}

// Sets the names of the classes; gives what there is to say about them.
std::string choose_classes(const ConvertOptions& options, ModelSource& source) {
  const int count = model_classes(source.spec);
  if (options.classes == "none") {
    source.classes.clear();
  } else if (options.classes == "imagenet") {
    source.classes = imagenet_classes();
  } else if (!options.classes.empty()) {
    source.classes = read_class_names(options.classes);
  } else if (source.classes.empty() && is_published(source)) {
    source.classes = imagenet_classes();
    return "with ImageNet's names, as this is a published model (--classes none leaves them out)";
  }
  if (source.classes.empty()) return "without names";
  if (source.classes.size() != static_cast<size_t>(count)) {
    fail("{}: {} class names, expected the model's {}", options.classes, source.classes.size(),
         count);
  }
  return options.classes == "imagenet" ? "with ImageNet's names" : "with names";
}

// Throws for options that do not go together.
void check_options(const ConvertOptions& options, OnnxWriter onnx) {
  if (!options.float_layers.empty() && options.dtype != "int8") {
    fail_usage("--float-layers is for --dtype int8");
  }
  if (is_onnx(options.out)) {
    if (onnx == nullptr)
      fail_usage("{}: give the program OUT in this form: NAME.onnx", options.out);
    if (options.temperature >= 0 || options.threshold >= 0) {
      fail_usage(
          "--temperature and --threshold are for .safetensors files: ONNX files give logits");
    }
    if (options.dtype == "float16" || options.dtype == "bfloat16") {
      fail_usage("--dtype {}: an ONNX file holds float32 or int8", options.dtype);
    }
    return;
  }
  const std::pair<const char*, bool> onnx_options[] = {{"--ort", options.ort},
                                                       {"--output", !options.outputs.empty()}};
  for (const auto& [name, given] : onnx_options) {
    if (given) fail_usage("{} is for ONNX files, and {} does not end in .onnx", name, options.out);
  }
  check_output_format(options.out);
}

// With weights, or with random ones where these are asked for.
ModelSource find_weights(const ConvertOptions& options) {
  ModelRequest request = options.model.request();
  request.ema = options.ema;
  ModelSource source = find_source(request);
  if (options.random && source.has_weights()) {
    fail_usage("--random is for the name of a model, and {} is a weight file", source.name);
  }
  if (!options.random && !source.has_weights()) {
    fail_usage(
        "{} is the name of a model, and the program carries no weights; give a weight file, or "
        "--random for random weights",
        source.name);
  }
  return source;
}

// The input size that the file asks for: the side of a crop, or the short side of whole images.
void set_size(const std::string& text, ModelSource& source) {
  const InputSize size = parse_size(text);
  if (size.height != size.width) {
    fail_usage("--size {}: expected one number for a .safetensors file", text);
  }
  Recipe& recipe = source.spec.recipe;
  recipe = recipe.with_size(size.height);
  // Throws where the network has another size only.
  build_graph(source.spec, recipe.crop, recipe.crop);
}

// How a classifier's probabilities are to be read.
void set_confidence(const ConvertOptions& options, ModelSource& source) {
  if (options.temperature < 0 && options.threshold < 0) return;
  if (source.spec.config->task() != ModelTask::kClassify) {
    fail_usage("--temperature and --threshold are for classifiers, and {} is for another task",
               source.name);
  }
  if (options.temperature >= 0) source.confidence.temperature = options.temperature;
  if (options.threshold >= 0) source.confidence.threshold = options.threshold;
}

// How a published file's images are prepared, and who says so.
std::string describe_recipe(const ModelSource& source) {
  if (source.recipe_of.empty()) return "";
  const Recipe& recipe = source.spec.recipe;
  const bool config = source.recipe_of == "config.json";
  return fmt::format(
      "images: short side {}, crop {}, {}, mean {:g} {:g} {:g}, std {:g} {:g} {:g} ({})\n",
      recipe.resize, recipe.crop,
      recipe.interpolation == Interpolation::kBilinear ? "bilinear" : "bicubic", recipe.mean[0],
      recipe.mean[1], recipe.mean[2], recipe.std[0], recipe.std[1], recipe.std[2],
      config ? "config.json beside the file" : source.recipe_of + "'s for this model");
}

std::string describe(const ModelSource& source) {
  std::string changes;
  for (const auto& [field, value] : changed_fields(source.spec)) {
    changes += fmt::format(", {}={}", field, value);
  }
  if (!source.has_weights()) {
    return fmt::format("{}: {} tensors with random weights{}\n", source.name,
                       source.graph->params.size(), changes);
  }
  return fmt::format("{}: {}, {} tensors, {} {}{}\n", source.name,
                     format_name(source.checkpoint->format()), source.checkpoint->tensors().size(),
                     known_by(source.known), source.spec.name, changes);
}

int convert(const ConvertOptions& options, OnnxWriter onnx) {
  FileRoles roles;
  roles.write("OUT", options.out, /*stoppable=*/false);
  roles.read("checkpoint", resolve_model(options.model.model));
  if (!options.classes.empty()) roles.read("class file", options.classes);
  roles.check();
  check_options(options, onnx);
  std::error_code error;
  if (!options.force && std::filesystem::exists(options.out, error)) {
    fail("{} exists already; give --force to replace it", options.out);
  }
  ModelSource source = find_weights(options);
  if (!is_onnx(options.out) && !options.size.empty()) set_size(options.size, source);
  set_confidence(options, source);
  const std::string names = choose_classes(options, source);
  print(describe(source) + describe_recipe(source));
  const std::string contents =
      is_onnx(options.out)
          ? onnx(source, options)
          : type_names(save_model(source, options.out, wanted_type(options), options.float_layers));
  const uintmax_t bytes = std::filesystem::file_size(options.out, error);
  print(fmt::format("{}: {} class{} {}, {}, {}\n", options.out, model_classes(source.spec),
                    model_classes(source.spec) == 1 ? "" : "es", names, contents,
                    readable_bytes(error ? 0 : bytes)));
  return 0;
}

}  // namespace

bool is_onnx(const std::string& path) { return path.ends_with(".onnx"); }

void add_convert(CommandLine& line, OnnxWriter onnx) {
  auto options = std::make_shared<ConvertOptions>();
  Command& command = line.add_command(
      "convert",
      "Convert a PyTorch or safetensors checkpoint to one self-contained safetensors file, or to "
      "an ONNX file for other runtimes");
  command
      .option("in", options->model.model,
              "PyTorch checkpoint or safetensors file, or a model that comes with vig: default, "
              "segment, detect; with --random the name of a model")
      .required()
      .value("IN");
  command.option("out", options->out, "File to write; its name ends in .safetensors or .onnx")
      .required()
      .value("OUT");
  add_model_changes(command, options->model);
  command.flag("--ema", options->ema,
               "Convert the averaged weights (EMA) of a training checkpoint");
  command
      .option("--classes", options->classes,
              "Class names: a text file with one name per line, \"imagenet\" or \"none\" "
              "(default: those of IN; ImageNet's for a published model with 1000 classes)")
      .value("FILE");
  command
      .option("--dtype", options->dtype,
              "Element type of the weights: float32, float16, bfloat16, or int8 of dense layers "
              "(default: as in IN); an ONNX file holds float32, the default there, or int8")
      .one_of({"float32", "float16", "bfloat16", "int8"})
      .value("TYPE");
  command
      .option("--float-layers", options->float_layers,
              "With --dtype int8, further layers that keep their type: names from vig info "
              "--precision int8, with * for any characters; may be repeated")
      .value("PATTERN")
      .needs("--dtype")
      .one_each();
  command
      .option("--temperature", options->temperature,
              "Classifiers: divide the logits by T before the softmax, as vig eval --calibration "
              "suggests (default: that of IN)")
      .range(0.01, 100.0)
      .value("T");
  command
      .option("--threshold", options->threshold,
              "Classifiers: default of vig classify --threshold (default: that of IN)")
      .range(0.0, 1.0)
      .value("P");
  command.flag("--random", options->random,
               "Take IN as a model name and write random weights, the same in every call and in "
               "vig bench: for benchmarks");
  command
      .option(
          "--size", options->size,
          "Input size of the written model; for ONNX also HEIGHTxWIDTH, or \"any\" for networks "
          "that accept any size (default: the model's)")
      .value("SIZE");
  command
      .option(
          "--output", options->outputs,
          "ONNX: output to write: logits, pooled or features; may be repeated (default: logits)")
      .value("NAME")
      .one_each();
  command.flag("--ort", options->ort,
               "ONNX: write gated linear attention as ONNX Runtime's own operator, which other "
               "runtimes do not support");
  command.flag("--force", options->force, "Replace OUT if it exists");
  command.run = [options, onnx] { return convert(*options, onnx); };
}

}  // namespace vig::cli
