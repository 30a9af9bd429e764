#include "faults/inject.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

// The sanitiser replaces these calls itself.
namespace vig::test {
bool can_inject() { return false; }
void inject(Decide) {}
int64_t calls_of(Call) { return 0; }
}  // namespace vig::test

#else

namespace {

using vig::test::Call;
using vig::test::Decide;

std::atomic<Decide> g_decide{nullptr};
std::atomic<int64_t> g_counts[3];

// The kinds of file calls in their order; more than fit are not reported.
std::atomic<size_t> g_letters{0};
char g_calls[1 << 14];

bool fails(Call call) {
  const Decide decide = g_decide.load();
  if (decide == nullptr) return false;
  return decide(call, ++g_counts[static_cast<int>(call)]);
}

bool file_call_fails(char letter) {
  if (g_decide.load() != nullptr) {
    const size_t at = g_letters++;
    if (at < sizeof g_calls) g_calls[at] = letter;
  }
  if (!fails(Call::kFile)) return false;
  errno = ENOSPC;
  return true;
}

bool memory_fails() {
  if (!fails(Call::kMemory)) return false;
  errno = ENOMEM;
  return true;
}

template <class Function>
Function next_of(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

namespace vig::test {

void inject(Decide decide) {
  g_decide = nullptr;
  for (auto& count : g_counts) count = 0;
  g_letters = 0;
  g_decide = decide;
}

bool can_inject() { return true; }

int64_t calls_of(Call call) { return g_counts[static_cast<int>(call)]; }

}  // namespace vig::test

extern "C" {

// ---- memory: glibc's own, under the names it keeps for replacements such as these ----

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t number, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) noexcept { return memory_fails() ? nullptr : __libc_malloc(size); }
void* calloc(size_t number, size_t size) noexcept {
  return memory_fails() ? nullptr : __libc_calloc(number, size);
}
void* realloc(void* memory, size_t size) noexcept {
  return memory_fails() ? nullptr : __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) noexcept {
  return memory_fails() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void* mmap(void* at, size_t length, int protection, int flags, int file, off_t offset) noexcept {
  if (memory_fails()) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, length, protection, flags, file, offset));
}

// ---- threads ----

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  if (fails(Call::kThread)) return EAGAIN;
  static const auto real = next_of<decltype(&pthread_create)>("pthread_create");
  return real(thread, attributes, start, argument);
}

// ---- files ----

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = creates ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (creates && file_call_fails('o')) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t write(int file, const void* data, size_t bytes) {
  if (!file_call_fails('w')) return syscall(SYS_write, file, data, bytes);
  // A disk fills up in the middle of a block.
  if (bytes > 1) (void)!syscall(SYS_write, file, data, bytes / 2);
  return -1;
}
int ftruncate(int file, off_t size) noexcept {
  return file_call_fails('t') ? -1 : static_cast<int>(syscall(SYS_ftruncate, file, size));
}
ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  if (!file_call_fails('w')) return syscall(SYS_pwrite64, file, data, bytes, offset);
  if (bytes > 1) (void)!syscall(SYS_pwrite64, file, data, bytes / 2, offset);
  return -1;
}
int fsync(int file) {
  return file_call_fails('s') ? -1 : static_cast<int>(syscall(SYS_fsync, file));
}
int fdatasync(int file) {
  return file_call_fails('s') ? -1 : static_cast<int>(syscall(SYS_fdatasync, file));
}
int rename(const char* from, const char* to) noexcept {
  if (file_call_fails('r')) return -1;
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  if (file_call_fails('r')) return -1;
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
}  // extern "C"

// ---- the preloaded library ----

#ifdef VIG_PRELOADED

namespace {

using Main = int (*)(int, char**, char**);

Main g_main = nullptr;
Call g_call = Call::kMemory;
int64_t g_number = 0;
enum class How { kOnce, kAlways, kKill } g_how = How::kOnce;

bool decide_by_environment(Call call, int64_t number) {
  if (call != g_call || g_number == 0 || number < g_number) return false;
  if (g_how == How::kAlways) return true;
  if (number > g_number) return false;
  if (g_how == How::kKill) kill(getpid(), SIGKILL);
  return true;
}

void read_environment() {
  const char* const text = getenv("VIG_FAULT");
  char call[16] = "", how[16] = "";
  long long number = 0;
  if (text == nullptr || sscanf(text, "%15[a-z]:%lld:%15[a-z]", call, &number, how) != 3) return;
  g_call = *call == 'm' ? Call::kMemory : *call == 't' ? Call::kThread : Call::kFile;
  g_how = *how == 'o' ? How::kOnce : *how == 'a' ? How::kAlways : How::kKill;
  g_number = number;
}

void write_file(const char* variable, const char* data, size_t bytes) {
  const char* const path = getenv(variable);
  if (path == nullptr) return;
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  (void)!syscall(SYS_write, file, data, bytes);
  syscall(SYS_close, file);
}

int counted_main(int argc, char** argv, char** environment) {
  read_environment();
  vig::test::inject(decide_by_environment);
  const int status = g_main(argc, argv, environment);
  g_decide = nullptr;
  char line[80];
  const int length =
      snprintf(line, sizeof line, "%lld %lld %lld\n", static_cast<long long>(g_counts[0]),
               static_cast<long long>(g_counts[1]), static_cast<long long>(g_counts[2]));
  write_file("VIG_FAULT_COUNTS", line, static_cast<size_t>(length));
  write_file("VIG_FAULT_CALLS", g_calls, std::min(g_letters.load(), sizeof g_calls));
  return status;
}

}  // namespace

// What runs before main belongs to the system's libraries.
extern "C" int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                                 void (*ending)(), void* stack) {
  g_main = main;
  const auto real = next_of<decltype(&__libc_start_main)>("__libc_start_main");
  return real(counted_main, argc, argv, init, fini, ending, stack);
}

#endif  // VIG_PRELOADED

#endif  // sanitisers
