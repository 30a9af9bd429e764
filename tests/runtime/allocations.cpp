#include "runtime/allocations.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

namespace {

std::atomic<int64_t> calls{0};
std::atomic<int64_t> bytes{0};

}  // namespace

#if !(defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))

namespace {

void count(size_t size) {
  calls.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
}

}  // namespace

// glibc's own, under the names it keeps for replacements such as these.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t number, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) noexcept {
  count(size);
  return __libc_malloc(size);
}
void* calloc(size_t number, size_t size) noexcept {
  count(number * size);
  return __libc_calloc(number, size);
}
void* realloc(void* memory, size_t size) noexcept {
  count(size);
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) noexcept {
  count(size);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void* mmap(void* at, size_t length, int protection, int flags, int file, off_t offset) noexcept {
  count(length);
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, length, protection, flags, file, offset));
}
}

#endif

namespace vig::test {

bool counts_allocations() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

Allocations allocations() { return {calls.load(), bytes.load()}; }

}  // namespace vig::test
