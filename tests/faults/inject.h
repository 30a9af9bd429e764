// Calls of the system that fail on purpose: memory, threads and files.
//
// The same source is part of a test program, which decides by a function of its own, and a library
// to be preloaded into any program (LD_PRELOAD), which is configured by environment variables:
//
//   VIG_FAULT=CALL:NUMBER:HOW  CALL is memory, thread or file; calls count from 1 when main begins;
//                              HOW is once, always (this one and all after it) or kill (SIGKILL)
//   VIG_FAULT_COUNTS=FILE      at the end, a line with the number of calls of each kind
//   VIG_FAULT_CALLS=FILE       at the end, a letter for each file call: o open to create, w write,
//                              t truncate, s flush to disk, r rename
#pragma once

#include <cstdint>

namespace vig::test {

enum class Call { kMemory, kThread, kFile };

// Whether call `number` of its kind, counted since `inject` was called, fails. Must not allocate.
using Decide = bool (*)(Call call, int64_t number);

// False in builds with sanitisers, which have a heap of their own.
bool can_inject();

// Counts from here on and asks `decide` about every call in every thread; null: no longer.
void inject(Decide decide);
int64_t calls_of(Call call);

}  // namespace vig::test
