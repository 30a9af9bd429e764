// The figures that the paper prints, each once. Parameters and FLOPs of models of the zoo stand in
// their ModelSpec.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vig::study {

enum class PaperTable { kPlain, kHierarchical };

// A row of the tables of ImageNet results. Empty texts and zeros: not printed.
struct PaperRow {
  PaperTable table;
  std::string_view label;  // as printed
  std::string_view model;  // name in the zoo
  std::string_view accuracy;
  int throughput = 0;  // images/s on an RTX 4090, batch 256
  int size = 224;      // as printed
  std::string_view remark =
      "";  // on its figures: where they come from, where they differ from ours
  // Where the zoo prints none or has the network only with other fields.
  std::string_view params = "", flops = "";
  std::vector<std::string> fields = {};  // "depth=24", as --set takes them
};
const std::vector<PaperRow>& paper_rows();
// By its label; throws where there is none.
const PaperRow& paper_row(std::string_view label);
// How many times as many images/s the paper measured for one of its rows as for another.
double paper_speed(std::string_view label, std::string_view other);
std::string printed_params(const PaperRow& row);  // "6M"; empty: not printed
std::string printed_flops(const PaperRow& row);

// A row of the roadmap table or of the table of bidirectional designs: one RTX 4090, batch 256.
struct RoadmapRow {
  std::string_view label;
  std::string_view model;   // in the zoo
  std::string_view params;  // as printed
  int throughput = 0;       // images/s
  int megabytes = 0;
  double accuracy = 0;  // top 1 on ImageNet, per cent
};
const std::vector<RoadmapRow>& roadmap_rows();        // DeiT, then the seven stages
const std::vector<RoadmapRow>& bidirectional_rows();  // GLA, GLA_Vim, ViG

// A row of the table of configurations; lists of stages as the zoo writes them.
struct ArchitectureRow {
  std::string_view label;  // of its row among the ImageNet results
  std::string_view blocks, channels, heads;
};
const std::vector<ArchitectureRow>& architecture_rows();

// A row of the tables of dense prediction, with ViT-Adapter around the backbone.
struct DenseRow {
  std::string_view label, params, flops;
  std::string_view first, second;  // AP of boxes and masks, or mIoU and nothing
  std::string_view backbone;       // a dense model's name in the zoo, without its head
};
const std::vector<DenseRow>& coco_rows();
const std::vector<DenseRow>& ade20k_rows();
// By its label; throws where there is none.
const DenseRow& dense_row(const std::vector<DenseRow>& rows, std::string_view label);

}  // namespace vig::study
