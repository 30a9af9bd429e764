// Checks sentences of the paper against the paper's own tables.
#include "vig/study/paper_arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/study/claims.h"
#include "vig/study/paper_tables.h"

namespace vig::study {
namespace {

double number(std::string_view text) { return std::stod(std::string(text)); }
double flops(std::string_view printed) { return 1e-9 * parse_printed(printed).value; }

const RoadmapRow& row(size_t i) { return roadmap_rows()[i]; }

// `digits` after the point, as the sentence prints it.
Claim says(std::string sentence, double printed, int digits, const char* unit, double follows,
           bool at_most = false) {
  const bool same =
      agrees(follows, Printed{printed, std::pow(10.0, -digits)}) || (at_most && follows < printed);
  const auto text = [&](double value) { return fmt::format("{:.{}f}{}", value, digits, unit); };
  return {std::move(sentence), text(printed), text(follows), verdict_of(same)};
}

}  // namespace

std::string arithmetic_table() {
  const auto accuracy = [](const char* a, const char* b) {
    return number(paper_row(a).accuracy) - number(paper_row(b).accuracy);
  };
  const auto params = [](const char* label) {
    return parse_printed(printed_params(paper_row(label))).value;
  };
  const auto cost = [](const char* label) { return flops(printed_flops(paper_row(label))); };
  const auto coco = [](const char* label) { return dense_row(coco_rows(), label); };
  const auto ade = [](const char* label) { return dense_row(ade20k_rows(), label); };
  const auto points = [](std::string_view a, std::string_view b) { return number(a) - number(b); };
  const RoadmapRow &gla = row(1), &locality = row(6), &vig = row(7);
  std::vector<Claim> claims = {
      says("ViG-S outperforms DeiT-S by 1.9 % top 1", 1.9, 1, " %", accuracy("ViG-S", "DeiT-S")),
      says("ViG-S: 3.7x fewer parameters than DeiT-B", 3.7, 1, "x",
           params("DeiT-B") / params("ViG-S")),
      says("ViG-S: 27 % of DeiT-B's parameters", 27, 0, " %",
           100 * params("ViG-S") / params("DeiT-B")),
      says("ViG-S: 20 % of DeiT-B's FLOPs", 20, 0, " %", 100 * cost("ViG-S") / cost("DeiT-B")),
      says("ViG-S: 2x faster than DeiT-B", 2, 0, "x", paper_speed("ViG-S", "DeiT-B")),
      says("ViG-S is only 0.1 % below DeiT-B", 0.1, 1, " %", accuracy("DeiT-B", "ViG-S")),
      says("ViG-S: 5x fewer FLOPs than DeiT-B", 5, 0, "x", cost("DeiT-B") / cost("ViG-S")),
      says("ViG-B reaches 82.6 % top 1", 82.6, 1, " %", number(paper_row("ViG-B").accuracy)),
      says("ViG-B surpasses DeiT-B by 0.8 %", 0.8, 1, " %", accuracy("ViG-B", "DeiT-B")),
      says("ViG-B surpasses VRWKV-B by 0.6 %", 0.6, 1, " %", accuracy("ViG-B", "VRWKV-B")),
      says("ViG-B surpasses S4ND-ViT-B by 2.2 %", 2.2, 1, " %", accuracy("ViG-B", "S4ND-ViT-B")),
      says("ViG-T is 1.8x faster than Vim-T", 1.8, 1, "x", paper_speed("ViG-T", "Vim-T")),
      says("ViG-S is 1.6x faster than Vim-S", 1.6, 1, "x", paper_speed("ViG-S", "Vim-S")),
      says("ViG-T is 5.2x faster than LocalVim-T", 5.2, 1, "x", paper_speed("ViG-T", "LocalVim-T")),
      says("ViG-T is 4.6x faster than PlainMamba-L1", 4.6, 1, "x",
           paper_speed("ViG-T", "PlainMamba-L1")),
      says("COCO: ViG-T 1.7 higher AP of boxes than ViT-T", 1.7, 1, "",
           points(coco("ViG-T").first, coco("ViT-T").first)),
      says("COCO: ViG-T 1.2 higher AP of masks than ViT-T", 1.2, 1, "",
           points(coco("ViG-T").second, coco("ViT-T").second)),
      says("COCO: ViG-T 1.6 higher AP of boxes than VRWKV-T", 1.6, 1, "",
           points(coco("ViG-T").first, coco("VRWKV-T").first)),
      says("COCO: ViG-T 1.1 higher AP of masks than VRWKV-T", 1.1, 1, "",
           points(coco("ViG-T").second, coco("VRWKV-T").second)),
      says("COCO: ViG-T uses half of ViT-T's FLOPs (at most 50 %)", 50, 0, " %",
           100 * flops(coco("ViG-T").flops) / flops(coco("ViT-T").flops), true),
      says("COCO: VRWKV-B 0.1 lower AP of masks than ViT-B", 0.1, 1, "",
           points(coco("ViT-B").second, coco("VRWKV-B").second)),
      says("COCO: ViG-B 0.5 higher AP of boxes than ViT-B", 0.5, 1, "",
           points(coco("ViG-B").first, coco("ViT-B").first)),
      says("COCO: ViG-B 0.4 higher AP of masks than ViT-B", 0.4, 1, "",
           points(coco("ViG-B").second, coco("ViT-B").second)),
      says("COCO: ViG-B 44 % lower FLOPs than ViT-B", 44, 0, " %",
           100 * (1 - flops(coco("ViG-B").flops) / flops(coco("ViT-B").flops))),
      says("ADE20K: ViG-T 1.2 mIoU above ViT-T", 1.2, 1, "",
           points(ade("ViG-T").first, ade("ViT-T").first)),
      says("ADE20K: ViG-T 5G FLOPs below ViT-T", 5, 0, "G",
           flops(ade("ViT-T").flops) - flops(ade("ViG-T").flops)),
      says("ADE20K: ViG-T 1.7G FLOPs below VRWKV-T", 1.7, 1, "G",
           flops(ade("VRWKV-T").flops) - flops(ade("ViG-T").flops)),
      says("ADE20K: ViG-S 14G FLOPs below ViT-S", 14, 0, "G",
           flops(ade("ViT-S").flops) - flops(ade("ViG-S").flops)),
      says("ADE20K: ViG-S 6.3G FLOPs below VRWKV-S", 6.3, 1, "G",
           flops(ade("VRWKV-S").flops) - flops(ade("ViG-S").flops)),
      says("ADE20K: ViG-T 0.5 mIoU above VRWKV-T", 0.5, 1, "",
           points(ade("ViG-T").first, ade("VRWKV-T").first)),
      says("ADE20K: ViG-S 1.7 mIoU above ViT-S", 1.7, 1, "",
           points(ade("ViG-S").first, ade("ViT-S").first)),
      says("ADE20K: ViG-S 0.7 mIoU above VRWKV-S", 0.7, 1, "",
           points(ade("ViG-S").first, ade("VRWKV-S").first)),
      says("the improved patch embedding adds 0.03 M parameters", 0.03, 2, " M",
           1e-6 * (parse_printed(row(2).params).value - parse_printed(gla.params).value)),
      says("ViG-T introduces 0.11 M parameters", 0.11, 2, " M",
           1e-6 * (parse_printed(vig.params).value - parse_printed(gla.params).value)),
      says("direction-wise gates introduce 0.02 M parameters", 0.02, 2, " M",
           1e-6 * (parse_printed(row(5).params).value - parse_printed(row(4).params).value)),
      says("GLA_Vim adds nearly 1 M parameters", 1, 0, " M",
           1e-6 * (parse_printed(bidirectional_rows()[1].params).value -
                   parse_printed(gla.params).value)),
      says("ViG-T outperforms GLA by 11.1 % top 1", 11.1, 1, " %", vig.accuracy - gla.accuracy),
      says("ViG-T outperforms DeiT by 5.0 % top 1", 5.0, 1, " %", vig.accuracy - row(0).accuracy),
      says("direction-wise gates gain 0.9 % top 1", 0.9, 1, " %",
           row(5).accuracy - row(4).accuracy),
      says("the merged kernel enhances throughput by 21.9 %", 21.9, 1, " %",
           100.0 * vig.throughput / locality.throughput - 100),
      says("the merged kernel saves 13.3 % of memory", 13.3, 1, " %",
           100 - 100.0 * vig.megabytes / locality.megabytes),
  };
  std::vector<std::vector<std::string>> rows;
  for (const Claim& claim : claims) {
    rows.push_back(
        {claim.text, claim.paper, claim.here, verdict_markdown(claim.verdict, claim.remark)});
  }
  return markdown_table({"the paper says", "in its text:", "by its tables:", "verdict"}, rows);
}

}  // namespace vig::study
