#include "vig/base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/errors.h"
#include "support/files.h"
#include "vig/base/mapped_file.h"

namespace vig::test {
namespace {

TEST(RegularFile, IsReadWhole) {
  const TempDir dir;
  const std::string bytes("a\0\n\xff", 4);
  write_file(dir / "x", bytes);
  EXPECT_EQ(read_regular_file(dir / "x", 4), bytes);
  write_file(dir / "empty", "");
  EXPECT_EQ(read_regular_file(dir / "empty", 0), "");
  EXPECT_EQ(RegularFile(dir / "x").size(), 4u);
}

TEST(RegularFile, OfAnUnknownSizeIsReadToItsEnd) {
  // The kernel's own files claim to be empty.
  ASSERT_EQ(RegularFile("/proc/self/status").size(), 0u);
  EXPECT_TRUE(read_regular_file("/proc/self/status", 1 << 20).starts_with("Name:"));
  EXPECT_EQ(error_of([] { read_regular_file("/proc/self/status", 10); }),
            "/proc/self/status: expected at most 10 bytes (a fixed limit), found more");
}

TEST(RegularFile, AboveTheLimitIsRefusedBySizeAlone) {
  const TempDir dir;
  const std::string path = dir / "sparse";
  write_file(path, "");
  std::filesystem::resize_file(path, uintmax_t{1} << 40);  // could never be read
  EXPECT_EQ(error_of([&] { read_regular_file(path, 100); }),
            path + ": expected at most 100 bytes (a fixed limit), found 1099511627776");
}

TEST(RegularFile, WaitsForNoPipeFolderOrDevice) {
  const TempDir dir;
  const std::string pipe = dir / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    const std::string expected = path + ": expected a regular file, found a device or pipe";
    EXPECT_EQ(error_of([&] { RegularFile{path}; }), expected);
    EXPECT_EQ(error_of([&] { read_regular_file(path, 100); }), expected);
    EXPECT_EQ(error_of([&] { MappedFile::open(path); }), expected);
  }
  EXPECT_EQ(error_of([&] { read_regular_file(dir.path(), 100); }),
            dir.path().string() + ": expected a file, found a folder");
  EXPECT_EQ(error_of([&] { read_regular_file(dir / "absent", 100); }),
            (dir / "absent").string() + ": cannot be opened: No such file or directory");
}

TEST(RegularFile, ARefusedFileIsClosed) {
  const TempDir dir;
  const auto lowest_free = [] {
    const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(descriptor);
    return descriptor;
  };
  const int before = lowest_free();
  error_of([&] { RegularFile{dir.path()}; });
  { const RegularFile file("/proc/self/status"); }
  EXPECT_EQ(lowest_free(), before);
}

}  // namespace
}  // namespace vig::test
