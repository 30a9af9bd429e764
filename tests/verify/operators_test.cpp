// Golden cases of operators from untrusted files: every number of the text counts, and nonsense is
// refused in one sentence.
#include <gtest/gtest.h>

#include <filesystem>

#include "pipeline/fixtures.h"
#include "support/files.h"
#include "support/tree.h"
#include "vig/verify/verify.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

// A copy of a case with `from` in its text replaced by `to`.
std::string changed(const fs::path& folder, const std::string& name, const std::string& from,
                    const std::string& to) {
  const fs::path golden = fs::path(kFixtures) / "golden" / name;
  const fs::path file = folder / golden.filename();
  fs::copy_file(golden.string() + ".safetensors", file.string() + ".safetensors",
                fs::copy_options::overwrite_existing);
  std::string text = read_file(golden.string() + ".json");
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << name << ": " << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  write_file(file.string() + ".json", text);
  return file.string() + ".safetensors";
}

TEST(OperatorCases, EveryNumberOfTheTextCounts) {
  const TempDir folder;
  struct Change {
    const char *name, *from, *to;
  };
  // Each makes another result of the same shape.
  for (const Change& c :
       {Change{"dense/anchors", "[0.5, 1.0, 2.0]", "[0.5, 1.0, 3.0]"},
        Change{"dense/anchors", "\"scales\": [8]", "\"scales\": [4]"},
        Change{"dense/box-coder", "[0.1, 0.1,", "[0.2, 0.1,"},
        Change{"dense/box-coder", "[100, 140]", "[90, 140]"},
        Change{"dense/roi-align", "0.25", "0.5"}, Change{"dense/msda-inject", "[8, 12]", "[12, 8]"},
        Change{"dense/extractor", "[4, 6]", "[6, 4]"}}) {
    EXPECT_FALSE(verify_case(changed(folder.path(), c.name, c.from, c.to)).passed())
        << c.name << ": " << c.to;
  }
}

TEST(OperatorCases, NonsenseIsRefused) {
  const TempDir folder;
  struct Change {
    const char *name, *from, *to, *words;
  };
  for (const Change& c :
       {Change{"dense/anchors", "[4, 8, 16, 32, 64]", "[4, 8]", "fewer numbers"},
        Change{"dense/anchors", "[4, 8, 16, 32, 64]", "[0, 8, 16, 32, 64]", "strides"},
        Change{"dense/anchors", "[5, 7]", "[50000, 7]", "anchors/0"},
        Change{"dense/rpn-proposals", "\"nms_pre\": 60", "\"nms_pre\": -1", "nms_pre"},
        Change{"dense/uperhead", "\"channels\": 8", "\"channels\": \"8\"", "channels"},
        Change{"dense/uperhead", "[1, 2, 3, 6]", "[1, 2, 3, 100000]", "pool_scales"},
        Change{"dense/slide", "\"stride\": [16, 16]", "\"stride\": [1, 1]", "quarter"},
        Change{"dense/miou", "\"num_classes\": 6", "\"num_classes\": 2000", "num_classes"},
        Change{"dense/miou", "\"ignore_index\": 255", "\"ignore_index\": 2", "labelled"},
        Change{"dense/coco-polygon", "[60, 80]", "[60, 60000]", "mask/0"},
        Change{"operators/s4nd_2d", "\"channels\": 2", "\"channels\": 3", "param/D"}}) {
    ErrorCode code = ErrorCode::kUsage;
    const std::string message =
        error_of([&] { verify_case(changed(folder.path(), c.name, c.from, c.to)); }, &code);
    EXPECT_EQ(code, ErrorCode::kInput) << message;
    EXPECT_NE(message.find(c.words), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace vig::test
