// Counts the memory that this process asks for, by whatever name: malloc, its relatives and mmap
// are replaced in this program, and operator new goes through them.
#pragma once

#include <cstdint>

namespace vig::test {

struct Allocations {
  int64_t calls = 0;
  int64_t bytes = 0;
};

// False in builds with sanitisers, which have a heap of their own.
bool counts_allocations();

// Since the program began, in all threads.
Allocations allocations();

// What `function` took.
template <typename Function>
Allocations allocations_of(Function&& function) {
  const Allocations before = allocations();
  function();
  const Allocations after = allocations();
  return {after.calls - before.calls, after.bytes - before.bytes};
}

}  // namespace vig::test
