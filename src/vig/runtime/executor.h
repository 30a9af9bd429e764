// Runs one region's share of work. Everything is decided by the plan; nothing here allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "vig/runtime/packed_model.h"
#include "vig/runtime/plan.h"

namespace vig {

class Executor {
 public:
  // `positions[param]` is the position table fitted to this plan's grid.
  Executor(const Plan& plan, const PackedWeights& weights, std::vector<const float*> positions,
           float* arena, int threads)
      : plan_(plan),
        weights_(weights),
        positions_(std::move(positions)),
        arena_(arena),
        threads_(threads) {}

  // How many independent tasks a region has for `images` pictures.
  int64_t tasks(const Region& region, int images) const;
  // `times` (one per step, in seconds, of this worker) may be null.
  void run(const Region& region, int images, int64_t task, float* scratch, double* times) const;

 private:
  class Clock;
  struct Tile {
    int64_t first = 0, last = 0;  // rows
    int64_t panel_first = 0, panel_last = -1;
    int64_t positions = 0;  // rows per picture
    float* scratch = nullptr;
  };

  int64_t tile_count(int64_t rows) const;
  int64_t tile_start(int64_t rows, int64_t tile, int64_t tiles) const;
  int64_t column_tasks(int64_t panels) const;
  bool splits_columns(const Region& region, int64_t rows) const;
  Rows rows_of(int value, const Tile& tile) const;
  float* out_of(int value, const Tile& tile) const;

  void run_step(const GemmStep& step, const Tile& tile) const;
  void run_step(const NormStep& step, const Tile& tile) const;
  void run_step(const PointwiseStep& step, const Tile& tile) const;
  void run_step(const MixStep& step, const Tile& tile) const;
  void run_step(const PatchStep& step, const Tile& tile) const;
  void run_step(const DepthwiseStep& step, const Tile& tile) const;
  void run_steps(const Region& region, const Tile& tile, Clock& clock) const;
  // A half of a picture: all its tiles, with the scan.
  void run_half(const Region& region, int64_t task, Tile tile, Clock& clock) const;
  // A block of a head over a half of a picture, or all of it where there is one direction.
  void run_scan(const Region& region, int64_t task) const;
  // Which tokens of which block one call of the kernel scans, and what it finds.
  struct ScanPart {
    int64_t image = 0, head = 0, block = 0;
    int64_t first = 0, last = 0;  // rows of the picture
    bool backward = false;
    bool resume = false;  // from the state of the rows before
    bool add = false;     // to the other direction
  };
  void scan_rows(int step, const ScanPart& part) const;
  void run_pool(const PoolStep& step, int images, int64_t task) const;

  const Plan& plan_;
  const PackedWeights& weights_;
  std::vector<const float*> positions_;
  float* arena_;
  int threads_;
};

}  // namespace vig
