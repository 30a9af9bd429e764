#include "vig/pipeline/model_source.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/pipeline/recognise.h"
#include "vig/weights/model_info.h"

namespace vig {
namespace {

constexpr uint64_t kRandomSeed = 1;
constexpr int64_t kMaxBlocks = 4096;

bool is_zoo_name(const std::string& name) {
  const auto& zoo = model_zoo();
  return std::any_of(zoo.begin(), zoo.end(), [&](const ModelSpec& s) { return s.name == name; });
}

// What stands in a file is input, even where the same words of a caller would be bad usage.
template <typename Function>
auto as_input(const std::string& file, Function&& function) {
  try {
    return function();
  } catch (const Error& error) {
    fail("{}: {}", file, printable(error.what(), 400));
  }
}

// What a file says of itself beside its architecture.
void take_words(const ModelInfo& info, const Checkpoint& checkpoint, ModelSource& source) {
  if (checkpoint.metadata().contains("vig.recipe")) source.spec.recipe = info.recipe;
  source.classes = info.classes;
}

ModelSource from_metadata(const ModelRequest& request, const ModelInfo& info,
                          std::shared_ptr<const Checkpoint> checkpoint) {
  ModelSource source;
  source.name = request.model;
  source.known = ModelSource::Known::kByMetadata;
  source.spec = as_input(request.model, [&] {
    ModelSpec spec = find_model(info.arch);
    override_fields(spec, info.overrides);
    check_depth(spec);
    return spec;
  });
  take_words(info, *checkpoint, source);
  source.checkpoint = std::move(checkpoint);
  return source;
}

ModelSource from_arch(const ModelRequest& request, const std::optional<ModelInfo>& info,
                      std::shared_ptr<const Checkpoint> checkpoint) {
  ModelSource source;
  source.name = request.model;
  source.known = ModelSource::Known::kByHand;
  source.spec = find_model(request.arch);
  override_fields(source.spec, request.fields);
  source.spec = as_input(request.model, [&] {
    ModelSpec spec = source.spec;
    override_fields(spec, shape_fields(spec, *checkpoint));
    return spec;
  });
  if (info) take_words(*info, *checkpoint, source);
  source.checkpoint = std::move(checkpoint);
  return source;
}

ModelSource from_shapes(const ModelRequest& request, std::shared_ptr<const Checkpoint> checkpoint) {
  if (checkpoint->metadata().contains("vig.train.run")) {
    fail("{}: a checkpoint to go on training from; the network is in best.safetensors beside it",
         request.model);
  }
  const std::vector<ModelSpec> matches = matching_models(*checkpoint);
  if (matches.empty()) {
    fail(
        "{}: {} tensors that are no published model's, and no word on what they are; say which "
        "model it is with --arch NAME and what differs with --set FIELD=VALUE",
        request.model, checkpoint->tensors().size());
  }
  if (matches.size() > 1) {
    std::vector<std::string> names;
    for (const ModelSpec& match : matches) names.push_back(match.name);
    fail("{}: the tensors fit the models {}; say which it is with --arch NAME", request.model,
         fmt::join(names, " and "));
  }
  ModelSource source;
  source.name = request.model;
  source.known = ModelSource::Known::kByShapes;
  source.spec = matches[0];
  source.checkpoint = std::move(checkpoint);
  return source;
}

ModelSource from_file(const ModelRequest& request) {
  auto checkpoint =
      std::make_shared<const Checkpoint>(Checkpoint::open(request.model, request.ema));
  const auto info = read_model_info(checkpoint->metadata(), request.model);
  if (!request.arch.empty()) return from_arch(request, info, std::move(checkpoint));
  if (info) return from_metadata(request, *info, std::move(checkpoint));
  return from_shapes(request, std::move(checkpoint));
}

}  // namespace

ModelSource find_source(const ModelRequest& request) {
  ModelSource source;
  if (is_zoo_name(request.model)) {
    if (!request.arch.empty()) {
      fail_usage("--arch {} says what a file holds, and {} is a model's name", request.arch,
                 request.model);
    }
    source.name = request.model;
    source.spec = find_model(request.model);
  } else {
    std::error_code ignored;
    const bool looks_like_file = request.model.find_first_of("./") != std::string::npos ||
                                 std::filesystem::exists(request.model, ignored);
    if (!looks_like_file) find_model(request.model);  // raises with the list of names
    source = from_file(request);
  }
  override_fields(source.spec, request.fields);
  check_depth(source.spec);
  const int side = source.spec.recipe.crop;
  if (source.has_weights()) {
    as_input(source.name, [&] { check_input_size(side, side); });
  } else {
    check_input_size(side, side);
  }
  const auto classes = static_cast<size_t>(model_classes(source.spec));
  if (!source.classes.empty() && source.classes.size() != classes) {
    fail("{}: {} class names for a model of {} classes", source.name, source.classes.size(),
         classes);
  }
  return source;
}

std::shared_ptr<const Weights> source_weights(const ModelSource& source) {
  const int size = source.spec.recipe.crop;
  const Graph graph = build_graph(source.spec, size, size);
  if (source.has_weights()) return load_weights(graph.params, source.checkpoint);
  return random_weights(graph.params, kRandomSeed);
}

const ModelSource& require_weights(const ModelSource& source) {
  if (source.has_weights()) return source;
  fail_usage(
      "{} is the name of a model, and the program carries no weights; give a weight file instead",
      source.name);
}

std::map<std::string, std::string> changed_fields(const ModelSpec& spec) {
  std::map<std::string, std::string> changed = model_fields(spec);
  for (const auto& [name, value] : model_fields(find_model(spec.name))) {
    if (changed.at(name) == value) changed.erase(name);
  }
  return changed;
}

void check_depth(const ModelSpec& spec) {
  const int64_t blocks = std::visit(
      Overloaded{
          [](const VigConfig& config) -> int64_t { return config.depth; },
          [](const VigHConfig& config) -> int64_t {
            return std::accumulate(config.depths.begin(), config.depths.end(), int64_t{0});
          },
      },
      spec.config);
  if (blocks > kMaxBlocks) {
    fail_usage("model {} of {} blocks, expected at most {}", spec.name, blocks, kMaxBlocks);
  }
}

void check_input_size(int height, int width) {
  if (height >= 1 && width >= 1 && height <= kMaxInputSide && width <= kMaxInputSide) return;
  fail_usage("an input of {}x{} pixels, expected sides from 1 to {}", height, width, kMaxInputSide);
}

}  // namespace vig
