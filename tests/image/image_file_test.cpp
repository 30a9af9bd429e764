#include "vig/image/image_file.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/files.h"

namespace vig::test {
namespace {

TEST(ImageFile, AStreamIsReadToItsEndOrToTheLimit) {
  const TempDir folder;
  const std::string path = (folder / "x").string();
  const std::string bytes((size_t{5} << 20) + 17, 'x');
  write_file(path, bytes);
  const auto read = [&](uint64_t limit) {
    return ImageFile(path, ImageFile::Kind::kAny).read_stream(limit);
  };
  EXPECT_EQ(read(bytes.size()).size(), bytes.size());
  expect_error(ErrorCode::kInput, {"longer than the 3145728 bytes"},
               [&] { read(uint64_t{3} << 20); });
  // Also by less than is read at once.
  for (const uint64_t limit : {bytes.size() - 1, size_t{5} << 20, size_t{0}}) {
    EXPECT_EQ(error_of([&] { read(limit); }),
              path + ": longer than the " + std::to_string(limit) +
                  " bytes allowed for an image file (raise it with --max-pixels)");
  }
  write_file(path, "");
  EXPECT_TRUE(read(0).empty());
}

}  // namespace
}  // namespace vig::test
