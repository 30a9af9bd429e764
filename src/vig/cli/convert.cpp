#include <fmt/ranges.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "vig/base/error.h"
#include "vig/cli/commands.h"
#include "vig/cli/file_roles.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/save_model.h"
#include "vig/weights/model_info.h"

namespace vig::cli {
namespace {

struct ConvertOptions {
  ModelOptions model;
  std::string out;
  std::string classes;
  bool ema = false;
  bool half = false;
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

// One name a line; spaces around it, empty lines at the end and a mark of UTF-8 do not count.
std::vector<std::string> read_classes(const std::string& file) {
  constexpr size_t kMaxBytes = size_t{4} << 20;
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text(kMaxBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  if (!stream.is_open() || stream.bad()) {
    fail("{}: cannot read the class names: {}", file, std::generic_category().message(errno));
  }
  if (text.size() > kMaxBytes) fail("{}: expected at most {} bytes of names", file, kMaxBytes);
  std::istringstream lines(text.starts_with(kMark) ? text.substr(kMark.size()) : text);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find_first_not_of(" \t\r");
    const size_t last = line.find_last_not_of(" \t\r");
    names.push_back(first == std::string::npos ? "" : line.substr(first, last - first + 1));
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  check_class_names(file, names);
  return names;
}

int convert(const ConvertOptions& options) {
  FileRoles roles;
  roles.write("OUT", options.out, /*stoppable=*/false);
  roles.read("checkpoint", options.model.model);
  if (!options.classes.empty()) roles.read("class file", options.classes);
  roles.check();
  std::error_code error;
  if (!options.force && std::filesystem::exists(options.out, error)) {
    fail("{} exists already; give --force to replace it", options.out);
  }
  ModelRequest request = options.model.request();
  request.ema = options.ema;
  ModelSource source = find_source(request);
  require_weights(source);
  if (!options.classes.empty()) {
    source.classes = read_classes(options.classes);
    const int classes = model_classes(source.spec);
    if (source.classes.size() != static_cast<size_t>(classes)) {
      fail("{}: {} class names, expected the model's {}", options.classes, source.classes.size(),
           classes);
    }
  }
  std::string changes;
  for (const auto& [field, value] : changed_fields(source.spec)) {
    changes += fmt::format(", {}={}", field, value);
  }
  print(fmt::format("{}: {}, {} tensors, {} {}{}\n", source.name,
                    format_name(source.checkpoint->format()), source.checkpoint->tensors().size(),
                    known_by(source.known), source.spec.name, changes));
  save_model(source, options.out, options.half ? Precision::kHalf : Precision::kFloat);
  const uintmax_t bytes = std::filesystem::file_size(options.out, error);
  print(fmt::format("{}: {} class{} {}, {}{}\n", options.out, model_classes(source.spec),
                    model_classes(source.spec) == 1 ? "" : "es",
                    source.classes.empty() ? "without names" : "with names",
                    options.half ? "half precision, " : "", readable_bytes(error ? 0 : bytes)));
  return 0;
}

}  // namespace

void add_convert(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app.add_subcommand(
      "convert", "Make one self-contained safetensors file of a PyTorch or safetensors checkpoint");
  command->add_option("in", options->model.model, "PyTorch checkpoint or safetensors file")
      ->required()
      ->type_name("IN");
  command->add_option("out", options->out, "Safetensors file to write")
      ->required()
      ->type_name("OUT");
  add_model_changes(*command, options->model);
  command->add_flag("--ema", options->ema, "Take the averaged weights of a training checkpoint");
  command
      ->add_option("--classes", options->classes,
                   "Text file with the names of the classes, one a line, in order")
      ->type_name("FILE");
  command->add_flag("--half", options->half, "Store 16-bit floats (default: 32-bit)");
  command->add_flag("--force", options->force, "Replace OUT if it exists");
  command->callback([&chosen, options] { chosen = [options] { return convert(*options); }; });
}

}  // namespace vig::cli
