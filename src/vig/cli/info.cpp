#include <fmt/ranges.h>

#include <algorithm>

#include "vig/base/printable.h"
#include "vig/cli/commands.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/pipeline/model_source.h"

namespace vig::cli {
namespace {

using Align = Table::Align;

struct InfoOptions {
  ModelOptions model;
  std::string size;
  PrecisionOptions precision;
  bool json = false;
};

struct Layer {
  std::string name;
  std::string op;
  Grid grid;
  int64_t params = 0;
  MacCount macs;
  int64_t bytes = 0;  // of its output, for one image
  bool int8 = false;
};

std::vector<Layer> layers_of(const Graph& graph, const Precision& precision) {
  std::vector<Layer> layers;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    Layer layer;
    layer.name = graph.label(static_cast<int>(id));
    layer.op = op_name(node.op);
    layer.grid = node.grid;
    for (int param : node.params) {
      if (graph.params[param].trained) layer.params += graph.params[param].shape.elements();
    }
    layer.macs = count_macs(graph, node);
    layer.bytes = node.grid.elements() * static_cast<int64_t>(sizeof(float));
    layer.int8 = uses_int8(precision, graph, node);
    layers.push_back(std::move(layer));
  }
  return layers;
}

const char* interpolation_name(Interpolation interpolation) {
  return interpolation == Interpolation::kBicubic ? "bicubic" : "bilinear";
}

// What the file says besides what is shown anyway, such as how it was trained.
Metadata other_metadata(const ModelSource& source) {
  if (!source.has_weights()) return {};
  Metadata metadata = source.checkpoint->metadata();
  for (const char* key : {"vig.arch", "vig.overrides", "vig.classes", "vig.recipe", "format"}) {
    metadata.erase(key);
  }
  return metadata;
}

// The one input size there is to speak of; the position table may have been made for another.
std::string input_line(const ModelSpec& spec, const Graph& graph, const InputSize& size) {
  std::string text = fmt::format("input: {}x{}, one image", size.height, size.width);
  const bool table = std::ranges::any_of(
      graph.nodes, [](const Node& node) { return std::holds_alternative<AddPositionOp>(node.op); });
  const int made_for = spec.config->image_size;
  if (!table || (made_for == size.height && made_for == size.width)) return text;
  return text + fmt::format(", position table resized from {}x{}", made_for, made_for);
}

// As the file has it, or for the square input that was asked for. A recipe without a crop takes
// images of any size as it is.
Recipe recipe_at(const ModelSpec& spec, const InputSize& size) {
  const bool cropped = spec.recipe.framing == Framing::kCrop && size.height == size.width;
  return cropped ? spec.recipe.with_size(size.height) : spec.recipe;
}

// How the recipe fits an image to the input; empty where its crop is not square.
std::string framing_text(const Recipe& recipe, const InputSize& size) {
  if (recipe.framing == Framing::kCrop) {
    if (size.height != size.width) return "";
    return fmt::format("short side to {}, centre {}x{}, ", recipe.resize, recipe.crop, recipe.crop);
  }
  std::string text = fmt::format(
      "short side to {}, long side at most {}, {} to multiples of {}, ", recipe.resize,
      recipe.longest, recipe.framing == Framing::kPad ? "padded" : "stretched", recipe.multiple);
  if (recipe.window_stride > 0) {
    text += fmt::format("windows of {} every {}, ", recipe.crop, recipe.window_stride);
  }
  return text;
}

std::string description(const ModelSource& source, const InputSize& size) {
  const ModelSpec& spec = source.spec;
  std::string text = fmt::format("{}: {}, {}", source.name, spec.name, spec.note);
  for (const auto& [field, value] : changed_fields(spec)) {
    if (field != "image_size") text += fmt::format(", {} {}", field, value);
  }
  text += "\n";
  if (!source.has_weights()) return text;
  constexpr size_t kNamesShown = 8;
  text += fmt::format("classes: {}", model_classes(spec));
  if (!source.classes.empty()) {
    text += fmt::format(" ({})", printable_list(source.classes, kNamesShown));
  }
  const Recipe recipe = recipe_at(spec, size);
  text += "\nrecipe: " + framing_text(recipe, size);
  text += fmt::format("{}, mean {}, std {}\n", interpolation_name(recipe.interpolation),
                      fmt::join(recipe.mean, " "), fmt::join(recipe.std, " "));
  for (const auto& [key, value] : other_metadata(source)) {
    text += fmt::format("{}: {}\n", printable(key), printable(value, 1000));
  }
  return text;
}

Json description_json(const ModelSource& source, const InputSize& size) {
  const Recipe recipe = recipe_at(source.spec, size);
  Json json = {{"model", source.name},
               {"arch", source.spec.name},
               {"fields", model_fields(source.spec)},
               {"classes", source.classes}};
  json["recipe"] = {{"resize", recipe.resize},
                    {"crop", recipe.crop},
                    {"interpolation", interpolation_name(recipe.interpolation)}};
  if (recipe.framing != Framing::kCrop) {
    json["recipe"]["framing"] = recipe.framing == Framing::kPad ? "pad" : "stretch";
    json["recipe"]["longest"] = recipe.longest;
    json["recipe"]["multiple"] = recipe.multiple;
    json["recipe"]["window_stride"] = recipe.window_stride;
  }
  for (float value : recipe.mean) json["recipe"]["mean"].push_back(short_number(value));
  for (float value : recipe.std) json["recipe"]["std"].push_back(short_number(value));
  if (const Metadata other = other_metadata(source); !other.empty()) json["metadata"] = other;
  return json;
}

// How a layer with products is computed.
std::string layer_precision(const Layer& layer) {
  if (layer.macs.total() == 0) return "";
  return arithmetic_name(layer.int8 ? Arithmetic::kInt8 : Arithmetic::kFloat32);
}

// Adds a row for each layer, with its precision where that is asked for; gives their multiply-adds
// and the largest value.
Layer add_layers(const std::vector<Layer>& layers, bool precision, Table& table) {
  Layer sum;
  for (const Layer& layer : layers) {
    std::vector<std::string> row = {
        layer.name,
        layer.op,
        fmt::format("{}x{}x{}", layer.grid.height, layer.grid.width, layer.grid.channels),
        layer.params == 0 ? "" : grouped(layer.params),
        layer.macs.total() == 0 ? "" : grouped(layer.macs.total()),
        grouped(layer.bytes)};
    if (precision) row.push_back(layer_precision(layer));
    table.add(std::move(row));
    sum.macs += layer.macs;
    sum.bytes = std::max(sum.bytes, layer.bytes);
  }
  return sum;
}

void print_table(const ModelSource& source, const InputSize& size, const std::vector<Graph>& graphs,
                 const Precision& precision) {
  std::vector<Table::Column> columns = {{"layer"},
                                        {"operation"},
                                        {"output"},
                                        {"parameters", Align::kRight},
                                        {"multiply-adds", Align::kRight},
                                        {"bytes", Align::kRight}};
  const bool integers = precision.arithmetic == Arithmetic::kInt8;
  if (integers) columns.push_back({"precision"});
  Table table(columns);
  const Layer sum = add_layers(layers_of(graphs[0], precision), integers, table);
  std::string further;
  for (size_t i = 1; i < graphs.size(); ++i) {
    const Layer more = add_layers(layers_of(graphs[i], precision), integers, table);
    further += fmt::format("and for each    {}: {} multiply-adds\n", graphs[i].inputs[0].name,
                           grouped(more.macs.total()));
  }
  print(description(source, size));
  print(input_line(source.spec, graphs[0], size) + "\n\n");
  print(table.text());
  print(fmt::format(
      "\nparameters      {}\nmultiply-adds   {} dense + {} scan = {}\n{}"
      "largest value   {}\n",
      grouped(graphs[0].param_count()), grouped(sum.macs.dense), grouped(sum.macs.scan),
      grouped(sum.macs.total()), further, readable_bytes(static_cast<size_t>(sum.bytes))));
}

Json layers_json(const Graph& graph, const Precision& precision) {
  Json list = Json::array();
  for (const Layer& layer : layers_of(graph, precision)) {
    Json row = {{"name", layer.name},
                {"operation", layer.op},
                {"output", Json::array({layer.grid.height, layer.grid.width, layer.grid.channels})},
                {"parameters", layer.params},
                {"multiply_adds", layer.macs.total()},
                {"bytes", layer.bytes}};
    if (precision.arithmetic == Arithmetic::kInt8 && layer.macs.total() > 0) {
      row["precision"] = layer_precision(layer);
    }
    list.push_back(std::move(row));
  }
  return list;
}

void print_as_json(const ModelSource& source, const InputSize& size,
                   const std::vector<Graph>& graphs, const Precision& precision) {
  Json json = description_json(source, size);
  const MacCount macs = count_macs(graphs[0]);
  json["input"] = Json::array({size.height, size.width});
  json["parameters"] = graphs[0].param_count();
  json["dense_multiply_adds"] = macs.dense;
  json["scan_multiply_adds"] = macs.scan;
  json["layers"] = layers_json(graphs[0], precision);
  for (size_t i = 1; i < graphs.size(); ++i) {
    json["further_graphs"].push_back({{"input", graphs[i].inputs[0].name},
                                      {"multiply_adds", count_macs(graphs[i]).total()},
                                      {"layers", layers_json(graphs[i], precision)}});
  }
  print_json(json);
}

int info(const InfoOptions& options) {
  const ModelSource source = find_source(options.model.request());
  const GridSize own = described_size(source.spec);
  const InputSize size =
      options.size.empty() ? InputSize{own.height, own.width} : parse_size(options.size);
  const std::vector<Graph> graphs = build_graphs(source.spec, size.height, size.width);
  if (source.has_weights()) source_weights(source);  // do they fit?
  const Precision precision = options.precision.precision();
  check_float_layers(precision, graphs);
  if (options.json) {
    print_as_json(source, size, graphs, precision);
  } else {
    print_table(source, size, graphs, precision);
  }
  return 0;
}

}  // namespace

void add_info(CommandLine& line) {
  auto options = std::make_shared<InfoOptions>();
  Command& command = line.add_command(
      "info", "Print a model's layers with shapes, parameters, multiply-adds and bytes");
  command
      .option("model,-m,--model", options->model.model,
              "Model name, weight file, or a model that comes with vig: default, segment, detect")
      .required()
      .value("MODEL");
  add_model_changes(command, options->model);
  command
      .option("--size", options->size,
              "Input size in pixels, N or HEIGHTxWIDTH (default: the model's own)")
      .value("SIZE");
  add_precision(command, options->precision);
  add_json(command, options->json);
  command.run = [options] { return info(*options); };
}

}  // namespace vig::cli
