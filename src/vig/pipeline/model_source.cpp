#include "vig/pipeline/model_source.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/models/not_built.h"
#include "vig/pipeline/default_model.h"
#include "vig/pipeline/published_file.h"
#include "vig/pipeline/recognise.h"
#include "vig/weights/model_info.h"

namespace vig {
namespace {

constexpr uint64_t kRandomSeed = 1;
// Ten times the deepest published network; planning takes the square of it.
constexpr int64_t kMaxBlocks = 256;

bool is_zoo_name(const std::string& name) {
  const auto& zoo = model_zoo();
  return std::any_of(zoo.begin(), zoo.end(), [&](const ModelSpec& s) { return s.name == name; });
}

// The network for its own input size; throws where it cannot be built.
std::shared_ptr<const Graph> own_graph(const ModelSpec& spec) {
  const GridSize size = described_size(spec);
  check_depth(spec);
  check_input_size(size.height, size.width);
  return std::make_shared<const Graph>(build_graph(spec, size.height, size.width));
}

// In multiply-adds of one image. Narrow networks take longer than theirs: every operation costs a
// position about as much as 512 of them, and every head of a scan as 2048.
double estimate_work(const Graph& graph) {
  constexpr double kOperation = 512, kHead = 2048;
  auto work = static_cast<double>(count_macs(graph).total());
  for (size_t i = 1; i < graph.nodes.size(); ++i) {  // the first is the input
    const Node& node = graph.nodes[i];
    double per_position = kOperation;
    if (const auto* op = std::get_if<GlaOp>(&node.op)) {
      per_position += kHead * op->heads * gla_directions(*op);
    }
    work += per_position * static_cast<double>(node.grid.positions());
  }
  return work;
}

// For one image, by the size of the file.
struct WorkLimits {
  double work, bytes;
};

WorkLimits work_limits(size_t file_bytes) {
  // Per byte of the file: a float32 number may meet 16384 positions, as many as an image of
  // 2048 x 2048 has in patches of 16 x 16. Below a floor the limit does not apply.
  constexpr double kWorkPerByte = 4096, kWorkFloor = 1e10;
  constexpr double kBytesPerByte = 16, kBytesFloor = 64e6;
  const auto size = static_cast<double>(file_bytes);
  return {std::max(kWorkPerByte * size, kWorkFloor), std::max(kBytesPerByte * size, kBytesFloor)};
}

// What a file says of itself beside its architecture.
void take_words(const ModelInfo& info, const Checkpoint& checkpoint, ModelSource& source) {
  if (checkpoint.metadata().contains("vig.recipe")) source.spec.recipe = info.recipe;
  source.classes = info.classes;
  source.confidence = info.confidence;
}

// Earlier versions wrote tensors under the publisher's names, and a field that says whose.
void map_earlier_names(const std::string& publisher, std::shared_ptr<const Checkpoint>& checkpoint,
                       const ModelSpec& spec) {
  for (const PublishedNames& names : find_family(spec.family).names) {
    if (names.publisher == publisher) checkpoint = with_our_names(*checkpoint, names);
  }
}

ModelSource from_metadata(const ModelRequest& request, const ModelInfo& info,
                          std::shared_ptr<const Checkpoint> checkpoint) {
  ModelSource source;
  source.name = request.model;
  source.known = ModelSource::Known::kByMetadata;
  source.spec = as_input(request.model, [&] {
    ModelSpec spec = find_model(info.arch);
    auto overrides = info.overrides;
    const auto names = overrides.extract("names");
    if (names) map_earlier_names(names.mapped(), checkpoint, spec);
    override_fields(spec, overrides);
    return spec;
  });
  take_words(info, *checkpoint, source);
  source.checkpoint = std::move(checkpoint);
  return source;
}

ModelSource from_arch(const ModelRequest& request, const std::optional<ModelInfo>& info,
                      std::shared_ptr<const Checkpoint> checkpoint, const FileOrigin& origin) {
  ModelSource source;
  source.name = request.model;
  source.known = ModelSource::Known::kByHand;
  source.spec = find_model(request.arch);
  override_fields(source.spec, request.fields);
  const PublishedNames* names = published_names(find_family(source.spec.family), *checkpoint);
  if (names != nullptr) checkpoint = with_our_names(*checkpoint, *names);
  source.spec = as_input(request.model, [&] {
    ModelSpec spec = source.spec;
    override_fields(spec, shape_fields(spec, *checkpoint));
    source.recipe_of = adopt_publication(spec, names, origin);
    return spec;
  });
  if (info) take_words(*info, *checkpoint, source);
  source.checkpoint = std::move(checkpoint);
  return source;
}

[[noreturn]] void fail_unknown(const std::string& file, const Checkpoint& checkpoint) {
  const std::string known = known_but_not_built([&](const std::string& name) {
    const NamedTensor* tensor = checkpoint.find(name);
    return tensor == nullptr ? nullptr : &tensor->view.shape;
  });
  if (!known.empty()) fail("{}: {}: not built", file, known);
  fail(
      "{}: {} tensors that are no published model's, and no word on what they are; say which "
      "model it is with --arch NAME and what differs with --set FIELD=VALUE",
      file, checkpoint.tensors().size());
}

ModelSource from_shapes(const ModelRequest& request, std::shared_ptr<const Checkpoint> checkpoint,
                        const FileOrigin& origin) {
  if (checkpoint->metadata().contains("vig.train.run")) {
    fail("{}: a checkpoint to resume training from; the network is in best.safetensors beside it",
         request.model);
  }
  const std::vector<MatchingModel> matches = matching_models(checkpoint);
  if (matches.empty()) fail_unknown(request.model, *checkpoint);
  if (matches.size() > 1) {
    std::vector<std::string> names;
    for (const MatchingModel& match : matches) names.push_back(match.spec.name);
    fail("{}: the tensors fit the models {}; say which it is with --arch NAME", request.model,
         fmt::join(names, " and "));
  }
  ModelSource source;
  source.name = request.model;
  source.known = ModelSource::Known::kByShapes;
  source.spec = matches[0].spec;
  source.recipe_of = adopt_publication(source.spec, matches[0].names, origin);
  source.checkpoint = matches[0].checkpoint;
  return source;
}

ModelSource from_checkpoint(const ModelRequest& request,
                            std::shared_ptr<const Checkpoint> checkpoint, bool is_file) {
  const auto info = read_model_info(checkpoint->metadata(), request.model);
  if (info && request.arch.empty()) return from_metadata(request, *info, std::move(checkpoint));
  const FileOrigin origin =
      is_file && !info ? as_input(request.model, [&] { return origin_of_file(request.model); })
                       : origin_of_name(request.model);
  if (!request.arch.empty()) return from_arch(request, info, std::move(checkpoint), origin);
  return from_shapes(request, std::move(checkpoint), origin);
}

// Builds the network, after what the caller says about it.
ModelSource finish(ModelSource source, const ModelRequest& request) {
  // What a caller says of a file's network may be wrong, too.
  const bool by_hand = source.known == ModelSource::Known::kByHand && !request.fields.empty();
  if (source.has_weights() && !by_hand) {
    source.graph = as_input(source.name, [&] { return own_graph(source.spec); });
  }
  if (!request.fields.empty() || !source.has_weights()) {
    override_fields(source.spec, request.fields);
    source.graph = own_graph(source.spec);
  }
  const auto classes = static_cast<size_t>(model_classes(source.spec));
  if (!source.classes.empty() && source.classes.size() != classes) {
    fail("{}: {} class names for a model of {} classes", source.name, source.classes.size(),
         classes);
  }
  return source;
}

}  // namespace

ModelSource find_source(const ModelRequest& given) {
  ModelRequest request = given;
  request.model = resolve_model(given.model, given.task);
  if (is_zoo_name(request.model)) {
    if (!request.arch.empty()) {
      fail_usage("--arch {} says what a file holds, and {} is a model's name", request.arch,
                 request.model);
    }
    ModelSource source;
    source.name = request.model;
    source.spec = find_model(request.model);
    return finish(std::move(source), request);
  }
  std::error_code ignored;
  const bool looks_like_file = request.model.find_first_of("./") != std::string::npos ||
                               std::filesystem::exists(request.model, ignored);
  if (!looks_like_file) find_model(request.model);  // throws with the list of names
  auto checkpoint = Checkpoint::open(request.model, request.ema);
  return finish(from_checkpoint(request, std::make_shared<const Checkpoint>(std::move(checkpoint)),
                                /*is_file=*/true),
                request);
}

ModelSource find_source(const ModelRequest& request, std::span<const unsigned char> bytes,
                        std::shared_ptr<const void> owner) {
  auto checkpoint = Checkpoint::from_bytes(request.model, bytes, request.ema, std::move(owner));
  return finish(from_checkpoint(request, std::make_shared<const Checkpoint>(std::move(checkpoint)),
                                /*is_file=*/false),
                request);
}

std::shared_ptr<const Weights> source_weights(const ModelSource& source) {
  if (source.weights != nullptr) return source.weights;
  if (source.has_weights()) {
    LoadOptions options;
    options.ignore_unexpected = [&](std::string_view name) { return is_buffer(source.spec, name); };
    return load_weights(source.graph->params, source.checkpoint, options);
  }
  return random_weights(source.graph->params, kRandomSeed);
}

const ModelSource& require_weights(const ModelSource& source) {
  if (source.has_weights() || source.weights != nullptr) return source;
  fail_usage(
      "{} is the name of a model, and the program carries no weights; give a weight file instead",
      source.name);
}

std::string task_command(ModelTask task) {
  switch (task) {
    case ModelTask::kClassify:
      return "vig classify";
    case ModelTask::kSegment:
      return "vig segment";
    case ModelTask::kDetect:
      return "vig detect";
  }
  return "";
}

void check_task(const ModelSource& source, ModelTask task) {
  const ModelTask own = source.spec.config->task();
  if (own == task) return;
  constexpr const char* kinds[] = {"a classifier", "a segmentation network", "a detector"};
  fail_usage("{} is {} ({}), not {}; use {}", source.name, kinds[static_cast<int>(own)],
             source.spec.name, kinds[static_cast<int>(task)], task_command(own));
}

std::map<std::string, std::string> changed_fields(const ModelSpec& spec) {
  std::map<std::string, std::string> changed = model_fields(spec);
  for (const auto& [name, value] : model_fields(find_model(spec.name))) {
    if (changed.at(name) == value) changed.erase(name);
  }
  return changed;
}

void check_own_work(const ModelSource& source) {
  const size_t bytes = source.checkpoint->file_bytes();
  check_work(source.name, bytes, *source.graph, 1);
  for (const Graph& graph : source.spec.config->further_graphs()) {
    check_work(source.name, bytes, graph, 1);
  }
}

void check_work(const std::string& file, size_t file_bytes, const Graph& graph, int64_t batch) {
  const auto [most_work, most_bytes] = work_limits(file_bytes);
  const auto images = static_cast<double>(batch);
  const double work = images * as_input(file, [&] { return estimate_work(graph); });
  double bytes = 0;
  for (const Node& node : graph.nodes) {
    const auto elements = static_cast<double>(node.grid.elements());
    bytes = std::max(bytes, images * elements * sizeof(float));
  }
  if (work <= most_work && bytes <= most_bytes) return;
  const Grid& input = graph.nodes.front().grid;
  const bool memory = work <= most_work;
  fail(
      "{}: {} image{} of {}x{} would {}, expected at most {:.0f} for a file of {} bytes; give "
      "--size N for a smaller input",
      file, batch, batch == 1 ? "" : "s", input.height, input.width,
      memory ? fmt::format("make a value of {:.0f} bytes", bytes)
             : fmt::format("take the time of {:.0f} multiply-adds", work),
      memory ? most_bytes : most_work, file_bytes);
}

void check_windows(const std::string& file, size_t file_bytes, const Graph& graph, int64_t windows,
                   double scale) {
  // Every operation of a window costs at least as much as this many multiply-adds. Windows share
  // out an image several times as large as they are, and overlap.
  constexpr double kCall = 1 << 18, kWindows = 8;
  const WorkLimits limits = work_limits(file_bytes);
  const double most_work = kWindows * scale * limits.work, most_bytes = scale * limits.bytes;
  const auto count = static_cast<double>(windows);
  const double work =
      count * (estimate_work(graph) + kCall * static_cast<double>(graph.nodes.size()));
  const Grid& logits = graph.node(graph.find_output("logits")).grid;  // kept until the last window
  const double bytes = count * static_cast<double>(logits.elements()) * sizeof(float);
  if (work <= most_work && bytes <= most_bytes) return;
  const Grid& input = graph.nodes.front().grid;
  const bool memory = work <= most_work;
  fail(
      "{}: {} windows of {}x{} would {}, expected at most {:.0f} for a file of {} bytes; give "
      "--window N for larger windows, --whole for none, or --size N for a smaller input",
      file, windows, input.height, input.width,
      memory ? fmt::format("make logits of {:.0f} bytes", bytes)
             : fmt::format("take the time of {:.0f} multiply-adds", work),
      memory ? most_bytes : most_work, file_bytes);
}

void check_depth(const ModelSpec& spec) {
  const int64_t blocks = spec.config->blocks();
  if (blocks > kMaxBlocks) {
    fail_usage("model {} of {} blocks, expected at most {} (a fixed limit)", spec.name, blocks,
               kMaxBlocks);
  }
}

void check_input_size(int height, int width) {
  if (height >= 1 && width >= 1 && height <= kMaxInputSide && width <= kMaxInputSide) return;
  fail_usage("an input of {}x{} pixels, expected sides from 1 to {} (a fixed limit)", height, width,
             kMaxInputSide);
}

}  // namespace vig
