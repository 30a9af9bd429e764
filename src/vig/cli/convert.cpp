#include <fmt/ranges.h>

#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "vig/base/error.h"
#include "vig/cli/commands.h"
#include "vig/cli/file_roles.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/models/imagenet_classes.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/save_model.h"
#include "vig/weights/class_names.h"

namespace vig::cli {
namespace {

struct ConvertOptions {
  ModelOptions model;
  std::string out;
  std::string classes;  // a file, "imagenet", "none" or empty
  std::string dtype;    // empty: as stored
  bool ema = false;
  bool force = false;
};

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
    {"float64", DType::kF64},
    {"float32", DType::kF32},
    {"float16", DType::kF16},
    {"bfloat16", DType::kBF16},
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
  if (source.checkpoint->metadata().contains("vig.arch")) return false;
  if (source.spec.name.starts_with("test_") || model_classes(source.spec) != 1000) return false;
  auto changed = changed_fields(source.spec);
  for (const char* same_network : {"image_size", "names"}) changed.erase(same_network);
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

int convert(const ConvertOptions& options) {
  FileRoles roles;
  roles.write("OUT", options.out, /*stoppable=*/false);
  roles.read("checkpoint", options.model.model);
  if (!options.classes.empty()) roles.read("class file", options.classes);
  roles.check();
  check_output_format(options.out);
  std::error_code error;
  if (!options.force && std::filesystem::exists(options.out, error)) {
    fail("{} exists already; give --force to replace it", options.out);
  }
  ModelRequest request = options.model.request();
  request.ema = options.ema;
  ModelSource source = find_source(request);
  require_weights(source);
  const std::string names = choose_classes(options, source);
  std::string changes;
  for (const auto& [field, value] : changed_fields(source.spec)) {
    changes += fmt::format(", {}={}", field, value);
  }
  print(fmt::format("{}: {}, {} tensors, {} {}{}\n", source.name,
                    format_name(source.checkpoint->format()), source.checkpoint->tensors().size(),
                    known_by(source.known), source.spec.name, changes));
  const std::set<DType> types = save_model(source, options.out, wanted_type(options));
  const uintmax_t bytes = std::filesystem::file_size(options.out, error);
  print(fmt::format("{}: {} class{} {}, {}, {}\n", options.out, model_classes(source.spec),
                    model_classes(source.spec) == 1 ? "" : "es", names, type_names(types),
                    readable_bytes(error ? 0 : bytes)));
  return 0;
}

}  // namespace

void add_convert(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app.add_subcommand(
      "convert",
      "Convert a PyTorch or safetensors checkpoint to one self-contained safetensors file");
  command->add_option("in", options->model.model, "PyTorch checkpoint or safetensors file")
      ->required()
      ->type_name("IN");
  command->add_option("out", options->out, "File to write; its name ends in .safetensors")
      ->required()
      ->type_name("OUT");
  add_model_changes(*command, options->model);
  command->add_flag("--ema", options->ema,
                    "Convert the averaged weights (EMA) of a training checkpoint");
  command
      ->add_option("--classes", options->classes,
                   "Class names: a text file with one name per line, \"imagenet\" or \"none\" "
                   "(default: those of IN; ImageNet's for a published model with 1000 classes)")
      ->type_name("FILE");
  command
      ->add_option("--dtype", options->dtype,
                   "Element type of the weights: float32, float16 or bfloat16 (default: as in IN)")
      ->check(CLI::IsMember({"float32", "float16", "bfloat16"}).description(""))
      ->type_name("TYPE");
  command->add_flag("--force", options->force, "Replace OUT if it exists");
  command->callback([&chosen, options] { chosen = [options] { return convert(*options); }; });
}

}  // namespace vig::cli
