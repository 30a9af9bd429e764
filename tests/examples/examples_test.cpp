// The programs under examples/: small, and they do what they say.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/files.h"
#include "support/run_program.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

const fs::path kData(VIG_TEST_DATA);

RunResult example(const std::string& name, const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {std::string(VIG_EXAMPLES) + "/example_" + name};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_program(command);
}

TEST(Examples, HaveFewerThan60Lines) {
  for (const auto& entry : fs::directory_iterator(fs::path(VIG_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = read_file(entry.path());
    EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 60) << entry.path();
  }
}

// As the command line does.
TEST(Examples, ClassifyAnswersLikeTheProgram) {
  const TempDir folder;
  const std::string weights = (folder / "mini.safetensors").string();
  const std::string picture = (kData / "image/photos/cat_chelsea.png").string();
  const std::string checkpoint = (kData / "golden/vig-mini-silu.pth").string();
  ASSERT_EQ(run_program({VIG_BINARY, "convert", checkpoint, weights, "--arch", "test_vig"}).err,
            "");
  const RunResult result = example("classify", {weights, picture});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::string expected =
      run_program({VIG_BINARY, "classify", "-m", weights, "--top", "3", picture}).out;
  expected = expected.substr(expected.find('\n') + 1);  // the picture's name
  const auto words = [](std::string text) {
    std::erase(text, ' ');
    return text;
  };
  EXPECT_EQ(words(result.out), words(expected));
  EXPECT_FALSE(result.out.empty());
}

TEST(Examples, ClassifySaysWhatIsWrong) {
  EXPECT_EQ(example("classify", {}).exit_code, 2);
  const RunResult missing = example("classify", {"nothing.safetensors", "nothing.jpg"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_NE(missing.err.find("nothing.safetensors"), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace vig::test
