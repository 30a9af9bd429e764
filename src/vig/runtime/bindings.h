// Where a running call finds its operands: values in the arena or in a worker's scratch, weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vig/base/shape.h"
#include "vig/graph/graph.h"
#include "vig/kernels/pointwise.h"
#include "vig/runtime/packed_model.h"

namespace vig {

// A value of a program: rows of channels, all elements of one type.
struct ProgramValue {
  Grid grid;
  DType type = DType::kF32;

  int64_t element_bytes() const { return static_cast<int64_t>(dtype_size(type)); }
  int64_t bytes() const { return grid.elements() * element_bytes(); }  // of one image
};

// Where a value lies. Offset and stride are in bytes.
struct Place {
  bool scratch = false;  // of the worker, rows counted from the tile's first; else in the arena
  int64_t offset = -1;   // -1 for a value that does not exist
  int64_t stride = 0;    // from row to row
  int64_t element_bytes = 4;  // of the value's type
};

// Some rows of a region's values, for one worker. Rows are counted over the whole batch.
struct Tile {
  int64_t first = 0, last = 0;
  int64_t positions = 0;  // rows per image
  std::byte* scratch = nullptr;
  int64_t first_block = 0, last_block = -1;  // blocks of columns; -1: to the end

  int64_t rows() const { return last - first; }
};

// What is known of the operands before anything runs: the same for all sessions of a plan.
class Operands {
 public:
  Operands(const std::vector<ProgramValue>& values, const PackedModel& model)
      : values_(values), model_(model) {}

  const Grid& grid(int value) const { return values_[value].grid; }
  int64_t channels(int value) const { return values_[value].grid.channels; }

  const float* weight(int param) const { return model_.weight(param); }  // as published
  template <class T = float>
  const T* packed(int param) const {
    return model_.packed<T>(param);
  }
  DType packed_type(int param) const { return model_.packed_type(param); }
  const Shape& shape(int param) const { return model_.param(param).shape; }

 private:
  const std::vector<ProgramValue>& values_;
  const PackedModel& model_;
};

// The operands of one session.
class Bindings : public Operands {
 public:
  Bindings(const std::vector<ProgramValue>& values, const std::vector<Place>& places,
           const PackedModel& model, std::byte* arena)
      : Operands(values, model), places_(places), arena_(arena) {}

  // From row to row, in elements.
  int64_t stride(int value) const { return places_[value].stride / places_[value].element_bytes; }

  // The tile's rows of a value.
  template <class T = float>
  T* tile(int value, const Tile& tile) const {
    const Place& place = places_[value];
    if (place.scratch) return reinterpret_cast<T*>(tile.scratch + place.offset);
    return row<T>(value, tile.first);
  }
  Rows rows(int value, const Tile& at) const { return {tile(value, at), stride(value)}; }
  // Row `row` of a value in the arena.
  template <class T = float>
  T* row(int value, int64_t row) const {
    const Place& place = places_[value];
    return reinterpret_cast<T*>(arena_ + (place.offset + row * place.stride));
  }
  std::byte* arena() const { return arena_; }

 private:
  const std::vector<Place>& places_;
  std::byte* arena_;
};

}  // namespace vig
