#include "vig/weights/class_names.h"

#include <sys/stat.h>

#include <string>

#include "support/errors.h"
#include "support/files.h"

namespace vig::test {
namespace {

using Names = std::vector<std::string>;

TEST(ClassNames, OneALine) {
  EXPECT_EQ(parse_class_names("FILE", "ant\nbee\n"), (Names{"ant", "bee"}));
  EXPECT_EQ(parse_class_names("FILE", "\xef\xbb\xbf ant \r\n\tgreat white shark"),
            (Names{"ant", "great white shark"}));
  EXPECT_EQ(parse_class_names("FILE", "ant\n\nbee\n\n \n"), (Names{"ant", "", "bee"}));
  EXPECT_EQ(parse_class_names("FILE", ""), Names{});
  EXPECT_EQ(parse_class_names("FILE", "\n\n"), Names{});
}

TEST(ClassNames, MustBeUtf8) {
  EXPECT_TRUE(error_of([] { parse_class_names("FILE", "caf\xe9\n"); }).starts_with("FILE: "));
}

TEST(ClassNames, ComeFromARegularFileOfSaneSize) {
  const TempDir dir;
  write_file(dir / "names.txt", "ant\nbee\n");
  EXPECT_EQ(read_class_names(dir / "names.txt"), (Names{"ant", "bee"}));
  const std::string large = dir / "large.txt", pipe = dir / "pipe";
  write_file(large, std::string((size_t{4} << 20) + 1, 'x'));
  EXPECT_EQ(error_of([&] { read_class_names(large); }),
            large + ": expected at most 4194304 bytes (a fixed limit), found 4194305");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { read_class_names(pipe); }),
            pipe + ": expected a regular file, found a device or pipe");
}

}  // namespace
}  // namespace vig::test
