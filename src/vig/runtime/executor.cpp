#include "vig/runtime/executor.h"

#include <algorithm>
#include <chrono>

#include "vig/kernels/gemm.h"

namespace vig {
namespace {

constexpr int64_t kColumnTasks = 4;  // of a call split over columns, per worker

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Tiles are whole strips of the matrix product, as even as strips allow.
int64_t strips_of(int64_t rows) {
  const int64_t strip = gemm_strip_rows();
  return (rows + strip - 1) / strip;
}

int64_t tile_start(int64_t rows, int64_t tile, int64_t tiles) {
  return std::min(rows, strips_of(rows) * tile / tiles * gemm_strip_rows());
}

}  // namespace

// Books the time since the last reading to a call.
class Executor::Clock {
 public:
  explicit Clock(double* times) : times_(times), before_(times == nullptr ? 0.0 : seconds_now()) {}
  void book(int call) {
    if (times_ == nullptr) return;
    const double now = seconds_now();
    times_[call] += now - before_;
    before_ = now;
  }

 private:
  double* times_;
  double before_;
};

// ---- splitting: every element is computed the same way however this turns out ----

int64_t Executor::tile_count(const Region& region, int64_t rows) const {
  const int64_t strips = strips_of(rows);
  const int64_t most = region.tile_rows / gemm_strip_rows();  // strips of a tile
  const int64_t tiles = (strips + most - 1) / most;
  // The same number of tiles for every worker.
  const int64_t even = (tiles + threads_ - 1) / threads_ * threads_;
  return std::min(even, strips);
}

bool Executor::splits_columns(const Region& region, int64_t rows) const {
  return region.last - region.first == 1 && few_rows(rows, threads_) &&
         plan_.call(region.first).has_columns();
}

int64_t Executor::column_tasks(const Region& region) const {
  return std::min<int64_t>(plan_.call(region.first).column_blocks(), kColumnTasks * threads_);
}

int64_t Executor::tasks(const Region& region, int images) const {
  if (region.rider >= 0) return 2 * static_cast<int64_t>(images);
  if (region.image) return plan_.image_call(region.first).tasks(bindings_, images);
  const int64_t rows = images * region.positions;
  return splits_columns(region, rows) ? column_tasks(region) : tile_count(region, rows);
}

void Executor::run(const Region& region, int images, int64_t task, std::byte* scratch,
                   double* times) const {
  Clock clock(times);
  if (region.image) {
    plan_.image_call(region.first).run_task(bindings_, images, task, region.pass, scratch);
    return clock.book(region.first);
  }
  const int64_t rows = images * region.positions;
  Tile tile;
  tile.positions = region.positions;
  tile.scratch = scratch;
  if (region.rider >= 0) return run_half(region, task, tile, clock);
  if (splits_columns(region, rows)) {
    const int64_t blocks = plan_.call(region.first).column_blocks();
    const int64_t tasks = column_tasks(region);
    tile.last = rows;
    tile.first_block = blocks * task / tasks;
    tile.last_block = blocks * (task + 1) / tasks;
  } else {
    const int64_t tiles = tile_count(region, rows);
    tile.first = tile_start(rows, task, tiles);
    tile.last = tile_start(rows, task + 1, tiles);
  }
  run_calls(region, tile, clock);
}

void Executor::run_calls(const Region& region, const Tile& tile, Clock& clock) const {
  for (int i = region.first; i < region.last; ++i) {
    plan_.call(i).run(bindings_, tile);
    clock.book(i);
  }
}

void Executor::run_half(const Region& region, int64_t task, Tile tile, Clock& clock) const {
  const ImageCall& rider = plan_.image_call(region.rider);
  const bool back = task % 2 == 1;
  const bool second = region.pass == 1;
  SweepPart part;
  part.image = task / 2;
  part.pass = region.pass;
  part.backward = back != second;
  const int64_t begin = part.image * region.positions;
  const SweepTiles tiles = SweepTiles::of_half(region.positions, back);
  const int64_t count = tiles.count();
  for (int64_t n = 0; n < count; ++n) {
    const int64_t t = part.backward ? count - 1 - n : n;
    part.first = tiles.start(t);
    part.last = tiles.start(t + 1);
    part.resume = second || n > 0;
    tile.first = begin + part.first;
    tile.last = begin + part.last;
    if (!second) run_calls(region, tile, clock);
    rider.run_part(bindings_, part);
    clock.book(region.rider);
    if (second) run_calls(region, tile, clock);
  }
}

}  // namespace vig
