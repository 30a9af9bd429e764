#include "vig/image/picture_file.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/files.h"

namespace vig::test {
namespace {

TEST(PictureFile, AStreamIsReadToItsEndOrToTheLimit) {
  const TempDir folder;
  const std::string path = (folder / "x").string();
  const std::string bytes((size_t{5} << 20) + 17, 'x');
  write_file(path, bytes);
  const auto read = [&](uint64_t limit) {
    return PictureFile(path, PictureFile::Kind::kAny).read_stream(limit);
  };
  EXPECT_EQ(read(bytes.size()).size(), bytes.size());
  expect_error(ErrorCode::kInput, {"longer than the 3145728 bytes"},
               [&] { read(uint64_t{3} << 20); });
}

}  // namespace
}  // namespace vig::test
