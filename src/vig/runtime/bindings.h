// Where a running step finds its operands: values in the arena or in a worker's scratch, weights.
#pragma once

#include <cstdint>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/kernels/pointwise.h"
#include "vig/runtime/session.h"

namespace vig {

struct Place {
  bool scratch = false;  // of the worker, rows counted from the tile's first; else in the arena
  int64_t offset = -1;   // in floats; -1 for a value that does not exist
  int64_t stride = 0;    // from row to row, in floats
};

// Some rows of a region's values, for one worker. Rows are counted over the whole batch.
struct Tile {
  int64_t first = 0, last = 0;
  int64_t positions = 0;  // rows per picture
  float* scratch = nullptr;
  int64_t first_block = 0, last_block = -1;  // blocks of columns; -1: to the end

  int64_t rows() const { return last - first; }
};

class Bindings {
 public:
  Bindings(const std::vector<Grid>& values, const std::vector<Place>& places,
           const PackedModel& model, float* arena)
      : values_(values), places_(places), model_(model), arena_(arena) {}

  const Grid& grid(int value) const { return values_[value]; }
  int64_t channels(int value) const { return values_[value].channels; }
  int64_t stride(int value) const { return places_[value].stride; }

  // The tile's rows of a value.
  float* tile(int value, const Tile& tile) const {
    const Place& place = places_[value];
    if (place.scratch) return tile.scratch + place.offset;
    return arena_ + place.offset + tile.first * place.stride;
  }
  Rows rows(int value, const Tile& at) const { return {tile(value, at), stride(value)}; }
  // Row `row` of a value in the arena.
  float* row(int value, int64_t row) const {
    return arena_ + places_[value].offset + row * places_[value].stride;
  }
  float* arena() const { return arena_; }

  const float* weight(int param) const { return model_.weight(param); }  // as published
  const float* packed(int param) const { return model_.packed(param); }
  const Shape& shape(int param) const { return model_.param(param).shape; }

 private:
  const std::vector<Grid>& values_;
  const std::vector<Place>& places_;
  const PackedModel& model_;
  float* arena_;
};

}  // namespace vig
