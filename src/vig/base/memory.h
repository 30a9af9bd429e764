// The machine's memory.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace vig {

// In bytes; the largest number where the system does not tell.
inline uint64_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page <= 0) return UINT64_MAX;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

}  // namespace vig
