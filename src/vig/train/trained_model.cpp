#include "vig/train/trained_model.h"

#include <nlohmann/json.hpp>

#include "vig/base/error.h"
#include "vig/pipeline/model_source.h"
#include "vig/weights/model_info.h"
#include "vig/weights/safetensors.h"

namespace vig::train {
namespace {

// Fresh numbers for what the file does not give in this shape.
Parameters bind(const Graph& graph, const ModelSource& source, bool keep_head, uint64_t seed,
                at::Device device, Beginning& beginning) {
  const auto fresh = random_weights(graph.params, seed);
  Parameters parameters(graph.params, *fresh, device);
  beginning.fresh = graph.param_count();
  if (!source.has_weights()) return parameters;
  beginning.file = source.name;
  const auto stored = source_weights(source);
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ParamSpec& spec = parameters.spec(i);
    if (spec.head && !keep_head) {
      beginning.fresh_names.push_back(spec.name);
      continue;
    }
    const size_t from = stored->index(spec.name);
    if (stored->spec(from).shape != spec.shape) {
      fail("{}: {} is {}, expected {}", source.name, spec.name, stored->spec(from).shape.str(),
           spec.shape.str());
    }
    parameters[i].copy_(
        at::from_blob(const_cast<float*>(stored->data(from)), parameters[i].sizes(), at::kFloat));
    if (spec.trained) beginning.loaded += spec.shape.elements();
  }
  beginning.fresh -= beginning.loaded;
  return parameters;
}

}  // namespace

TrainedModel make_trained_model(const TrainOptions& options,
                                const std::vector<std::string>& classes) {
  ModelRequest request;
  request.model = options.model;
  request.arch = options.arch;
  request.fields = options.fields;
  const bool from_file = find_source(request).has_weights();
  if (!from_file && options.size > 0) request.fields["image_size"] = std::to_string(options.size);
  const ModelSource source = find_source(request);
  ModelSpec spec = source.spec;
  override_field(spec, "classes", std::to_string(classes.size()));
  spec.recipe = source.spec.recipe;
  if (options.size > 0) {
    spec.recipe = spec.recipe.with_size(options.size);
  } else if (from_file) {
    check_own_work(source);
  }
  const int size = spec.recipe.crop;
  check_depth(spec);
  const double drop_path = spec.config->drop_path;
  if (!(drop_path < 1)) fail_usage("field drop_path is {}, expected 0 to below 1", drop_path);
  check_input_size(size, size);
  Graph graph = build_graph(spec, size, size);
  const bool same_count = model_classes(source.spec) == static_cast<int>(classes.size());
  const bool keep_head = same_count && (source.classes.empty() || source.classes == classes);
  Beginning beginning;
  beginning.fresh_reason = fmt::format("the file's {} classes are not these {}",
                                       model_classes(source.spec), classes.size());
  Parameters parameters =
      bind(graph, source, keep_head, options.seed, at::Device(options.device), beginning);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ParamSpec& param = parameters.spec(i);
    if (!param.trained || (options.probe && !param.head)) {
      parameters.freeze(i);
    } else {
      beginning.learning += param.shape.elements();
    }
  }
  // A backbone that does not learn shows the classifier what it will show afterwards.
  return {std::move(spec),
          classes,
          size,
          options.probe ? 0 : drop_path,
          std::move(graph),
          std::move(beginning),
          std::move(parameters)};
}

void write_trained_model(const std::string& path, const TrainedModel& model, const at::Tensor& flat,
                         const std::map<std::string, std::string>& notes) {
  const at::Tensor host = flat.detach().to(at::kCPU);
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < model.parameters.size(); ++i) {
    const ParamSpec& spec = model.parameters.spec(i);
    tensors.push_back(
        {spec.name, {host.data_ptr<float>() + model.parameters.begin(i), DType::kF32, spec.shape}});
  }
  ModelInfo info;
  info.arch = model.spec.name;
  info.overrides = changed_fields(model.spec);
  info.classes = model.classes;
  info.recipe = model.spec.recipe;
  write_safetensors(path, tensors,
                    encode_model_info(info, {{"vig.training", nlohmann::json(notes).dump()}}));
}

}  // namespace vig::train
