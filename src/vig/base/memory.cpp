#include "vig/base/memory.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace vig {

uint64_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page <= 0) return UINT64_MAX;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

uint64_t free_memory() {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    uint64_t kilobytes = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %lu kB", &kilobytes) == 1) return kilobytes * 1024;
  }
  return physical_memory();
}

uint64_t process_memory() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

size_t process_peak() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    size_t kilobytes = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %zu kB", &kilobytes) == 1) return kilobytes * 1024;
  }
  return 0;
}

void reset_process_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace vig
