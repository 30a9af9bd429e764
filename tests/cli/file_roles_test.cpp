// Output paths must differ from each other and from all inputs, even through links.
#include <gtest/gtest.h>

#include "cli/vig.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

class FileRolesTest : public testing::Test {
 protected:
  void SetUp() override {
    model_ = make_model(folder_);
    fs::create_directories(folder_ / "photos/cat");
    fs::copy_file(data("image/photos/flower.webp"), image());
    fs::create_symlink(image(), folder_ / "link.webp");
    fs::create_hard_link(image(), folder_ / "hard.webp");
    fs::create_directory_symlink(folder_ / "photos", folder_ / "photos-link");
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  fs::path image() const { return folder_ / "photos/cat/a.webp"; }

  // Refused with one sentence that names `about`, before anything was read, with all files as they
  // were.
  void refused(const std::vector<std::string>& arguments, const std::string& about) const {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const std::string before = read_file(image()), model = read_file(model_);
    RunOptions options;
    options.directory = folder_.path();
    const RunResult result = vig(arguments, options);
    expect_complaint(result, 2, about);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(read_file(image()), before);
    EXPECT_EQ(read_file(model_), model);
  }

  TempDir folder_;
  std::string model_;
};

TEST_F(FileRolesTest, AImageByAnyOfItsNames) {
  const std::string real = image().string();
  for (const std::string& out :
       {real, path("link.webp"), path("hard.webp"), path("photos-link/cat/a.webp"),
        std::string("photos/../photos/./cat/a.webp")}) {
    refused({"embed", "-m", model_, real, "--index", out}, "over the image " + real);
    refused({"embed", "-m", model_, path("photos"), "--index", out}, "a.webp");
    refused({"embed", "-m", model_, path("phot*/cat/*"), "--index", out}, "a.webp");
    refused({"embed", "-m", model_, path("photos-link"), "--index", out}, "a.webp");
    for (const char* option : {"--confusion", "--csv", "--predictions"}) {
      refused({"eval", "-m", model_, path("photos"), option, out}, std::string(option) + " " + out);
    }
    refused({"eval", "-m", model_, path("photos"), "--mistakes", "3", "--page", out}, "--page");
  }
  refused({"embed", "-m", model_, path("hard.webp"), "--index", real}, "hard.webp");
}

// Data is more than the images of a folder.
TEST_F(FileRolesTest, WhatListsNameAndWhatFoldersHold) {
  write_file(folder_ / "list.csv", "photos/cat/a.webp,cat\n");
  refused({"eval", "-m", model_, path("list.csv"), "--predictions", path("hard.webp")},
          "over the image");
  for (const char* name : {"photos/classes.txt", "photos/notes.json", "photos/metrics.csv",
                           "photos/last.safetensors"}) {
    write_file(folder_ / name, "a\n");
    refused({"eval", "-m", model_, path("photos"), "--csv", path(name)}, "over the data");
  }
  EXPECT_EQ(vig({"embed", "-m", model_, path("photos"), "--index", path("all.index")}).exit_code,
            0);
  refused({"search", path("all.index"), "-m", model_, data("image/photos/cat_chelsea.png"),
           "--html", path("hard.webp")},
          "over the image");
}

// With FILE.npy comes FILE.jsonl.
TEST_F(FileRolesTest, TheLinesOfTheRowsOfAnArray) {
  fs::create_hard_link(image(), folder_ / "vectors.jsonl");
  refused({"embed", "-m", model_, image().string(), "--out", path("vectors.npy")},
          "over the image");
  EXPECT_FALSE(fs::exists(path("vectors.npy")));
  // Which is named like nothing of the folder: its other name is found.
  for (const char* command : {"classify", "embed"}) {
    refused({command, "-m", model_, path("photos"), "--out", path("vectors.jsonl")}, "a.webp");
  }
}

TEST_F(FileRolesTest, TheProbabilitiesOfASegmentation) {
  const std::string other = path("a.probabilities.npy");
  fs::create_hard_link(image(), other);
  refused({"segment", "-m", model_, image().string(), other, "--probabilities", "--out",
           folder_.path().string()},
          "over the image");
}

TEST_F(FileRolesTest, TheModel) {
  fs::create_symlink(model_, folder_ / "model-link");
  for (const std::string& out : {model_, path("model-link")}) {
    refused({"embed", "-m", model_, image().string(), "--index", out}, "the model");
    refused({"embed", "-m", path("model-link"), image().string(), "--index", out}, "the model");
    refused({"eval", "-m", model_, path("photos"), "--csv", out}, "the model");
    refused({"bench", "test_vig", model_, "--csv", out}, "the model");
    refused({"convert", model_, out, "--force"}, "the checkpoint");
  }
  RunOptions options;
  options.environment = {"VIG_DEFAULT_MODEL=" + model_};
  expect_complaint(vig({"embed", image().string(), "--index", model_}, options), 2, "the model");
}

TEST_F(FileRolesTest, ClassFilesAndArchives) {
  refused({"convert", model_, path("classes.txt"), "--classes", path("classes.txt"), "--force"},
          "the class file");
  ASSERT_EQ(run_program({"tar", "-cf", path("photos.tar"), "-C", folder_.path().string(), "photos"})
                .exit_code,
            0);
  const std::string archive = read_file(path("photos.tar"));
  refused({"eval", "-m", model_, path("photos.tar"), "--csv", path("photos.tar")}, "the data");
  EXPECT_EQ(read_file(path("photos.tar")), archive);
}

TEST_F(FileRolesTest, TwoOutputsThatAreOne) {
  write_file(path("there"), "old");
  fs::create_symlink(path("there"), path("there-link"));
  const std::vector<std::string> eval = {"eval", "-m", model_, path("photos")};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), eval.begin(), eval.end());
    return more;
  };
  refused(with({"--csv", path("x"), "--confusion", "photos/../x"}), "are the same file");
  refused(with({"--csv", path("there"), "--predictions", path("there-link")}), "are the same file");
  refused(with({"--csv", path("photos/x"), "--predictions", path("photos-link/x")}), "same file");
  // Where Ctrl-C would put the first.
  refused(with({"--csv", path("x"), "--predictions", path("x.partial")}), "are the same file");
  EXPECT_FALSE(fs::exists(path("x")));
}

TEST_F(FileRolesTest, TheStreamsAreOutputsToo) {
  const std::string begin = std::string("'") + kVig + "' ";
  const std::string classify = begin + "classify -m '" + model_ + "' '" + image().string() + "' ";
  const std::string before = read_file(image());
  const std::string x = "'" + path("x.csv") + "'";
  for (const std::string& line :
       {classify + ">> '" + image().string() + "'", classify + "--out " + x + " > " + x,
        begin + "embed -m '" + model_ + "' - --index '" + image().string() + "' < '" +
            image().string() + "'"}) {
    expect_complaint(run_program({"bash", "-c", line}), 2, "choose another");
    EXPECT_EQ(read_file(image()), before);
  }
  // What is complained of goes into the file itself.
  const RunResult both = run_program({"bash", "-c", classify + "--out " + x + " 2> " + x});
  EXPECT_EQ(both.exit_code, 2) << both.out;
  EXPECT_NE(read_file(path("x.csv")).find("the file that standard error goes into"),
            std::string::npos);
  fs::create_directories(folder_ / "out");
  expect_complaint(
      run_program({"bash", "-c",
                   begin + "explain -m '" + model_ + "' '" + image().string() + "' --out '" +
                       path("out") + "' > '" + path("out/a.evidence.png") + "'"}),
      2, "the file that standard output goes into");
  // Both into one file is what people do.
  expect_success(run_program({"bash", "-c", classify + "> '" + path("y") + "' 2>&1"}));
}

TEST_F(FileRolesTest, OtherFilesAreReplacedAsEver) {
  write_file(path("photos/cat/results.csv"), "from the last run");
  write_file(path("out.jsonl"), "old");
  expect_success(
      vig({"eval", "-m", model_, path("photos"), "--csv", path("photos/cat/results.csv")}));
  expect_success(vig({"embed", "-m", model_, image().string(), "--out", path("out.jsonl")}));
  EXPECT_NE(read_file(path("photos/cat/results.csv")), "from the last run");
  EXPECT_NE(read_file(path("out.jsonl")), "old");
}

}  // namespace
}  // namespace vig::test
