// The stages of ViG-H: what its classifier and its backbone of dense prediction share.
#pragma once

#include <string>
#include <vector>

#include "vig/graph/builder.h"
#include "vig/models/config.h"
#include "vig/models/vig_scan.h"

namespace vig {

struct VigHBackboneConfig {
  int patch_size = 4;  // the stem halves the image twice: 4 is the only value
  std::vector<int> dims = {96, 192, 384, 768};
  std::vector<int> depths = {2, 2, 5, 2};
  std::vector<int> heads = {3, 6, 12, 24};
  float expand_k = 0.5f;  // key width / channels
  float expand_v = 1.0f;  // value width / channels
  VigScan scan = VigScan::kMerged;

  void visit(FieldVisitor& visitor);
  int64_t all_blocks() const;
  // Throws a usage error where the lists are of different length.
  void check() const;
  // The config of a published model.
  static VigHBackboneConfig of(int width, int third_depth);
  static VigHBackboneConfig miniature();
};

inline constexpr float kVigHNormEps = 1e-5f;
inline constexpr Init kVigHLinearInit = truncated_normal_init(0.02f);

// What the blocks of each stage put out, before its downsampling. Every name begins with `prefix`;
// each block begins a level, and the last one has the drop rate `drop_path`.
std::vector<Value> vig_h_stages(Builder& b, Value image, const VigHBackboneConfig& config,
                                float drop_path, const std::string& prefix = "");

}  // namespace vig
