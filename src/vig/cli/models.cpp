#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "vig/cli/commands.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/models/registry.h"

namespace vig::cli {
namespace {

using nlohmann::ordered_json;
using Align = Table::Align;

constexpr int kSize = 224;  // at which the paper counts

int models(bool json) {
  Table table({{"model"},
               {"parameters", Align::kRight},
               {"dense", Align::kRight},
               {"scan", Align::kRight},
               {"paper", Align::kRight},
               {"paper", Align::kRight},
               {"what it is"}});
  table.add({"", "", "multiply-adds", "multiply-adds", "params", "FLOPs", ""});
  ordered_json list = ordered_json::array();
  for (const ModelSpec& spec : model_zoo()) {
    const int size = spec.config->fixed_size() ? spec.recipe.crop : kSize;
    const Graph graph = build_graph(spec, size, size);
    const MacCount macs = count_macs(graph);
    table.add({spec.name, grouped(graph.param_count()),
               readable_count(static_cast<double>(macs.dense)),
               readable_count(static_cast<double>(macs.scan)), spec.paper_params, spec.paper_flops,
               spec.note});
    ordered_json entry = {{"name", spec.name},
                          {"family", spec.family},
                          {"parameters", graph.param_count()},
                          {"size", size},
                          {"dense_multiply_adds", macs.dense},
                          {"scan_multiply_adds", macs.scan},
                          {"paper_parameters", nullptr},
                          {"paper_flops", nullptr},
                          {"note", spec.note}};
    if (!spec.paper_params.empty()) entry["paper_parameters"] = spec.paper_params;
    if (!spec.paper_flops.empty()) entry["paper_flops"] = spec.paper_flops;
    list.push_back(std::move(entry));
  }
  if (json) {
    print_json(list);
    return 0;
  }
  print(table.text());
  print(fmt::format(
      "\nMultiply-adds of one picture at {0} x {0}. The paper's FLOPs are multiply-adds, too, but\n"
      "those of the plain models leave out the FFN's second matrix (down_proj).\n",
      kSize));
  return 0;
}

}  // namespace

void add_models(CLI::App& app, Command& chosen) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "models", "List the built-in models with their parameters and multiply-adds");
  add_json(*command, *json);
  command->callback([&chosen, json] { chosen = [json] { return models(*json); }; });
}

}  // namespace vig::cli
