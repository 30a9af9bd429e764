#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <regex>
#include <set>

#include "cli/vig.h"
#include "support/started_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Classify : public testing::Test {
 protected:
  void SetUp() override {
    model_ = make_model(folder_);
    fs::create_directories(folder_ / "images/below");
    fs::copy_file(data("image/photos/cat_chelsea.png"), folder_ / "images/b.PNG");
    fs::copy_file(data("image/photos/flower.webp"), folder_ / "images/below/a.webp");
    fs::copy_file(data("image/photos/kitten_gray.jpg"), folder_ / "images/c.jpg");
    write_file(folder_ / "images/notes.txt", "no image");
  }
  std::string images() const { return (folder_ / "images").string(); }

  TempDir folder_;
  std::string model_;
};

TEST_F(Classify, OneImage) {
  const RunResult result =
      vig({"classify", "-m", model_, data("image/photos/cat_chelsea.png"), "--top", "3"});
  expect_success(result);
  std::istringstream lines(result.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, data("image/photos/cat_chelsea.png"));
  double last = 101;
  int rows = 0;
  for (; std::getline(lines, line); ++rows) {
    std::istringstream words(line);
    double percent = 0;
    std::string sign, name;
    int index = -1;
    words >> percent >> sign >> index >> name;
    EXPECT_LE(percent, last);
    last = percent;
    EXPECT_EQ(name[0], "abcdefghij"[index]);
  }
  EXPECT_EQ(rows, 3);
}

TEST_F(Classify, FoldersAreListedInOrder) {
  const RunResult result = vig({"classify", "-m", model_, images(), "--json", "--top", "10"});
  expect_success(result);
  const json list = json::parse(result.out);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["file"], images() + "/b.PNG");
  EXPECT_EQ(list[1]["file"], images() + "/below/a.webp");
  EXPECT_EQ(list[2]["file"], images() + "/c.jpg");
  for (const json& entry : list) {
    ASSERT_EQ(entry["classes"].size(), 10u);
    double sum = 0;
    for (const json& score : entry["classes"]) sum += score["probability"].get<double>();
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST_F(Classify, FoldersHoldImagesOfEveryFormat) {
  const fs::path all = folder_ / "all";
  fs::create_directories(all);
  const std::pair<const char*, const char*> files[] = {
      {"photo.avif", "a.avif"}, {"rgb24.bmp", "b.BMP"},  {"palette.gif", "c.gif"},
      {"photo.heic", "d.heic"}, {"grid.heic", "e.heif"}, {"binary.pbm", "f.pbm"},
      {"binary.pgm", "g.pgm"},  {"text.ppm", "h.pnm"},   {"binary.ppm", "i.ppm"},
  };
  for (const auto& [from, to] : files) {
    fs::copy_file(data(std::string("image/formats/") + from), all / to);
  }
  const RunResult result = vig({"classify", "-m", model_, all.string(), "--json", "--top", "1"});
  expect_success(result);
  const json list = json::parse(result.out);
  ASSERT_EQ(list.size(), std::size(files));
  for (size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i]["file"], (all / files[i].second).string());
    EXPECT_TRUE(list[i].contains("classes")) << list[i];
  }
}

TEST_F(Classify, FoldersHoldOtherThingsThanImages) {
  fs::create_directories(folder_ / "elsewhere");
  fs::copy_file(data("image/photos/flower.webp"), folder_ / "elsewhere/linked.webp");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "images/link");
  fs::create_directory_symlink(folder_ / "images", folder_ / "images/below/circle");
  fs::create_directories(folder_ / "images/.thumbs");
  fs::copy_file(data("image/photos/flower.webp"), folder_ / "images/.thumbs/t.webp");
  write_file(folder_ / "images/._b.PNG", "left by a desktop");
  const std::string pipe = images() + "/pipe.jpg";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const RunResult result = vig({"classify", "-m", model_, images(), "--json", "--top", "1"});
  expect_complaint(result, 3, pipe + ": expected an image file, found a device or pipe");
  const json list = json::parse(result.out);
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[3]["file"], images() + "/link/linked.webp");
}

TEST_F(Classify, QuotedPatterns) {
  const RunResult result =
      vig({"classify", "-m", model_, images() + "/*.[Pj]*", "--json", "--top", "1"});
  expect_success(result);
  EXPECT_EQ(json::parse(result.out).size(), 2u);
  // A file that is named like a pattern is a file.
  fs::copy_file(data("image/photos/flower.webp"), folder_ / "odd[1].webp");
  expect_success(vig({"classify", "-m", model_, (folder_ / "odd[1].webp").string()}));
}

TEST_F(Classify, PatternsThatMatchNothingAreReported) {
  const std::string nothing = images() + "/*.gone";
  const RunResult some =
      vig({"classify", "-m", model_, nothing, images() + "/*.jpg", "--json", "--top", "1"});
  expect_complaint(some, 3, nothing + ": found no images: nothing matches");
  EXPECT_EQ(json::parse(some.out).size(), 1u);
  const RunResult none = vig({"classify", "-m", model_, nothing});
  expect_complaint(none, 1, nothing + ": found no images: nothing matches");
  EXPECT_EQ(none.out, "");
}

TEST_F(Classify, ResultsDoNotDependOnBatchOrThreads) {
  const RunResult one =
      vig({"classify", "-m", model_, images(), "--json", "--batch", "1", "--threads", "1"});
  const RunResult many =
      vig({"classify", "-m", model_, images(), "--json", "--batch", "2", "--threads", "3"});
  expect_success(one);
  EXPECT_EQ(one.out, many.out);
}

TEST_F(Classify, PrecisionCanBeChosen) {
  const auto run = [&](std::vector<std::string> options) {
    std::vector<std::string> arguments = {"classify", "-m", model_, images(), "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const RunResult result = vig(arguments);
    expect_success(result);
    return result.out;
  };
  const std::string floats = run({}), integers = run({"--precision", "int8"});
  EXPECT_EQ(floats, run({"--precision", "float32"}));
  EXPECT_NE(floats, integers);
  EXPECT_EQ(integers, run({"--precision", "int8", "--threads", "1", "--batch", "1"}));
  EXPECT_EQ(floats, run({"--precision", "int8", "--float-layers", "*"}));
  EXPECT_NE(integers, run({"--precision", "int8", "--float-layers", "blocks.0.*"}));
  expect_complaint(vig({"classify", "-m", model_, images(), "--precision", "int4"}), 2, "int4");
  expect_complaint(vig({"classify", "-m", model_, images(), "--float-layers", "*"}), 2,
                   "--precision");
  expect_complaint(
      vig({"classify", "-m", model_, images(), "--precision", "int8", "--float-layers", "no_such"}),
      2, "no_such");
}

TEST_F(Classify, OtherSizes) {
  for (const char* size : {"33", "96", "500"}) {
    expect_success(vig({"classify", "-m", model_, images(), "--size", size}));
  }
  expect_complaint(vig({"classify", "-m", model_, images(), "--size", "2"}), 1, "too small");
}

TEST_F(Classify, OrientationCanBeIgnored) {
  const std::string turned = data("image/photos/hopper_orient6.webp");
  const RunResult upright = vig({"classify", "-m", model_, turned});
  const RunResult stored = vig({"classify", "-m", model_, turned, "--ignore-orientation"});
  expect_success(upright);
  expect_success(stored);
  EXPECT_NE(upright.out, stored.out);
}

TEST_F(Classify, BrokenImagesAreSkippedAndCounted) {
  write_file(folder_ / "images/broken.jpg", "not at all");
  write_file(folder_ / "images/empty.png", "");
  const RunResult result = vig({"classify", "-m", model_, images(), "--top", "1"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
  EXPECT_NE(result.err.find("broken.jpg"), std::string::npos);
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 6) << result.out;
  const RunResult as_json = vig({"classify", "-m", model_, images(), "--json"});
  EXPECT_EQ(as_json.exit_code, 3);
  const json list = json::parse(as_json.out);
  ASSERT_EQ(list.size(), 5u);
  EXPECT_TRUE(list[2].contains("error"));  // b.PNG, below/a.webp, broken.jpg, ...
}

TEST_F(Classify, ImagesThatAreNotThere) {
  expect_complaint(vig({"classify", "-m", model_, "missing.png"}), 1, "missing.png");
  expect_complaint(vig({"classify", "-m", model_, images() + "/*.tiff"}), 1, "no images");
  fs::create_directories(folder_ / "empty");
  expect_complaint(vig({"classify", "-m", model_, (folder_ / "empty").string()}), 1, "no images");
  const RunResult none = vig({"classify", "-m", model_, "missing.png", "--json"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(json::parse(none.out).size(), 1u);
}

TEST_F(Classify, TooManyPixels) {
  expect_complaint(
      vig({"classify", "-m", model_, data("image/photos/cat_chelsea.png"), "--max-pixels", "1000"}),
      1, "limit of 1000 pixels");
}

TEST_F(Classify, NamesThatAreNoText) {
  const fs::path odd = folder_ / "odd\x1b[31m\xff.png";
  fs::copy_file(data("image/photos/flower.webp"), odd);
  const RunResult text = vig({"classify", "-m", model_, odd.string()});
  expect_success(text);
  EXPECT_EQ(text.out.find('\x1b'), std::string::npos);
  const RunResult as_json = vig({"classify", "-m", model_, odd.string(), "--json"});
  expect_success(as_json);
  EXPECT_EQ(json::parse(as_json.out).size(), 1u);
  write_file(odd, "broken");
  const RunResult broken = vig({"classify", "-m", model_, odd.string()});
  expect_complaint(broken, 1, "\\x1b");
}

// Ctrl-C: what was finished is printed, and JSON stays whole.
TEST_F(Classify, InterruptLosesNothing) {
  for (int i = 0; i < 400; ++i) {
    fs::create_symlink(data("image/photos/cat_progressive_320x240.jpg"),
                       folder_ / ("images/x" + std::to_string(i) + ".jpg"));
  }
  const std::string out = (folder_ / "out.json").string();
  const RunResult result = interrupt_vig(
      {"classify", "-m", model_, images(), "--json", "--size", "896", "--top", "1"}, out, 1);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_NE(result.err.find("stopped after"), std::string::npos) << result.err;
  const json list = json::parse(read_file(out));
  EXPECT_GE(list.size(), 1u);
  EXPECT_LT(list.size(), 403u);
}

// Every broken image: its own sentence, in bounded time and memory.
TEST_F(Classify, EveryBrokenImage) {
  std::istringstream table(read_file(data("image/broken/index.tsv")));
  std::string line;
  std::getline(table, line);
  std::set<std::string> must_fail;
  while (std::getline(table, line)) {
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (line.substr(second + 1, line.find('\t', second + 1) - second - 1) == "error") {
      must_fail.insert(line.substr(0, first));
    }
  }
  ASSERT_GT(must_fail.size(), 30u);
  for (const auto& entry : fs::directory_iterator(data("image/broken"))) {
    const std::string name = entry.path().filename().string();
    if (name == "index.tsv") continue;
    SCOPED_TRACE(name);
    RunOptions options;
    options.time_limit = 20;
    const RunResult result =
        vig({"classify", "-m", model_, entry.path().string(), "--threads", "1"}, options);
    if (must_fail.contains(name) || result.exit_code != 0) {
      expect_complaint(result, 1, name);
      EXPECT_EQ(result.out, "");
    } else {
      expect_success(result);
    }
  }
}

TEST_F(Classify, StandardInputIsAImage) {
  RunOptions options;
  options.input = read_file(data("image/photos/flower.webp"));
  const RunResult file =
      vig({"classify", "-m", model_, data("image/photos/flower.webp"), "--json"});
  json expected = json::parse(file.out);
  for (const char* name : {"-", "/dev/stdin"}) {
    const RunResult result = vig({"classify", "-m", model_, name, "--json"}, options);
    expect_success(result);
    expected[0]["file"] = name;
    EXPECT_EQ(json::parse(result.out), expected);
  }
  expect_complaint(vig({"classify", "-m", model_, "-"}), 1, "standard input: the file is empty");
  options.input = "no image";
  expect_complaint(vig({"classify", "-m", model_, "-"}, options), 1,
                   "standard input: not an image");
}

// What cannot become an image is refused though the stream does not end.
TEST_F(Classify, AStreamWithoutEndIsJudgedByItsStart) {
  NamedPipe pipe(folder_ / "pipe");
  StartedProgram program({kVig, "classify", "-m", model_, pipe.path()}, folder_.path());
  pipe.wait_for_reader();
  pipe.write(std::string(100, '\0'));
  EXPECT_EQ(program.wait(), 1);
  EXPECT_NE(program.err().find(pipe.path() + ": not an image"), std::string::npos) << program.err();
}

// Streams are read one after the other, though images are read by several threads.
TEST_F(Classify, AStreamIsReadOnceAndInItsTurn) {
  RunOptions options;
  options.input = read_file(data("image/photos/flower.webp"));
  const RunResult twice =
      vig({"classify", "-m", model_, "-", images() + "/c.jpg", "-", "--json", "--threads", "4"},
          options);
  expect_complaint(twice, 3, "standard input: the file is empty");
  const json list = json::parse(twice.out);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_TRUE(list[0].contains("classes"));
  EXPECT_TRUE(list[1].contains("classes"));
  EXPECT_TRUE(list[2].contains("error"));

  // A writer that fills one pipe after the other does not wait for ever.
  NamedPipe first(folder_ / "first"), second(folder_ / "second");
  StartedProgram program(
      {kVig, "classify", "-m", model_, first.path(), second.path(), "--json", "--threads", "4"},
      folder_.path());
  for (NamedPipe* pipe : {&first, &second}) {
    pipe->wait_for_reader();
    pipe->write(options.input);
    pipe->close();
  }
  EXPECT_EQ(program.wait(), 0) << program.err();
  const json results = json::parse(program.out());
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]["file"], first.path());
  EXPECT_EQ(results[0]["classes"], results[1]["classes"]);
}

// Numbers as short as read back to the same float.
TEST_F(Classify, NumbersAreShort) {
  const RunResult result = vig({"classify", "-m", model_, images(), "--json", "--top", "10"});
  size_t seen = 0;
  const std::regex number("\"(?:probability|logit)\": ?([-+.eE0-9]+)");
  for (std::sregex_iterator found(result.out.begin(), result.out.end(), number), end; found != end;
       ++found, ++seen) {
    const std::string text = (*found)[1];
    EXPECT_EQ(std::stod(text), std::stod(fmt::format("{}", std::stof(text)))) << text;
    EXPECT_LE(std::count_if(text.begin(), text.end(), isdigit), 13) << text;
  }
  EXPECT_EQ(seen, 60u);
}

TEST_F(Classify, APatternSkipsPipesAndSaysSo) {
  const std::string pipe = images() + "/pipe.jpg";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const RunResult result = vig({"classify", "-m", model_, images() + "/*.*", "--json"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find(pipe + ": expected an image file, found a device or pipe"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(json::parse(result.out).size(), 3u);  // b.PNG, c.jpg and notes.txt, which is broken
}

TEST_F(Classify, TableOfPredictions) {
  const std::string table = (folder_ / "t.csv").string();
  const RunResult result =
      vig({"classify", "-m", model_, images() + "/b.PNG", "--top", "2", "--out", table});
  expect_success(result);
  const std::string text = read_file(table);
  EXPECT_TRUE(
      text.starts_with("file,index1,class1,probability1,index2,class2,probability2,error\n"
                       "\"" +
                       images() + "/b.PNG\","))
      << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  // Of ten classes there are ten, not as many as asked for.
  expect_success(
      vig({"classify", "-m", model_, images() + "/b.PNG", "--top", "50", "--out", table}));
  EXPECT_NE(read_file(table).find("index10,class10,probability10,error\n"), std::string::npos)
      << read_file(table);
  expect_complaint(vig({"classify", "-m", model_, images(), "--out", "/no/such/x.csv"}), 1,
                   "/no/such/x.csv");
}

}  // namespace
}  // namespace vig::test
