#include "vig/study/paper_tables.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/models/family.h"

namespace vig::study {
namespace {

constexpr PaperTable kPlain = PaperTable::kPlain;
constexpr PaperTable kHier = PaperTable::kHierarchical;

constexpr std::string_view kViG = "the paper leaves out the FFN's down_proj";
constexpr std::string_view kLocalVim = "its authors count the projections of four directions once";
constexpr std::string_view kVMamba = "its authors also count 5 for each element of a LayerNorm";
constexpr std::string_view kRegNet = "those parameters are not the published network's";

const ModelSpec* zoo_entry(std::string_view name) {
  const std::vector<ModelSpec>& zoo = model_zoo();
  const auto found = std::ranges::find(zoo, name, &ModelSpec::name);
  return found == zoo.end() ? nullptr : &*found;
}

// The zoo's entry with the figures of this row.
const ModelSpec* own_entry(const PaperRow& row) {
  return row.fields.empty() ? zoo_entry(row.model) : nullptr;
}

}  // namespace

const std::vector<PaperRow>& paper_rows() {
  static const std::vector<PaperRow> rows = {
      {kPlain, "ViT-B/16", "deit_b", "77.9", 0, 384, "", "86M", "55.4G", {"image_size=384"}},
      {kPlain,
       "ViT-L/16",
       "deit_b",
       "76.5",
       0,
       384,
       "",
       "307M",
       "190.7G",
       {"image_size=384", "embed_dim=1024", "heads=16", "depth=24"}},
      {kPlain, "DeiT-T", "deit_t", "72.2", 5761},
      {kPlain, "DeiT-S", "deit_s", "79.8", 2396},
      {kPlain, "DeiT-B", "deit_b", "81.8", 837},
      {kPlain, "gMLP-T", "gmlp_t", "72.3", 3872},
      {kPlain, "gMLP-S", "gmlp_s", "79.6", 1676},
      {kPlain, "gMLP-B", "gmlp_b", "81.6", 647},
      {kPlain, "S4ND-ViT-B", "s4nd_b", "80.4", 562},
      {kPlain, "Vim-T", "vim_t", "76.1", 2561},
      {kPlain, "Vim-S", "vim_s", "80.3", 1151},
      {kPlain, "LocalVim-T", "localvim_t", "76.2", 885, 224, kLocalVim},
      {kPlain, "LocalVim-S", "localvim_s", "81.2", 396, 224, kLocalVim},
      {kPlain, "PlainMamba-L1", "plainmamba_l1", "77.9", 995},
      {kPlain, "PlainMamba-L2", "plainmamba_l2", "81.6", 482},
      {kPlain, "PlainMamba-L3", "plainmamba_l3", "82.3", 279},
      {kPlain, "VRWKV-T", "vrwkv_t", "75.1", 4551},
      {kPlain, "VRWKV-S", "vrwkv_s", "80.1", 1724},
      {kPlain, "VRWKV-B", "vrwkv_b", "82.0", 635},
      {kPlain, "ViG-T", "vig_t", "77.2", 4645, 224, kViG},
      {kPlain, "ViG-S", "vig_s", "81.7", 1886, 224, kViG},
      {kPlain, "ViG-B", "vig_b", "82.6", 701, 224, kViG},
      {kHier, "RegNetY-4G", "regnety_4g", "80.0", 0, 224, kRegNet, "12M"},
      {kHier, "RegNetY-8G", "regnety_8g", "81.7", 0, 224, kRegNet, "25M"},
      {kHier, "RegNetY-16G", "regnety_16g", "82.9", 0, 224, kRegNet, "45M"},
      {kHier, "EffNet-B3", "efficientnet_b3", "81.6", 0, 300},
      {kHier, "EffNet-B4", "efficientnet_b4", "82.9", 0, 380},
      {kHier, "EffNet-B5", "efficientnet_b5", "83.6", 0, 456},
      {kHier, "EffNet-B6", "efficientnet_b6", "84.0", 0, 528},
      {kHier, "EffNet-B7", "efficientnet_b7", "84.3", 0, 528,
       "printed for 528 pixels; the figures are those of 600"},
      {kHier, "ConvNeXt-T", "convnext_t", "82.1", 1505},
      {kHier, "ConvNeXt-S", "convnext_s", "83.1", 905},
      {kHier, "ConvNeXt-B", "convnext_b", "83.8", 643},
      {kHier, "Swin-T", "swin_t", "81.3", 1511, 224, "other papers print 4.5G"},
      {kHier, "Swin-S", "swin_s", "83.0", 915},
      {kHier, "Swin-B", "swin_b", "83.5", 661},
      {kHier, "S4ND-ConvNeXt-T", "s4nd_convnext_t", "82.2", 643},
      {kHier, "VMamba-T", "vmamba_t", "82.5", 1161, 224, kVMamba},
      {kHier, "VMamba-S", "vmamba_s", "83.6", 779, 224, kVMamba},
      {kHier, "VMamba-B", "vmamba_b", "83.9", 557, 224, kVMamba},
      {kHier, "EfficientVMamba-B", "efficientvmamba_b", "81.8", 1258},
      {kHier, "LocalVMamba-T", "localvmamba_t", "82.7", 330},
      {kHier, "LocalVMamba-S", "localvmamba_s", "83.7", 193},
      {kHier, "ViG-H-T", "vig_h_t", "82.8", 1480},
      {kHier, "ViG-H-S", "vig_h_s", "83.8", 890},
      {kHier, "ViG-H-B", "vig_h_b", "84.2", 621},
  };
  return rows;
}

const PaperRow& paper_row(std::string_view label) {
  const auto found = std::ranges::find(paper_rows(), label, &PaperRow::label);
  if (found == paper_rows().end()) fail("[study] the paper has no row '{}'", label);
  return *found;
}

double paper_speed(std::string_view label, std::string_view other) {
  return static_cast<double>(paper_row(label).throughput) / paper_row(other).throughput;
}

std::string printed_params(const PaperRow& row) {
  const ModelSpec* spec = own_entry(row);
  return spec != nullptr && row.params.empty() ? spec->paper_params : std::string(row.params);
}

std::string printed_flops(const PaperRow& row) {
  const ModelSpec* spec = own_entry(row);
  return spec != nullptr && row.flops.empty() ? spec->paper_flops : std::string(row.flops);
}

const std::vector<RoadmapRow>& roadmap_rows() {
  static const std::vector<RoadmapRow> rows = [] {
    std::vector<RoadmapRow> all = {
        {"DeiT", "deit_t", "5.72M", 0, 627, 0},
        {"GLA", "gla_t", "", 6662, 582, 66.1},
        {"+ improved patch embedding layer", "gla_t_stem", "", 6634, 582, 73.8},
        {"+ direct bidirectional modeling", "gla_t_bidirectional", "", 4564, 748, 75.2},
        {"+ absolute position embedding", "gla_t_position", "", 4571, 748, 75.4},
        {"+ direction-wise gate", "gla_t_gated", "", 4566, 785, 76.3},
        {"+ 2D gating locality injection", "gla_t_locality", "", 3812, 842, 77.2},
        {"+ hardware-aware bidirectional implementation", "vig_t", "5.83M", 0, 730, 0},
    };
    // The first and the last row stand in the table of ImageNet results, too.
    for (RoadmapRow& row : all) {
      if (row.params.empty()) row.params = zoo_entry(row.model)->paper_params;
      if (row.throughput > 0) continue;
      const auto same = std::ranges::find_if(paper_rows(), [&](const PaperRow& paper) {
        return paper.model == row.model && paper.fields.empty();
      });
      row.throughput = same->throughput;
      row.accuracy = std::stod(std::string(same->accuracy));
    }
    return all;
  }();
  return rows;
}

const std::vector<RoadmapRow>& bidirectional_rows() {
  static const std::vector<RoadmapRow> rows = [] {
    RoadmapRow first = roadmap_rows()[1], last = roadmap_rows().back();
    last.label = "ViG";
    const RoadmapRow vim = {"GLA_Vim", "gla_t_vim", zoo_entry("gla_t_vim")->paper_params,
                            4524,      812,         73.5};
    return std::vector<RoadmapRow>{first, vim, last};
  }();
  return rows;
}

const DenseRow& dense_row(const std::vector<DenseRow>& rows, std::string_view label) {
  const auto found = std::ranges::find(rows, label, &DenseRow::label);
  if (found == rows.end()) fail("[study] the paper has no row '{}'", label);
  return *found;
}

const std::vector<ArchitectureRow>& architecture_rows() {
  static const std::vector<ArchitectureRow> rows = {
      {"ViG-T", "12", "192", "3"},
      {"ViG-S", "12", "384", "6"},
      {"ViG-B", "12", "768", "12"},
      {"ViG-H-T", "2,2,5,2", "96,192,384,768", "3,6,12,24"},
      {"ViG-H-S", "2,2,17,2", "96,192,384,768", "3,6,12,24"},
      {"ViG-H-B", "2,2,17,2", "128,256,512,1024", "4,8,16,32"},
  };
  return rows;
}

const std::vector<DenseRow>& coco_rows() {
  static const std::vector<DenseRow> rows = {
      {"ViT-T, windows", "8M", "95.4G", "41.1", "37.5", "vit_t_window"},
      {"ViT-T", "8M", "147.1G", "41.6", "37.9", "vit_t"},
      {"VRWKV-T", "8M", "67.9G", "41.7", "38.0", "vrwkv_t"},
      {"ViG-T", "8M", "61.2G", "43.3", "39.1", "vig_t"},
      {"ViT-S, windows", "28M", "241.2G", "44.6", "39.7", "vit_s_window"},
      {"ViT-S", "28M", "344.5G", "44.9", "40.1", "vit_s"},
      {"VRWKV-S", "29M", "189.9G", "44.8", "40.2", "vrwkv_s"},
      {"ViG-S", "28M", "164.1G", "45.5", "40.8", "vig_s"},
      {"ViT-B, windows", "100M", "686.7G", "46.2", "41.5", "vit_b_window"},
      {"ViT-B", "100M", "893.3G", "46.8", "41.8", "vit_b"},
      {"VRWKV-B", "107M", "599.0G", "46.8", "41.7", "vrwkv_b"},
      {"ViG-B", "103M", "498.5G", "47.3", "42.2", "vig_b"},
  };
  return rows;
}

const std::vector<DenseRow>& ade20k_rows() {
  static const std::vector<DenseRow> rows = {
      {"Vim-T", "", "", "41.0", "", "vim_t"},
      {"ViT-T", "8M", "20.9G", "42.6", "", "vit_t"},
      {"VRWKV-T", "8M", "16.6G", "43.3", "", "vrwkv_t"},
      {"ViG-T", "8M", "14.9G", "43.8", "", "vig_t"},
      {"Vim-S", "", "", "44.9", "", "vim_s"},
      {"ViT-S", "28M", "54.0G", "46.2", "", "vit_s"},
      {"VRWKV-S", "29M", "46.3G", "47.2", "", "vrwkv_s"},
      {"ViG-S", "28M", "40.0G", "47.9", "", "vig_s"},
      {"ViT-B", "100M", "157.9G", "48.8", "", "vit_b"},
      {"VRWKV-B", "107M", "146.0G", "49.2", "", "vrwkv_b"},
      {"ViG-B", "103M", "121.5G", "49.4", "", "vig_b"},
  };
  return rows;
}

}  // namespace vig::study
