// The model that is used when none is named.
#include <gtest/gtest.h>

#include "cli/vig.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

int count(const std::string& text, const std::string& what) {
  int found = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++found;
  return found;
}

const std::string kNote =
    "default model: test_vig, 10 classes: ant, bee, cat, dog, eel, fox, gnu, hen, ibis, jay\n";

class DefaultModel : public testing::Test {
 protected:
  void SetUp() override {
    model_ = make_model(folder_);
    options_.environment = {"VIG_DEFAULT_MODEL=" + model_};
  }

  const std::vector<std::string> images_ = {data("image/photos/flower.webp"),
                                            data("image/photos/kitten_gray.jpg")};
  TempDir folder_;
  std::string model_;
  RunOptions options_;
};

TEST_F(DefaultModel, ClassifySaysOnceWhichItIsAndItsClasses) {
  const RunResult named = vig({"classify", "-m", model_, images_[0], images_[1], "--batch", "1"});
  expect_success(named);
  EXPECT_EQ(count(named.out, "model"), 0);
  const RunResult unnamed = vig({"classify", images_[0], images_[1], "--batch", "1"}, options_);
  expect_success(unnamed);
  EXPECT_EQ(unnamed.out, kNote + named.out);
}

TEST_F(DefaultModel, JsonKeepsItsShape) {
  const RunResult named = vig({"classify", "-m", model_, images_[0], "--json"});
  const RunResult unnamed = vig({"classify", images_[0], "--json"}, options_);
  EXPECT_EQ(unnamed.exit_code, 0);
  EXPECT_EQ(unnamed.err, "vig: " + kNote);
  json list = json::parse(unnamed.out);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["model"], model_);
  list[0].erase("model");
  EXPECT_EQ(list, json::parse(named.out));
}

TEST_F(DefaultModel, EmbedUsesItToo) {
  const RunResult named = vig({"embed", "-m", model_, images_[0]});
  const RunResult unnamed = vig({"embed", images_[0]}, options_);
  EXPECT_EQ(unnamed.exit_code, 0);
  EXPECT_EQ(unnamed.out, named.out);
  EXPECT_EQ(unnamed.err, "vig: " + kNote);
}

TEST_F(DefaultModel, ExplainUsesItToo) {
  const std::string out = (folder_ / "out").string();
  const RunResult text = vig({"explain", images_[0], "--out", out}, options_);
  expect_success(text);
  EXPECT_TRUE(text.out.starts_with(kNote + images_[0] + "\n")) << text.out;
  const RunResult as_json = vig({"explain", images_[0], "--out", out, "--json"}, options_);
  EXPECT_EQ(as_json.err, "vig: " + kNote);
  EXPECT_EQ(json::parse(as_json.out).size(), 1u);
}

// Wherever a model is named. The name is never that of a file in the current folder.
TEST_F(DefaultModel, HasANameInEveryCommand) {
  options_.environment.push_back("VIG_SEGMENT_MODEL=" + (folder_ / "none").string());
  options_.directory = folder_.path();
  write_file(folder_ / "default", "no weights");
  for (const char* name : {"default", ""}) {
    SCOPED_TRACE(name);
    const std::vector<std::vector<std::string>> commands = {
        {"classify", "--json", images_[0], "-m"}, {"embed", images_[0], "-m"}, {"info"}};
    for (std::vector<std::string> command : commands) {
      command.push_back(model_);
      RunResult expected = vig(command, options_);
      expect_success(expected);
      command.back() = name;
      const RunResult named = vig(command, options_);
      EXPECT_EQ(named.exit_code, 0) << named.err;
      const bool unnamed = command[0] == "classify" && *name == '\0';  // adds a field
      if (unnamed) continue;
      EXPECT_EQ(named.out, expected.out) << command[0];
    }
  }
  expect_success(vig({"bench", "default", "--size", "64", "--seconds", "0.01"}, options_));
  expect_success(vig({"convert", "default", "copy.safetensors"}, options_));
  EXPECT_EQ(read_file(folder_ / "copy.safetensors"), read_file(model_));
  // The bundled model is an input under any name.
  expect_complaint(vig({"convert", "default", model_, "--force"}, options_), 2, model_);
  expect_complaint(vig({"classify", images_[0], "-m", "./default"}, options_), 1, "./default");
  // Of another task, and one that is not there.
  expect_complaint(vig({"segment", images_[0], "-m", "default"}, options_), 2, "vig classify");
  expect_complaint(vig({"segment", images_[0], "-m", "segment"}, options_), 2, "VIG_SEGMENT_MODEL");
  expect_complaint(vig({"classify", images_[0], "-m", "segment"}), 2, "use vig segment");
  expect_complaint(vig({"classify", images_[0], "-m", "detect"}), 2, "use vig detect");
}

// As installed: bin/vig and share/vig, called through a link elsewhere.
TEST_F(DefaultModel, IsFoundBesideTheProgram) {
  fs::create_directories(folder_ / "usr/bin");
  fs::create_directories(folder_ / "usr/share/vig");
  fs::copy_file(kVig, folder_ / "usr/bin/vig");
  fs::create_symlink(folder_ / "usr/bin/vig", folder_ / "link");
  const std::vector<std::string> command = {(folder_ / "link").string(), "classify", images_[0]};
  const RunOptions no_variable = {.environment = {}};
  unsetenv("VIG_DEFAULT_MODEL");
  const RunResult missing = run_program(command, no_variable);
  expect_complaint(missing, 2, "share/vig/default.safetensors");
  EXPECT_EQ(count(missing.err, "-m FILE"), 1) << missing.err;
  fs::rename(model_, folder_ / "usr/share/vig/default.safetensors");
  for (const RunOptions& options :
       {no_variable, RunOptions{.environment = {"VIG_DEFAULT_MODEL="}}}) {
    const RunResult found = run_program(command, options);
    expect_success(found);
    EXPECT_EQ(found.out.find(kNote), 0u) << found.out;
  }
}

// The build's own share/vig leads to models/ in the source, whether there is a model or not.
TEST_F(DefaultModel, OfTheBuildIsTheOneInTheTree) {
  const fs::path link = fs::path(kVig).parent_path() / "../share/vig/default.safetensors";
  ASSERT_TRUE(fs::is_symlink(link)) << link;
  const fs::path target = link.parent_path() / fs::read_symlink(link);
  EXPECT_EQ(fs::weakly_canonical(target),
            fs::weakly_canonical(fs::path(kSourceDir) / "models/default.safetensors"));
}

TEST_F(DefaultModel, ThatIsNotThereOrNoModelIsOneSentence) {
  options_.environment = {"VIG_DEFAULT_MODEL=" + (folder_ / "gone").string()};
  for (const char* command : {"classify", "embed", "eval"}) {
    const RunResult result = vig({command, images_[0]}, options_);
    expect_complaint(result, 2, "gone");
    EXPECT_EQ(count(result.err, "-m FILE"), 1) << result.err;
  }
  write_file(folder_ / "gone", "no weights");
  expect_complaint(vig({"classify", images_[0]}, options_), 1, "gone");
}

TEST_F(DefaultModel, CanBeChangedLikeAnyOther) {
  expect_complaint(vig({"classify", images_[0], "--set", "depth=0"}, options_), 2, "depth");
}

}  // namespace
}  // namespace vig::test
