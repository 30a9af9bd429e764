// Runs one region's share of work. Everything is decided by the plan; nothing here allocates.
#pragma once

#include <cstdint>

#include "vig/runtime/plan.h"

namespace vig {

class Executor {
 public:
  Executor(const Plan& plan, const Bindings& bindings, int threads)
      : plan_(plan), bindings_(bindings), threads_(threads) {}

  // How many independent tasks a region has for `images` images.
  int64_t tasks(const Region& region, int images) const;
  // `times` (one per call, in seconds, of this worker) may be null.
  void run(const Region& region, int images, int64_t task, std::byte* scratch, double* times) const;

 private:
  class Clock;

  int64_t tile_count(const Region& region, int64_t rows) const;
  int64_t column_tasks(const Region& region) const;
  bool splits_columns(const Region& region, int64_t rows) const;
  void run_calls(const Region& region, const Tile& tile, Clock& clock) const;
  // A half of an image: all its tiles, with the sweep that rides along.
  void run_half(const Region& region, int64_t task, Tile tile, Clock& clock) const;

  const Plan& plan_;
  const Bindings& bindings_;
  int threads_;
};

}  // namespace vig
