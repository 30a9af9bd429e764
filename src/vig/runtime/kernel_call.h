// A call is what a kernel does in one call: the unit that programs, plans and the executor handle
// without knowing what it computes. Each call has a file in runtime/calls.
//
// Values are numbered. A value is rows of channels; a row is one position of one image.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/runtime/bindings.h"
#include "vig/weights/load.h"

namespace vig {

// Which rows of its operands a row of a call's result needs.
enum class Reach {
  kRow,         // the same row alone
  kNeighbours,  // others of the image, so the operands must be complete
  kImage,       // all of the image: such a call divides its work itself, see ImageCall
};

// Weights in the layout of a kernel.
struct Packing {
  int param = -1;      // index of the parameter that is packed
  std::string layout;  // programs of one model must agree on it
  size_t bytes = 0;
  size_t half_bytes = 0;  // of weights that a file stores in 16 bits; 0: the same
};

// Rows [first, last) of a value of one image.
struct RowRange {
  int64_t first = 0, last = 0;

  int64_t rows() const { return last - first; }
  bool empty() const { return first >= last; }
  bool operator==(const RowRange&) const = default;
};

class KernelCall {
 public:
  explicit KernelCall(int result) : result_(result) {}
  virtual ~KernelCall() = default;

  int result() const { return result_; }  // the value it makes
  virtual std::vector<int> operands() const = 0;
  virtual Reach reach() const { return Reach::kRow; }
  virtual const char* kind() const = 0;  // for the profile
  MacCount macs;                         // per image

  // What it packs, and doing that: `to` has room for packing().bytes, or its
  // half_bytes, and is aligned to 64 of them.
  virtual std::optional<Packing> packing(const std::vector<ParamSpec>&) const { return {}; }
  virtual void pack(const std::vector<ParamSpec>&, const Weights&, void* /*to*/) const {}

  // Called once by the plan, to make what depends on weights and sizes. Const from then on.
  virtual void bind(const Operands&) {}
  virtual size_t bound_bytes() const { return 0; }  // held by it
  // The same for a plan by segments (segment_plan.h), which makes nothing as long as the image.
  virtual void bind_segments(const Operands& operands) { bind(operands); }
  // The rows of an operand that rows of the result need; nothing where that may be any of them.
  virtual std::optional<RowRange> needed_rows(const Operands&, int /*operand*/,
                                              const RowRange& rows) const {
    return reach() == Reach::kRow ? std::optional(rows) : std::nullopt;
  }

  // Computes the tile's rows of the result. Not called where reach() is kImage.
  virtual void run(const Bindings&, const Tile&) const {}
  // Whether blocks of its columns can be computed independently, and how many there are. A tile may
  // then ask for some of them.
  virtual bool has_columns() const { return false; }
  virtual int64_t column_blocks() const { return 1; }

 private:
  int result_;
};

// How a call's work is to be shared out.
struct Workload {
  int64_t positions = 0;  // rows per image
  int batch = 1;
  int threads = 1;
  bool rides = false;     // see ImageCall::sweeps
  bool segments = false;  // see ImageCall::has_segments
};

inline constexpr int64_t kFloatBytes = sizeof(float);

// Consecutive rows of an image in one direction.
struct SweepPart {
  int64_t image = 0;
  int64_t first = 0, last = 0;  // rows of the image
  bool backward = false;
  int pass = 0;
  bool resume = false;  // from the state of the rows before
};

// Rows of an image that a call takes at a time, where it goes over them by segments.
struct SegmentPart {
  RowRange rows;
  // Of the sweep from the end, which keeps the states between segments and gives no result.
  bool states = false;
  // Of that sweep: room for the state in front of these rows; else the one kept behind them. Null
  // at the end of the image.
  std::byte* kept = nullptr;
};

// A call that needs all of an image. It divides its work into tasks, and may go over the rows more
// than once: each pass is finished before the next begins.
class ImageCall : public KernelCall {
 public:
  using KernelCall::KernelCall;
  Reach reach() const final { return Reach::kImage; }

  virtual int passes() const { return 1; }
  // Whether it goes over the rows in order, in two passes over two halves of the image: first the
  // front half forward and the back half backward, then, from the states the first pass left, the
  // front half backward and the back half forward. Two workers can then share an image, each with
  // the rows it has made itself, and the passes can ride along with the calls before and after
  // them, tile by tile, while the rows are in the cache.
  virtual bool sweeps() const { return false; }

  // Called by the plan, before anything below.
  virtual void share_out(const Workload&) {}
  virtual int64_t state_bytes(int /*batch*/) const { return 0; }  // kept from pass to pass
  virtual int64_t task_bytes() const { return 0; }                // scratch of a running task
  void place_state(int64_t offset) { state_ = offset; }           // in the arena, in bytes
  int64_t state_offset() const { return state_; }

  virtual int64_t tasks(const Bindings&, int images) const = 0;
  // `scratch` is the worker's, with room for task_bytes() and aligned to 64 bytes.
  virtual void run_task(const Bindings&, int images, int64_t task, int pass,
                        std::byte* scratch) const = 0;
  // A tile of a sweep, all channels.
  virtual void run_part(const Bindings&, const SweepPart&) const {}

  // Whether it can go over an image by segments, each with the rows of its operands alone and in
  // order, and give the same bits. One that needs the rows behind a segment, too, goes over the
  // segments from the last to the first before, and keeps states between them.
  virtual bool has_segments() const { return false; }
  virtual bool keeps_states() const { return false; }
  virtual int64_t kept_bytes() const { return 0; }  // between two segments
  // The first row from `row` on at which a segment may end.
  virtual int64_t segment_end(int64_t /*positions*/, int64_t row) const { return row; }
  virtual int64_t segment_tasks(const Operands&) const { return 1; }
  virtual void run_segment(const Bindings&, const SegmentPart&, int64_t /*task*/) const {}

 private:
  int64_t state_ = 0;
};

// The tiles in which a sweep goes over rows [first, last): even, and of whole strips of the matrix
// product and chunks of the scan. They depend on the rows alone, because bits depend on them.
struct SweepTiles {
  int64_t first = 0, last = 0;
  int64_t count() const;
  int64_t start(int64_t tile) const;     // start(count()) is last
  int64_t tile_from(int64_t row) const;  // the first one that starts at `row` or behind it

  // Of one half of an image.
  static SweepTiles of_half(int64_t positions, bool back);
};

// Most rows of a tile: enough to use each weight panel often, few enough for the second-level
// cache.
inline constexpr int64_t kMaxTileRows = 112;

// Most bytes of a tile's rows in a worker's scratch, so that they stay in that cache.
inline constexpr int64_t kTileBytes = int64_t{2} << 20;

}  // namespace vig
