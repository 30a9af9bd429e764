// README and docs: every command shown is run, every output shown is real, every link leads
// somewhere.
//
// A block marked sh is run, blocks of a page one after the other in one copy of the tracked files
// with the data of example_data.h. The comment `<!-- not run: why -->` on the line before excuses
// one: for downloads, builds, and what takes minutes on any data. With
// `<!-- tested with: ./vig train OPTIONS -->` its trainings get these options, to be short. A block
// marked text right after is what it printed, to the letter; `text numbers vary` where only the
// words must agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

#include "house/example_data.h"
#include "house/git_files.h"
#include "house/markdown.h"
#include "house/root.h"
#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> pages() {
  std::vector<fs::path> found = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md",
                                 "models/README.md"};
  for (const auto& entry : fs::directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") found.push_back("docs" / entry.path().filename());
  }
  std::sort(found.begin() + 4, found.end());
  return found;
}

// The commands of a block as they are run.
std::string commands_of(const FencedBlock& block) {
  constexpr std::string_view kTrain = "./vig train ", kMark = "tested with: ";
  if (!block.comment.starts_with(kMark)) return block.text;
  const std::string train = block.comment.substr(kMark.size()) + " ";
  std::string text = block.text;
  EXPECT_TRUE(train.starts_with(kTrain) && text.find(kTrain) != std::string::npos) << text;
  for (size_t at = 0; (at = text.find(kTrain, at)) != std::string::npos; at += train.size()) {
    text.replace(at, kTrain.size(), train);
  }
  return text;
}

fs::path training_program() { return fs::path(kVig).replace_filename("vig-train"); }

// Relative to it, sorted.
std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) files.push_back(entry.path().lexically_relative(folder).string());
  }
  std::ranges::sort(files);
  return files;
}

class Docs : public ::testing::TestWithParam<fs::path> {};
INSTANTIATE_TEST_SUITE_P(Pages, Docs, ::testing::ValuesIn(pages()), [](const auto& test) {
  std::string name = test.param.stem().string();
  if (name == "README") name = test.param.parent_path().string() + name;
  std::erase(name, '-');
  return name;
});

TEST_P(Docs, CommandsRunAndPrintWhatIsShown) {
  const TempDir folder;
  copy_tracked_files(kRoot, folder.path());
  if (!fs::exists(folder / "README.md")) GTEST_SKIP() << "git tracks no files here";
  fs::remove(folder / "vig");
  fs::create_symlink(kVig, folder / "vig");
  write_example_data(folder.path());
  const std::vector<std::string> before = files_below(folder.path());
  const std::vector<FencedBlock> blocks = fenced_blocks(read_file(kRoot / GetParam()));
  for (size_t i = 0; i < blocks.size(); ++i) {
    const FencedBlock& block = blocks[i];
    const std::string where = GetParam().string() + ":" + std::to_string(block.line);
    EXPECT_FALSE(block.info == "bash" || block.info == "shell" || block.info == "console")
        << where << ": mark commands as sh";
    if (block.info != "sh") continue;
    if (block.comment.starts_with("not run: ")) continue;
    if (block.text.find("./vig train") != std::string::npos && !fs::exists(training_program()))
      continue;
    const std::string commands = commands_of(block);
    const RunResult result = run_program({"bash", "-euo", "pipefail", "-c", commands},
                                         {.time_limit = 90, .directory = folder.path()});
    EXPECT_EQ(result.exit_code, 0) << where << "\n" << commands << result.err;
    if (i + 1 == blocks.size() || !blocks[i + 1].info.starts_with("text")) continue;
    EXPECT_TRUE(shows(blocks[i + 1].text, result.out, blocks[i + 1].info == "text numbers vary"))
        << where << " shows\n"
        << blocks[i + 1].text << "but it prints\n"
        << result.out;
  }
  std::vector<std::string> made;
  std::ranges::set_difference(files_below(folder.path()), before, std::back_inserter(made));
  for (const std::string& file : unignored_files(kRoot, made)) {
    ADD_FAILURE() << GetParam() << " makes " << file << ", which .gitignore does not list";
  }
}

TEST_P(Docs, LinksLeadSomewhere) {
  for (const std::string& link : local_links(read_file(kRoot / GetParam()))) {
    EXPECT_TRUE(fs::exists(kRoot / GetParam().parent_path() / link)) << GetParam() << ": " << link;
  }
}

// Paths of the tree, and of src/vig without that, in `code`.
TEST_P(Docs, NamedFilesExist) {
  static const std::regex code("`([a-z0-9_]+/[a-z0-9_./-]*[a-z0-9_/])`");
  const std::string page = read_file(kRoot / GetParam());
  for (std::sregex_iterator found(page.begin(), page.end(), code), end; found != end; ++found) {
    const fs::path path = (*found)[1].str(), first = *path.begin();
    const bool source = fs::is_directory(kRoot / "src/vig" / first) && path.has_extension();
    const bool top = fs::is_directory(kRoot / first) && first != "build" && first != "data";
    if (!source && !top) continue;
    EXPECT_TRUE(fs::exists(kRoot / path) || fs::exists(kRoot / "src/vig" / path))
        << GetParam() << " names " << path;
  }
}

// A diff shows lines as they stand in the tree: "+++ b/FILE", then lines of that file in order.
TEST_P(Docs, DiffsShowTheTree) {
  for (const FencedBlock& block : fenced_blocks(read_file(kRoot / GetParam()))) {
    if (block.info != "diff") continue;
    std::istringstream lines(block.text);
    std::string line, file, text;
    size_t at = 0;
    while (std::getline(lines, line)) {
      if (line.starts_with("+++ b/")) {
        file = line.substr(6);
        text = read_file(kRoot / file);
        at = 0;
        continue;
      }
      const size_t found = text.find(line.substr(1) + "\n", at);
      EXPECT_NE(found, std::string::npos) << GetParam() << ": not in " << file << ": " << line;
      if (found != std::string::npos) at = found;
    }
  }
}

TEST(Readme, IsShort) {
  const std::string text = read_file(kRoot / "README.md");
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 150);
}

TEST(Contents, ListEveryPageAndEveryPageLinksBack) {
  const std::vector<std::string> listed = local_links(read_file(kRoot / "docs/README.md"));
  for (const fs::path& page : pages()) {
    if (page.parent_path() != "docs" || page.filename() == "README.md") continue;
    EXPECT_EQ(std::ranges::count(listed, page.filename().string()), 1)
        << "docs/README.md lists " << page;
    EXPECT_EQ(std::ranges::count(local_links(read_file(kRoot / page)), "README.md"), 1)
        << page << " links back to docs/README.md";
  }
}

TEST(Readme, SpeedTablesAreUpToDate) {
  const RunResult result = run_program({(kRoot / "tools/readme_tables.sh").string(), "--check"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(Readme, SpeedTablesComeFromTheResults) {
  const TempDir folder;
  fs::create_directories(folder / "tools");
  fs::copy_file(kRoot / "tools/readme_tables.sh", folder / "tools/readme_tables.sh");
  const std::string around[2] = {"before\n<!-- speed: made by tools/readme_tables.sh -->\n",
                                 "<!-- end of speed -->\nafter\n"};
  write_file(folder / "README.md", around[0] + "old\n" + around[1]);
  const std::string page[3] = {"a\n<!-- engine: made by tools/readme_tables.sh -->\n",
                               "<!-- end of engine -->\nb\n"
                               "<!-- onnxruntime: made by tools/readme_tables.sh -->\n",
                               "<!-- end of onnxruntime -->\nc\n"};
  write_file(folder / "docs/speed.md", page[0] + "old\n" + page[1] + page[2]);
  const auto run = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {(folder / "tools/readme_tables.sh").string()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_program(command);
  };
  EXPECT_EQ(run({}).exit_code, 0);
  EXPECT_EQ(
      read_file(folder / "README.md"),
      around[0] + "\nNo results are stored in `bench/results/baselines/` yet.\n\n" + around[1]);
  EXPECT_EQ(read_file(folder / "docs/speed.md"),
            page[0] + "\nNo results are stored in `bench/results/` yet.\n\n" + page[1] +
                "\nNo results are stored in `bench/results/baselines/` yet.\n\n" + page[2]);
  EXPECT_EQ(run({"--check"}).exit_code, 0);

  // The columns in another order than the program's, and a processor with a comma in its name.
  write_file(
      folder / "bench/results/a.csv",
      "model,cpu,simd,height,width,batch,threads,complete,median_ms,best_quarter_ms,gflops,"
      "peak_share,arena_bytes,process_bytes\n"
      "\"vig_t\",\"Fast, and new\",AVX2,224,224,1,2,true,16.1,15.04,159.2,0.812,1655808,60e6\n"
      "\"vig_t\",\"Fast, and new\",AVX2,512,1024,8,2,false,1,1,1,1,1,1\n"
      "\"vig_s\",\"Fast, and new\",AVX2,512,1024,8,1,true,310,300,170,0.9,2e7,2e8\n");
  EXPECT_EQ(run({"--check"}).exit_code, 1);
  EXPECT_EQ(run({}).exit_code, 0);
  EXPECT_EQ(run({"--check"}).exit_code, 0);
  const std::string text = read_file(folder / "docs/speed.md");
  EXPECT_TRUE(
      text.starts_with(page[0] + "\nFast, and new, AVX2, fastest quarter of the runs ([data]"))
      << text;
  for (const char* row :
       {"\n| vig_t | 224 | 1 | 2 | 15.0 | 66.5 | 159 | 81 % | 1.7 MB | 60 MB |\n",
        "\n| vig_s | 512 x 1024 | 8 | 1 | 300.0 | 26.7 | 170 | 90 % | 20.0 MB | 200 MB |\n"}) {
    EXPECT_NE(text.find(row), std::string::npos) << text;
  }

  write_file(folder / "bench/results/baselines/other.csv", "not read\n");
  write_file(
      folder / "bench/results/baselines/onnxruntime-a.csv",
      "cpu,simd,model,height,width,batch,threads,complete,best_quarter_ms,process_bytes,"
      "engine,ratio,ratio_median,difference\n"
      "C,AVX2,\"x/deit_t.safetensors\",224,224,1,2,true,12.34,6e7,\"vig\",,,\n"
      "C,AVX2,\"x/deit_t.safetensors\",224,224,1,2,true,14.56,2e8,\"ORT 1\",0.8475,0.91,2.1e-6\n"
      "C,AVX2,\"vig_t\",512,1024,1,2,true,8.4,6e7,\"vig\",,,\n"
      "C,AVX2,\"deit_t\",512,1024,1,2,true,14.5,2e8,\"ORT 1\",0.579,0.6,\n");
  EXPECT_EQ(run({"--check"}).exit_code, 1);
  EXPECT_EQ(run({}).exit_code, 0);
  EXPECT_EQ(run({"--check"}).exit_code, 0);
  const std::string compared = read_file(folder / "docs/speed.md");
  for (const char* words :
       {"\nORT 1, C, AVX2, ", "([data](../bench/results/baselines/onnxruntime-a.csv))",
        "\n| deit_t | deit_t | 224 | 1 | 2 | 12.3 | 14.6 | 0.85 | 0.91 | 60 MB | 200 MB | 2e-06 "
        "|\n",
        "\n| vig_t | deit_t | 512 x 1024 | 1 | 2 | 8.4 | 14.5 | 0.58 | 0.60 | 60 MB | 200 MB | not "
        "compared |\n"}) {
    EXPECT_NE(compared.find(words), std::string::npos) << words << "\n" << compared;
  }
  const std::string headline = read_file(folder / "README.md");
  EXPECT_EQ(headline,
            around[0] +
                "\nOne image, 2 threads, C, AVX2, float32 "
                "([data](bench/results/baselines/onnxruntime-a.csv)):\n\n"
                "| image | ViG-T, this engine | DeiT-T, ORT 1 | faster by | memory here | "
                "memory there |\n|---|---|---|---|---|---|\n"
                "| 512 x 1024 | 8.4 ms | 14.5 ms | 1.7x | 60 MB | 200 MB |\n\n" +
                around[1]);

  // ViG-T in int8 has columns of its own. Rows of two engines say which of them is.
  write_file(folder / "bench/results/baselines/onnxruntime-a.csv",
             "cpu,simd,model,height,width,batch,threads,complete,best_quarter_ms,process_bytes,"
             "engine,ratio,ratio_median,difference,precision\n"
             "C,AVX2,\"vig_t\",512,512,1,2,true,8.4,6e7,\"vig\",,,,\"float32\"\n"
             "C,AVX2,\"deit_t\",512,512,1,2,true,14.5,2e8,\"ORT 1\",0.579,0.6,,\"float32\"\n"
             "C,AVX2,\"deit_t\",512,512,1,2,true,7.2,6e7,\"vig\",,,,\"int8\"\n"
             "C,AVX2,\"deit_t\",512,512,1,2,true,9,2e8,\"ORT 1\",0.8,0.9,2e-2,\"int8\"\n"
             "C,AVX2,\"vig_t\",512,512,1,2,true,4.2,6e7,\"vig\",,,,\"int8\"\n"
             "C,AVX2,\"deit_t\",512,512,1,2,true,14.6,2e8,\"ORT 1\",0.29,0.3,,\"float32\"\n");
  EXPECT_EQ(run({}).exit_code, 0);
  const std::string both = read_file(folder / "docs/speed.md");
  for (const char* words : {"\n| deit_t int8 | deit_t int8 | 512 | 1 | 2 | 7.2 | 9.0 | 0.80 |",
                            "\n| vig_t int8 | deit_t | 512 | 1 | 2 | 4.2 | 14.6 | 0.29 |"}) {
    EXPECT_NE(both.find(words), std::string::npos) << words << "\n" << both;
  }
  const std::string integers = read_file(folder / "README.md");
  for (const char* words :
       {"\n| image | ViG-T, this engine | ViG-T, int8 | DeiT-T, ORT 1 | faster by | int8 faster by "
        "| memory here | memory there |\n|---|---|---|---|---|---|---|---|\n",
        "\n| 512 x 512 | 8.4 ms | 4.2 ms | 14.5 ms | 1.7x | 3.4x | 60 MB | 200 MB |\n"}) {
    EXPECT_NE(integers.find(words), std::string::npos) << words << "\n" << integers;
  }

  write_file(folder / "bench/results/b.csv", "cpu,simd,model,complete\nx,y,z,true\n");
  const RunResult broken = run({});
  EXPECT_NE(broken.exit_code, 0);
  EXPECT_NE(broken.err.find("bench/results/b.csv: no column"), std::string::npos) << broken.err;
  EXPECT_EQ(read_file(folder / "README.md"), integers) << "a failure leaves the page alone";
  EXPECT_EQ(read_file(folder / "docs/speed.md"), both);
}

TEST(Markdown, BlocksAndLinks) {
  const std::string page =
      "a [b](docs/c.md#part) ![d](e.png \"f\") [g](https://h)\n\n<!-- not run: why -->\n```sh\nls "
      "x\n```\n```text numbers vary\n```\n";
  const std::vector<FencedBlock> blocks = fenced_blocks(page);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].info, "sh");
  EXPECT_EQ(blocks[0].text, "ls x\n");
  EXPECT_EQ(blocks[0].comment, "not run: why");
  EXPECT_EQ(blocks[0].line, 4);
  EXPECT_EQ(blocks[1].info, "text numbers vary");
  EXPECT_EQ(blocks[1].text, "");
  EXPECT_EQ(local_links(page), (std::vector<std::string>{"docs/c.md", "e.png"}));
}

TEST(Markdown, ShownOutput) {
  EXPECT_TRUE(shows("a\nb\n", "a\nb\n", false));
  EXPECT_FALSE(shows("a\n", "a\nb\n", false));
  EXPECT_FALSE(shows("a\nb\n", "a\n", false));
  EXPECT_TRUE(shows("...\nb\n", "a\nc\nb\n", false));
  EXPECT_TRUE(shows("a\n...\n", "a\n", false));
  EXPECT_FALSE(shows("...\nd\n", "a\nc\nb\n", false));
  EXPECT_FALSE(shows("error 1.5\n", "error 2.5\n", false));
  EXPECT_TRUE(shows("error  1.50e-06 ok\n", "error 23 ok\n", true));
  EXPECT_FALSE(shows("error 1 ok\n", "error 1 FAILED\n", true));
}

}  // namespace
}  // namespace vig::test
