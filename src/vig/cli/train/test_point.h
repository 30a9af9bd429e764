// For tests alone: a run that sends itself a signal at a place of its own, so that no test has to
// sleep until then.
//
//   VIG_TEST_SIGNAL=POINT:STEP:SIGNAL[:RANK]
//
// POINT is step (after it, before its checkpoint), validation (before a batch of it) or saved
// (after a checkpoint); STEP the number of steps done; SIGNAL KILL, INT, TERM or HUP, with a 2
// behind it when it is to come twice; RANK the process, 0 without. Nothing else reads the variable.
#pragma once

#include <functional>

#include "vig/train/trainer.h"

namespace vig::cli {

// What it gives returns once `arrived` says so, as signals take a moment, and does nothing at other
// places. Empty where the variable is not set or meant for another process.
std::function<void(train::RunPoint, int64_t)> test_point(int rank, std::function<bool()> arrived);

}  // namespace vig::cli
