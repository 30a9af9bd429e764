#include "vig/train/trained_model.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/base/json.h"
#include "vig/train/pyramid_fields.h"
#include "vig/weights/model_info.h"
#include "vig/weights/safetensors.h"

namespace vig::train {
namespace {

// Before the names of a classifier's tensors where it is the backbone of a dense network.
constexpr std::string_view kBackbone = "backbone.";
constexpr size_t kMostNames = 12;

const char* task_name(ModelTask task) {
  switch (task) {
    case ModelTask::kClassify:
      return "classification";
    case ModelTask::kSegment:
      return "segmentation";
    case ModelTask::kDetect:
      return "detection";
  }
  return "";
}

ModelTask task_of(const ModelSpec& spec) { return spec.config->task(); }

// The zoo's network for `task` on the backbone of a classifier: NAME_... DeiT is a ViT.
ModelSpec dense_counterpart(const std::string& classifier, ModelTask task) {
  constexpr std::string_view kDeit = "deit_";
  const bool deit = classifier.starts_with(kDeit);
  const std::string begin = (deit ? "vit_" + classifier.substr(kDeit.size()) : classifier) + "_";
  for (const ModelSpec& spec : model_zoo()) {
    if (task_of(spec) == task && spec.name.starts_with(begin)) return spec;
  }
  fail_usage("there is no model for {} with {} as backbone; name one with --model or --arch",
             task_name(task), classifier);
}

// The classifier's parameters that the other network has as well.
void take_fields(const ModelSpec& classifier, ModelSpec& spec) {
  const std::map<std::string, std::string> known = model_fields(spec);
  for (const auto& [field, value] : model_fields(classifier)) {
    if (field == "classes" || field == "drop_path" || !known.contains(field)) continue;
    // Fresh layer scale begins where a network without it stands.
    if (field == "layer_scale" && value == "false") continue;
    override_field(spec, field, value);
  }
}

// Completes the network of a small classifier's backbone, and says with what.
void add_stages(const ModelSpec& classifier, const TrainOptions& options, ModelPlan& plan) {
  const auto fields = pyramid_fields(classifier, plan.spec, options.fields);
  if (fields.empty()) return;
  override_fields(plan.spec, fields);
  plan.added = fmt::format("the classifier has fewer stages than the 4 that {} needs; added:",
                           task_name(task_of(plan.spec)));
  for (const auto& [field, value] : fields) {
    plan.added += fmt::format(" --set {}={}", field, value);
  }
}

// What is said of many tensors: the modules that they are of.
std::vector<std::string> summary_of(const std::vector<std::string>& names) {
  if (names.size() <= kMostNames) return names;
  std::vector<std::string> modules;
  for (const std::string& name : names) {
    const size_t inside = name.starts_with(kBackbone) ? kBackbone.size() : 0;
    const std::string module = name.substr(0, name.find('.', inside));
    if (std::ranges::find(modules, module) == modules.end()) modules.push_back(module);
  }
  return modules;
}

// Fresh values for what the source does not give in this shape.
Parameters bind_parameters(const std::vector<ParamSpec>& specs, const ModelPlan& plan,
                           bool keep_head, const TrainOptions& options, Beginning& beginning) {
  const auto first = random_weights(specs, options.seed);
  Parameters parameters(specs, *first, at::Device(options.device));
  for (const ParamSpec& spec : specs) beginning.fresh += spec.trained ? spec.shape.elements() : 0;
  if (!plan.source.has_weights()) return parameters;
  beginning.file = plan.source.name;
  const auto stored = source_weights(plan.source);
  std::vector<std::string> names;
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < specs.size(); ++i) {
    const ParamSpec& spec = specs[i];
    std::string name = spec.name;
    // Some classifiers call their blocks a backbone themselves.
    if (plan.from_classifier && stored->find(name) == nullptr) {
      name = name.starts_with(kBackbone) ? name.substr(kBackbone.size()) : "";
    }
    const bool absent = plan.from_classifier && stored->find(name) == nullptr;
    if (absent || (spec.head && !keep_head)) {
      names.push_back(spec.name);
      continue;
    }
    const size_t from = stored->index(name);
    if (stored->spec(from).shape != spec.shape) {
      fail("{}: {} is {}, expected {}", plan.source.name, name, stored->spec(from).shape.str(),
           spec.shape.str());
    }
    at::Tensor value = parameters[i];
    value.copy_(at::from_blob(const_cast<float*>(stored->data(from)), value.sizes(), at::kFloat));
    if (spec.trained) beginning.loaded += spec.shape.elements();
  }
  beginning.fresh -= beginning.loaded;
  beginning.fresh_names = summary_of(names);
  return parameters;
}

bool drops_channels(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return std::holds_alternative<DropChannelsOp>(node.op);
  });
}

// The recipe for inputs of another size. Windows keep their share of overlap.
Recipe sized(const Recipe& recipe, int size) {
  Recipe other = recipe.with_size(size);
  if (recipe.framing == Framing::kCrop) return other;
  other.crop = size;
  other.window_stride = static_cast<int>(int64_t{recipe.window_stride} * size / recipe.crop);
  return other;
}

ModelSource classifier_source(const TrainOptions& options) {
  ModelRequest request;
  request.model = options.model;
  request.arch = options.arch;
  request.fields = options.fields;
  const bool from_file = find_source(request).has_weights();
  if (!from_file && options.size > 0 && !options.recipe.has_value()) {
    request.fields["image_size"] = std::to_string(options.size);
  }
  return find_source(request);
}

// What a file of dense training holds by its own words or, where it has none, by options.arch.
ModelSource dense_source(const TrainOptions& options, ModelTask task) {
  ModelRequest request;
  request.model = options.model;
  if (!options.arch.empty() && task_of(find_model(options.arch)) == task) {
    try {
      ModelSource own = find_source(request);
      if (task_of(own.spec) == ModelTask::kClassify) return own;
    } catch (const Error&) {  // it holds what the caller says
    }
  }
  request.arch = options.arch;
  return find_source(request);
}

}  // namespace

ModelPlan plan_model(const TrainOptions& options, const std::vector<std::string>& classes,
                     ModelTask task) {
  ModelPlan plan;
  plan.classes = classes;
  if (task == ModelTask::kClassify) {
    plan.source = classifier_source(options);
    plan.spec = plan.source.spec;
    if (task_of(plan.spec) != task) {
      fail_usage("{} is a model for {}, and the data is for classification", options.model,
                 task_name(task_of(plan.spec)));
    }
  } else {
    if (options.probe)
      fail_usage("--probe is for classifiers, and the data is for {}", task_name(task));
    plan.source = dense_source(options, task);
    plan.spec = plan.source.spec;
    if (task_of(plan.spec) == ModelTask::kClassify) {
      const std::string& arch = options.arch;
      const bool named = !arch.empty() && task_of(find_model(arch)) == task;
      plan.from_classifier = true;
      plan.spec = named ? find_model(arch) : dense_counterpart(plan.source.spec.name, task);
      if (plan.source.has_weights()) {
        take_fields(plan.source.spec, plan.spec);
        add_stages(plan.source.spec, options, plan);
      }
    } else if (task_of(plan.spec) != task) {
      fail_usage("{} is a model for {}, and the data is for {}", options.model,
                 task_name(task_of(plan.spec)), task_name(task));
    }
    override_fields(plan.spec, options.fields);
  }
  const Recipe recipe = plan.spec.recipe;
  override_field(plan.spec, "classes", std::to_string(classes.size()));
  plan.spec.recipe = options.recipe.has_value() ? *options.recipe
                     : options.size > 0         ? sized(recipe, options.size)
                                                : recipe;
  check_depth(plan.spec);
  const double drop_path = plan.spec.config->drop_path;
  if (!(drop_path < 1)) fail_usage("field drop_path is {}, expected 0 to below 1", drop_path);
  return plan;
}

TrainedModel make_trained_model(const TrainOptions& options, const ModelPlan& plan, int height,
                                int width) {
  const ModelSource& source = plan.source;
  if (options.size == 0 && source.has_weights() && !plan.from_classifier) check_own_work(source);
  check_input_size(height, width);
  std::vector<Graph> graphs = build_graphs(plan.spec, height, width);
  const bool same_count = model_classes(source.spec) == static_cast<int>(plan.classes.size());
  const bool keep_head = !plan.from_classifier && same_count &&
                         (source.classes.empty() || source.classes == plan.classes);
  Beginning beginning;
  beginning.added = plan.added;
  beginning.fresh_reason = plan.from_classifier
                               ? fmt::format("the file is a classifier, {}", source.spec.name)
                               : fmt::format("the file's {} classes are not these {}",
                                             model_classes(source.spec), plan.classes.size());
  Parameters parameters =
      bind_parameters(graphs.front().params, plan, keep_head, options, beginning);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ParamSpec& param = parameters.spec(i);
    if (!param.trained || (options.probe && !param.head)) {
      parameters.freeze(i);
    } else {
      beginning.learning += param.shape.elements();
    }
  }
  // A backbone that does not learn shows the classifier what it will show afterwards.
  const double drop_path = options.probe ? 0 : plan.spec.config->drop_path;
  const bool drops = drop_path > 0 || std::ranges::any_of(graphs, drops_channels);
  return {plan.spec,
          plan.classes,
          height,
          width,
          drop_path,
          drops,
          std::move(graphs),
          std::move(beginning),
          std::move(parameters)};
}

TrainedModel make_trained_model(const TrainOptions& options,
                                const std::vector<std::string>& classes) {
  const ModelPlan plan = plan_model(options, classes, ModelTask::kClassify);
  const int size = plan.spec.recipe.crop;
  return make_trained_model(options, plan, size, size);
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
  write_safetensors(path, tensors, encode_model_info(info, {{"vig.training", Json(notes).dump()}}));
}

}  // namespace vig::train
