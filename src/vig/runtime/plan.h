// Where everything lies and what runs when, for one graph, batch size and number of threads. Made
// once, immutable from then on, and shared by the sessions that run it: what changes from session
// to session is memory, not the plan.
//
// Calls are grouped into regions. A tile region is a chain of row-wise calls over the same
// positions: a worker takes a tile of rows and runs the whole chain on it, so what is made and last
// used inside stays in that worker's cache. A call that reads other rows begins a new region. Where
// there are too few rows to share out, every product is a region of its own, split over its
// columns: each worker then reads its part of the weights only.
#pragma once

#include <cstdint>
#include <vector>

#include "vig/runtime/program.h"

namespace vig {

struct Region {
  bool image = false;       // one pass of an ImageCall
  int first = 0, last = 0;  // calls [first, last)
  int64_t positions = 0;    // rows per image
  // A sweeping call that rides along with the tiles: its first pass takes each tile after the
  // calls, its second pass before them, while the rows are in the cache. -1: none.
  int rider = -1;
  int pass = 0;                      // of the rider, or of the call that is the region
  int64_t tile_rows = kMaxTileRows;  // at most
};

struct Plan {
  Program program;
  std::vector<Region> regions;
  std::vector<Place> places;  // of every value
  int64_t arena_bytes = 0;
  int64_t scratch_bytes = 0;  // per worker

  const KernelCall& call(int index) const { return *program.calls[index]; }
  const ImageCall& image_call(int index) const {
    return static_cast<const ImageCall&>(call(index));
  }
  size_t bound_bytes() const;  // held by the calls
};

// Whether so few rows are better split over the columns of each product.
bool few_rows(int64_t rows, int threads);

Plan make_plan(Program program, int batch, int threads = 1);
// Lets every call make what depends on weights and sizes. `model` outlives the plan.
void bind_plan(Plan& plan, const PackedModel& model);

// From row to row of a value in scratch. Rows a multiple of 2 KB apart would fall into the same few
// sets of the cache.
int64_t scratch_stride(const ProgramValue& value);
// Most rows of a tile whose rows take so much scratch.
int64_t tile_rows_for(int64_t row_bytes);

// Places blocks that live over [first, last] (both included) so that no two alive at once overlap.
struct Lifetime {
  int first = 0, last = 0;
  int64_t bytes = 0;
  int64_t offset = 0;  // result, a multiple of 64
};
int64_t place_lifetimes(std::vector<Lifetime>& blocks);  // returns the total

}  // namespace vig
