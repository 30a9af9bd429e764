// ViT-Adapter around a plain backbone (ViG, ViT, VRWKV): Vision Transformer Adapter for Dense
// Predictions.
//
// D embedding width, H x W token grid (image / 16), c the rows of three grids, 2H x 2W, H x W and
// H/2 x W/2, one behind the other.
//   c1, c2, c3, c4 = spatial_prior(image);  c = [c2 | c3 | c4] + level_embed
//   for every interaction: x = injector(x, c);  x = its blocks(x);  c = extractor(c, x)
// and further extractors at the end. Maps are norm(part of c + x on its grid); the largest is
// up(c2) + c1 + x.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vig/models/pyramid.h"

namespace vig {

struct AdapterConfig {
  int conv_inplane = 64;      // channels of the first convolutions of the spatial prior
  int deform_heads = 6;       // of deformable attention
  int deform_points = 4;      // per head and level
  float deform_ratio = 1.0f;  // width of its values / D
  float cffn_ratio = 0.25f;   // hidden width of the convolutional FFN / D
  // The first and the last block of each, which may be the same; blocks in none do not run. One
  // number alone: so many interactions of equal length.
  std::vector<int> interactions = {0, 2, 3, 5, 6, 8, 9, 11};
  int extra_extractors = 2;

  void visit(FieldVisitor& visitor);
  // Whether the tensor belongs to a block that is part of no interaction. The names of blocks are
  // `begin` and a number.
  bool is_left_out(std::string_view tensor, std::string_view begin, int depth) const;
};

// Blocks of an interaction, both included.
struct BlockRange {
  int first = 0, last = 0;
};
// Throws a usage error for blocks beyond `depth`, and for an odd number of them.
std::vector<BlockRange> interaction_blocks(const AdapterConfig& config, int depth);

// What the adapter needs of the backbone inside it.
struct PlainBackbone {
  int embed_dim = 0;
  int depth = 0;
  int patch_size = 16;
  std::function<Value()> tokens;                    // on the grid of image / 16
  std::function<Value(Value x, int number)> block;  // which begins a level of its own
};
// Throws a usage error for images whose sides are no multiples of 32.
Pyramid adapter_maps(Builder& b, Value image, const AdapterConfig& config,
                     const PlainBackbone& plain, const BackboneUse& use);

inline constexpr const char* kBackbone = "backbone.";  // every name begins with it

// A pyramid of a plain backbone. `Plain` is its config: embed_dim, depth, patch_size, visit, check,
//   Value tokens(Builder&, Value image, const BackboneUse&) const
//   Value block(Builder&, Value x, int number, const BackboneUse&) const
//   shown_by(shapes) as a PyramidBackbone has it,
//   kBlocks, how the names of the blocks begin: "backbone.blocks."
template <class Plain>
struct Adapter : Plain, AdapterConfig {
  void visit(FieldVisitor& visitor) {
    Plain::visit(visitor);
    AdapterConfig::visit(visitor);
  }
  int64_t all_blocks() const { return this->depth; }
  int third_width() const { return this->embed_dim; }
  Pyramid maps(Builder& b, Value image, const BackboneUse& use) const {
    Plain::check(use);
    PlainBackbone plain{this->embed_dim, this->depth, this->patch_size, {}, {}};
    plain.tokens = [&] { return Plain::tokens(b, image, use); };
    plain.block = [&](Value x, int number) { return Plain::block(b, x, number, use); };
    return adapter_maps(b, image, *this, plain, use);
  }
  bool leaves_out(std::string_view tensor) const {
    return is_left_out(tensor, Plain::kBlocks, this->depth);
  }
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
