// Memory of the machine and of this process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vig {

// In bytes; the largest number where the system does not say.
uint64_t physical_memory();

// What is free, with what the system can take back from its caches at once; all of it where the
// system does not say.
uint64_t free_memory();

// The resident size now; 0 where the system does not say.
uint64_t process_memory();
// The largest resident size so far, or since it was set back, which Linux allows; where it does
// not, the figure also covers what came before.
size_t process_peak();
void reset_process_peak();

}  // namespace vig
