// What reaches the disk, and in which order: a rename that overtakes the bytes it names leaves an
// empty file under the final name after a power cut.
#include "vig/weights/atomic_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "support/errors.h"
#include "support/files.h"
#include "vig/weights/safetensors.h"

namespace {

// The calls below replace the C library's in this program.
struct Recorded {
  bool on = false;
  int fail_fsync = 0;  // errno of every fsync, if not 0
  std::vector<std::string> calls;
} recorded;

std::string name_of(int fd) {
  char target[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), target, sizeof(target));
  return std::filesystem::path(std::string(target, length < 0 ? 0 : static_cast<size_t>(length)))
      .filename()
      .string();
}

std::string short_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.find(".tmp-") == std::string::npos ? name : "temporary";
}

}  // namespace

extern "C" {

int fsync(int fd) {
  if (recorded.on) recorded.calls.push_back("fsync " + short_name(name_of(fd)));
  if (recorded.on && recorded.fail_fsync != 0) {
    errno = recorded.fail_fsync;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, fd));
}

ssize_t write(int fd, const void* data, size_t bytes) {
  if (recorded.on) recorded.calls.push_back("write " + short_name(name_of(fd)));
  return syscall(SYS_write, fd, data, bytes);
}

int rename(const char* from, const char* to) noexcept {
  if (recorded.on) recorded.calls.push_back("rename " + short_name(from) + " " + short_name(to));
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

}  // extern "C"

namespace vig::test {
namespace {

// The calls that `action` makes.
template <typename Action>
std::vector<std::string> calls_of(Action action) {
  recorded.calls.clear();
  recorded.on = true;
  try {
    action();
  } catch (...) {
    recorded.on = false;
    throw;
  }
  recorded.on = false;
  return recorded.calls;
}

TEST(DiskOrder, IsFlushedThenNamedThenItsFolderIsFlushed) {
  const TempDir dir;
  const auto calls = calls_of([&] { AtomicFile(dir / "x").commit_text("text"); });
  const std::string folder = dir.path().filename().string();
  EXPECT_EQ(calls, (std::vector<std::string>{"write temporary", "fsync temporary",
                                             "rename temporary x", "fsync " + folder}));
  EXPECT_EQ(read_file(dir / "x"), "text");
}

TEST(DiskOrder, IsHowWeightsAreWritten) {
  const TempDir dir;
  const float value = 1;
  const NamedTensor tensor{"a", {&value, DType::kF32, Shape{1}}};
  const auto calls = calls_of([&] { write_safetensors(dir / "x.safetensors", {&tensor, 1}); });
  ASSERT_GE(calls.size(), 3u);
  EXPECT_EQ(calls[calls.size() - 3], "fsync temporary");
  EXPECT_EQ(calls[calls.size() - 2], "rename temporary x.safetensors");
}

TEST(DiskOrder, IsNotNamedWhenItCannotBeFlushed) {
  const TempDir dir;
  write_file(dir / "x", "before");
  recorded.fail_fsync = EIO;
  std::string message;
  const auto calls =
      calls_of([&] { message = error_of([&] { AtomicFile(dir / "x").commit_text("text"); }); });
  recorded.fail_fsync = 0;
  EXPECT_EQ(message, (dir / "x").string() + ": cannot be written: Input/output error");
  EXPECT_EQ(calls, (std::vector<std::string>{"write temporary", "fsync temporary"}));
  EXPECT_EQ(read_file(dir / "x"), "before");
  // The temporary file is gone.
  const std::filesystem::directory_iterator files(dir.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

}  // namespace
}  // namespace vig::test
