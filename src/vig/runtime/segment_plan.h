// A plan for one image whose activations do not fit into memory as a whole.
//
// The calls of a program are cut into phases where the fewest bytes are alive; in a ViG, where the
// residual stream is all there is. A phase goes over the image in segments of rows, from the front.
// Only values that another phase reads are stored for the whole image; the others are windows: the
// rows that the segment needs, halos of convolutions included. A call takes the rows of a window by
// their numbers in the image, so that it does the same as without segments, to the bit.
//
// A phase has at most one scan. If the scan needs what lies behind a segment, the phase goes over
// the segments from the end first, and keeps the scan's states between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vig/runtime/program.h"

namespace vig {

// Calls that run one after the other on the same rows; or one call that needs the image.
struct SegmentRegion {
  bool image = false;
  std::vector<int> calls;
  int64_t tile_rows = kMaxTileRows;  // at most
};

struct PhaseValue {
  enum class Kind {
    kWindow,  // made and last used in the phase
    kSource,  // stored by an earlier phase, or the input; loaded into a window
    kResult,  // stored for later phases, from a window
    kDirect,  // the same, made where it is stored
  };
  int value = -1;
  Kind kind = Kind::kWindow;
  int64_t rows = 0;     // most that a segment needs
  int64_t offset = -1;  // of the window, in the arena
};

struct Phase {
  int first = 0, last = 0;       // calls [first, last)
  int scan = -1;                 // the call that goes over the segments from the end, too
  int64_t positions = 0;         // rows of the image that segments are made of
  std::vector<int64_t> borders;  // of the segments, from 0 to positions
  std::vector<SegmentRegion> regions;
  std::vector<SegmentRegion> states;  // the calls of `regions` that the sweep from the end needs
  std::vector<PhaseValue> values;
  int64_t kept = 0;  // states between segments, in the arena

  int64_t segments() const { return static_cast<int64_t>(borders.size()) - 1; }
  RowRange segment(int64_t index) const {
    const auto at = static_cast<size_t>(index);
    return {borders[at], borders[at + 1]};
  }
};

struct SegmentPlan {
  std::vector<Phase> phases;
  std::vector<Place> places;    // of values in scratch and of those with one row
  std::vector<int64_t> stored;  // offset of values stored for the whole image; -1: not stored
  bool in_file = false;         // they are in a file, not in the arena
  int64_t arena_bytes = 0;
  int64_t scratch_bytes = 0;  // per worker
  int64_t file_bytes = 0;
};

struct SegmentSizes {
  int threads = 1;
  int64_t rows = 4096;   // of a segment, about
  bool in_file = false;  // where values are stored for the whole image
};

// Throws Error if a call cannot run by segments; nothing is bound yet.
void check_segments(const Program& program);
// For calls bound by bind_segments. Throws Error as well.
SegmentPlan make_segment_plan(Program& program, const Operands& operands,
                              const SegmentSizes& sizes);

// The rows of every value that a segment of a phase needs, by value. `states`: of the sweep from
// the end.
void find_needed_rows(const Program& program, const Operands& operands, const Phase& phase,
                      int64_t segment, bool states, std::vector<RowRange>& rows);

}  // namespace vig
