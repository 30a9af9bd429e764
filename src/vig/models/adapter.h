// ViT-Adapter around a plain ViG: Vision Transformer Adapter for Dense Predictions.
//
// D embedding width, H x W token grid (image / 16), c the rows of three grids, 2H x 2W, H x W and
// H/2 x W/2, one behind the other.
//   c1, c2, c3, c4 = spatial_prior(image);  c = [c2 | c3 | c4] + level_embed
//   for every interaction: x = injector(x, c);  x = its blocks of ViG;  c = extractor(c, x)
// and further extractors at the end. Maps are norm(part of c + x on its grid); the largest is
// up(c2) + c1 + x.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vig/models/pyramid.h"
#include "vig/models/vig_blocks.h"

namespace vig {

struct AdapterConfig {
  int conv_inplane = 64;      // channels of the first convolutions of the spatial prior
  int deform_heads = 6;       // of deformable attention
  int deform_points = 4;      // per head and level
  float deform_ratio = 1.0f;  // width of its values / D
  float cffn_ratio = 0.25f;   // hidden width of the convolutional FFN / D
  int interactions = 4;       // each with as many blocks
  int extra_extractors = 2;

  void visit(FieldVisitor& visitor);
};

struct VigAdapter : VigBackboneConfig, AdapterConfig {
  void visit(FieldVisitor& visitor) {
    VigBackboneConfig::visit(visitor);
    AdapterConfig::visit(visitor);
  }
  int64_t all_blocks() const { return depth; }
  int third_width() const { return embed_dim; }
  // Throws a usage error for images whose sides are no multiples of 32.
  Pyramid maps(Builder& b, Value image, const BackboneUse& use) const;
  std::map<std::string, std::string> shown_by(const TensorShapes& shapes) const;
};

// The pieces. `grids` are those of c, the first is the largest.
using GridSizes = std::vector<GridSize>;
// x + gamma * attn(query_norm(x), feat_norm(c)), where gamma begins at 0.
Value injector(Builder& b, Value x, Value c, const std::string& name, const AdapterConfig& config,
               const GridSizes& grids);
// c + attn(query_norm(c), feat_norm(x)), and to that + ffn(ffn_norm(c)), which training drops with
// this probability.
Value extractor(Builder& b, Value c, Value x, const std::string& name, const AdapterConfig& config,
                const GridSizes& grids, double drop_rate);

}  // namespace vig
