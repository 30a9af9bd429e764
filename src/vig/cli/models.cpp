#include <fmt/format.h>

#include "vig/cli/commands.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/models/family.h"

namespace vig::cli {
namespace {

using Align = Table::Align;

std::string size_text(const GridSize& size) {
  return size.height == size.width ? fmt::format("{}", size.height)
                                   : fmt::format("{}x{}", size.height, size.width);
}

int models(bool json) {
  Table table({{"model"},
               {"size", Align::kRight},
               {"parameters", Align::kRight},
               {"dense", Align::kRight},
               {"scan", Align::kRight},
               {"paper", Align::kRight},
               {"paper", Align::kRight},
               {"what it is"}});
  table.add({"", "", "", "multiply-adds", "multiply-adds", "params", "FLOPs", ""});
  Json list = Json::array();
  std::string_view family;
  for (const ModelSpec& spec : model_zoo()) {
    if (spec.family != family) table.add({std::string(spec.family), "", "", "", "", "", "", ""});
    family = spec.family;
    const GridSize size = described_size(spec);
    const Graph graph = build_graph(spec, size.height, size.width);
    const MacCount macs = count_macs(graph);
    table.add({"  " + spec.name, size_text(size), grouped(graph.param_count()),
               readable_count(static_cast<double>(macs.dense)),
               macs.scan == 0 ? "" : readable_count(static_cast<double>(macs.scan)),
               spec.paper_params, spec.paper_flops, spec.note});
    Json entry = {{"name", spec.name},
                  {"family", spec.family},
                  {"parameters", graph.param_count()},
                  {"size", size.height},
                  {"input", Json::array({size.height, size.width})},
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
  print(
      "\nMultiply-adds of one image of the model's own size. The paper's FLOPs are "
      "multiply-adds, too,\n"
      "but those of the plain ViG models leave out the FFN's second matrix (down_proj). Detectors "
      "without\n"
      "the heads that run for every box and mask.\n");
  return 0;
}

}  // namespace

void add_models(CommandLine& line) {
  auto json = std::make_shared<bool>(false);
  Command& command = line.add_command(
      "models", "List the built-in models with their parameters and multiply-adds");
  add_json(command, *json);
  command.run = [json] { return models(*json); };
}

}  // namespace vig::cli
