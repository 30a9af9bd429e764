// Where everything lies and what runs when, for one graph and one batch size. Immutable.
//
// Steps are grouped into regions. A tile region is a chain of row-wise steps over the same
// positions: a worker takes a tile of rows and runs the whole chain on it, so what is born and dies
// inside stays in that worker's cache. A step that looks at other rows begins a new region. Where
// there are too few rows to share out, every product is a region of its own, split over its
// columns: each worker then reads its part of the weights only.
#pragma once

#include <cstdint>
#include <vector>

#include "vig/runtime/program.h"

namespace vig {

// Most rows of a tile: enough to use each weight panel often, few enough for the second-level
// cache.
inline constexpr int64_t kMaxTileRows = 112;

struct Place {
  bool scratch = false;  // of the worker, rows counted from the tile's first; else in the arena
  int64_t offset = 0;    // in floats
  int64_t stride = 0;    // from row to row, in floats
};

struct Region {
  bool global = false;      // one step with its own way of splitting
  int first = 0, last = 0;  // steps [first, last)
  int64_t positions = 0;    // rows per picture
  // A scan that goes along with the tiles: its first pass takes each tile after the steps, its
  // second pass before them, while the rows are in the cache. -1: none.
  int scan = -1;
  int pass = 0;  // of that scan, or of the region that is one
};

// A scan in both directions goes over the tokens in two halves and two passes: first the front half
// forward and the back half backward, then, from the states the first pass left, the front half
// backward and the back half forward. So two workers can share a picture, each with the rows it has
// made itself, and the passes join the regions before and after. Where there are more workers than
// halves, the passes are regions of their own that share out the heads, and if that is not enough,
// blocks of their value columns. A pass goes tile by tile in either case, so bits are the same.
struct ScanPlan {
  int64_t split = 0;         // tokens of the front half
  int64_t blocks = 1;        // of a head
  int64_t state_floats = 0;  // of one block and direction
  int64_t offset = 0;        // of the states in the arena: [batch, heads, blocks, direction]
};

struct Plan {
  Program program;
  std::vector<Region> regions;
  std::vector<Place> places;    // of every value; offset -1 for values that no longer exist
  std::vector<ScanPlan> scans;  // by step
  int64_t arena_floats = 0;
  int64_t scratch_floats = 0;  // per worker
};

// Where the tiles of rows [first, last) begin: even, and of whole strips of the matrix product and
// chunks of the scan.
struct ScanTiles {
  int64_t first = 0, last = 0;
  int64_t count() const;
  int64_t start(int64_t tile) const;  // start(count()) is last
};

// Whether so few rows are better split over the columns of each product.
bool few_rows(int64_t rows, int threads);

Plan make_plan(Program program, int batch, int threads = 1);

// Places blocks that live over [first, last] (both included) so that no two alive at once overlap.
struct Lifetime {
  int first = 0, last = 0;
  int64_t floats = 0;
  int64_t offset = 0;  // result, a multiple of 16
};
int64_t place_lifetimes(std::vector<Lifetime>& blocks);  // returns the total

}  // namespace vig
