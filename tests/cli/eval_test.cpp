#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/vig.h"
#include "support/xml.h"
#include "vig/base/utf8.h"
#include "vig/models/family.h"
#include "vig/weights/load.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Paths in the data and where the images come from. The model knows ten classes, these are
// three.
const std::vector<std::pair<std::string, std::string>> kImages = {
    {"cat/1.png", "cat_chelsea.png"},       {"cat/2.jpg", "kitten_gray.jpg"},
    {"cat/3.jpg", "pixel_1x1.jpg"},         {"hen/1.webp", "flower.webp"},
    {"hen/2.png", "rocket_gray_trns.png"},  {"jay/1.jpg", "cat_progressive_320x240.jpg"},
    {"jay/below/2.png", "hopper_1bit.png"}, {"jay/3.png", "pixel_1x1.png"}};

void copy_images(const fs::path& folder) {
  for (const auto& [path, image] : kImages) {
    fs::create_directories((folder / path).parent_path());
    fs::copy_file(data("image/photos/" + image), folder / path);
  }
}

class Eval : public testing::Test {
 protected:
  void SetUp() override {
    model_ = make_model(folder_);
    copy_images(folder_ / "data");
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  RunResult eval(const std::string& from, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"eval", "-m", model_, path(from)});
    return vig(more);
  }
  // Without what differs from run to run.
  json report_of(const std::string& from, std::vector<std::string> more = {}) const {
    more.push_back("--json");
    const RunResult result = eval(from, more);
    expect_success(result);
    json report = json::parse(result.out);
    for (const char* key : {"seconds", "images_per_second", "data"}) {
      EXPECT_EQ(report.erase(key), 1u) << key;
    }
    return report;
  }
  void pack(const std::string& archive, const std::string& flags) const {
    ASSERT_EQ(
        run_program({"tar", flags, path(archive), "-C", folder_.path().string(), "data"}).exit_code,
        0);
  }

  TempDir folder_;
  std::string model_;
};

// Counted again from the results of `vig classify`.
TEST_F(Eval, CountsWhatClassifyPredicts) {
  const RunResult results = vig({"classify", "-m", model_, path("data"), "--json", "--top", "10"});
  expect_success(results);
  int top1 = 0, top5 = 0;
  double loss = 0;
  std::map<std::pair<int, int>, int> confusion;
  const json list = json::parse(results.out);
  ASSERT_EQ(list.size(), kImages.size());
  for (const json& image : list) {
    const std::string file = image["file"];
    for (int rank = 0; rank < 10; ++rank) {
      const json& score = image["classes"][rank];
      if (file.find("data/" + score["name"].get<std::string>()) == std::string::npos) continue;
      top1 += rank < 1;
      top5 += rank < 5;
      loss -= std::log(score["probability"].get<double>());
      ++confusion[{score["index"], image["classes"][0]["index"]}];
    }
  }
  const json report = report_of("data");
  const auto count = static_cast<int>(kImages.size());
  EXPECT_EQ(report["images"], count);
  EXPECT_EQ(report["skipped"], 0);
  EXPECT_EQ(report["complete"], true);
  EXPECT_EQ(report["split"], "");
  EXPECT_EQ(report["model"], model_);
  EXPECT_EQ(report["arch"], "test_vig");
  EXPECT_NEAR(report["top1"].get<double>(), 1.0 * top1 / count, 1e-12);
  EXPECT_NEAR(report["top5"].get<double>(), 1.0 * top5 / count, 1e-12);
  EXPECT_NEAR(report["loss"].get<double>(), loss / count, 1e-5);
  double recall = 0;
  for (const int index : {2, 7, 9}) recall += report["classes"][index]["recall"].get<double>() / 3;
  EXPECT_NEAR(report["balanced_accuracy"].get<double>(), recall, 1e-12);
  EXPECT_GE(report["macro_f1"], 0);
  ASSERT_EQ(report["confusion"].size(), confusion.size());
  for (const json& cell : report["confusion"]) {
    EXPECT_EQ((confusion[{cell["label"], cell["prediction"]}]), cell["images"]);
  }
  ASSERT_EQ(report["classes"].size(), 10u);
  EXPECT_EQ(report["classes"][2]["name"], "cat");
  EXPECT_EQ(report["classes"][2]["images"], 3);
  EXPECT_EQ(report["classes"][0]["images"], 0);
  EXPECT_TRUE(report["classes"][0]["recall"].is_null());
}

TEST_F(Eval, FolderOrArchiveThreadsAndBatchMakeNoDifference) {
  pack("data.tar", "-cf");
  pack("data.tar.gz", "-czf");
  const json expected = report_of("data", {"--batch", "1", "--threads", "1"});
  for (const char* from : {"data", "data.tar", "data.tar.gz"}) {
    for (const char* threads : {"1", "3"}) {
      for (const char* batch : {"1", "3", "8"}) {
        EXPECT_EQ(report_of(from, {"--batch", batch, "--threads", threads}), expected)
            << from << " " << threads << " " << batch;
      }
    }
  }
}

TEST_F(Eval, TextHasTheSameFigures) {
  const json report = report_of("data");
  const RunResult result = eval("data");
  expect_success(result);
  std::map<std::string, std::string> facts;
  std::map<std::string, std::vector<std::string>> rows;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    facts[line.substr(0, line.find(' '))] =
        line.substr(line.find_first_not_of(' ', line.find(' ')));
  }
  EXPECT_EQ(facts["model"], model_ + ", test_vig");
  EXPECT_EQ(facts["data"], path("data"));
  EXPECT_EQ(facts["images"], "8");
  EXPECT_EQ(facts["skipped"], "0");
  EXPECT_NEAR(std::stod(facts["top-1"]), 100 * report["top1"].get<double>(), 0.0051);
  EXPECT_NEAR(std::stod(facts["top-5"]), 100 * report["top5"].get<double>(), 0.0051);
  EXPECT_NEAR(std::stod(facts["loss"]), report["loss"].get<double>(), 0.000051);
  EXPECT_NEAR(std::stod(facts["balanced"]), 100 * report["balanced_accuracy"].get<double>(),
              0.0051);
  EXPECT_NEAR(std::stod(facts["macro"].substr(2)), report["macro_f1"].get<double>(), 0.000051);
  EXPECT_NE(facts["speed"].find("images/s"), std::string::npos);
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("class ")) << line;
  for (const json& expected : report["classes"]) {
    ASSERT_TRUE(std::getline(lines, line));
    std::istringstream words(line);
    std::string name;
    int images = -1, predicted = -1, correct = -1;
    words >> name >> images >> predicted >> correct;
    EXPECT_EQ(name, expected["name"]);
    EXPECT_EQ(images, expected["images"]);
    EXPECT_EQ(predicted, expected["predicted"]);
    EXPECT_EQ(correct, expected["correct"]);
    for (const char* share : {"recall", "precision"}) {
      if (expected[share].is_null()) continue;
      double percent = -1;
      std::string sign;
      words >> percent >> sign;
      EXPECT_NEAR(percent, 100 * expected[share].get<double>(), 0.0051) << share << line;
    }
    EXPECT_FALSE(words >> name) << line;
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST_F(Eval, FilesForTablesAndImages) {
  const json report = report_of("data", {"--confusion", path("c.svg"), "--csv", path("c.csv")});
  const std::string svg = read_file(path("c.svg"));
  EXPECT_EQ(xml_problem(svg), "");
  for (const json& cell : report["confusion"]) {
    const std::string names[2] = {report["classes"][cell["label"].get<int>()]["name"],
                                  report["classes"][cell["prediction"].get<int>()]["name"]};
    EXPECT_NE(svg.find(names[0] + " taken for " + names[1] + ": " + cell["images"].dump()),
              std::string::npos);
  }
  std::istringstream table(read_file(path("c.csv")));
  std::string line;
  std::getline(table, line);
  EXPECT_EQ(line, "index,class,images,predicted,correct,recall,precision");
  for (const json& row : report["classes"]) {
    std::getline(table, line);
    const std::string begin = row["index"].dump() + "," + row["name"].dump() + "," +
                              row["images"].dump() + "," + row["predicted"].dump() + "," +
                              row["correct"].dump() + ",";
    ASSERT_TRUE(line.starts_with(begin)) << line << "\n" << begin;
    const std::string rest = line.substr(begin.size());
    const auto cell = [](const json& share) {
      return share.is_null() ? "" : fmt::format("{}", share.get<double>());
    };
    EXPECT_EQ(rest, cell(row["recall"]) + "," + cell(row["precision"])) << line;
  }
  for (const char* option : {"--confusion", "--csv"}) {
    const RunResult result = eval("data", {option, path("no/such/folder/x")});
    expect_complaint(result, 1, "no/such/folder/x");
    EXPECT_EQ(result.out, "");
  }
}

// A line for each image in the order of the data, with what `vig classify` predicts.
TEST_F(Eval, PredictionsAreThoseOfClassify) {
  fs::rename(folder_ / "data/hen/1.webp", folder_ / "data/hen/1, \"a\".webp");
  write_file(folder_ / "data/jay/broken.png", "no image");
  EXPECT_EQ(eval("data", {"--predictions", path("p.csv"), "--threads", "2"}).exit_code, 3);
  const RunResult classify = vig({"classify", "-m", model_, path("data"), "--top", "5", "--json"});
  expect_complaint(
      vig({"classify", "-m", model_, path("data"), "--top", "5", "--out", path("c.csv")}), 3,
      "broken.png");
  std::istringstream lines(read_file(path("p.csv"))), results(read_file(path("c.csv")));
  std::string line, result;
  std::getline(lines, line);
  std::getline(results, result);
  EXPECT_EQ(result.substr(0, 26), "file,index1,class1,probabi");
  EXPECT_EQ(line, "file,label,correct" + result.substr(4));
  const json list = json::parse(classify.out);
  ASSERT_EQ(list.size(), kImages.size() + 1);
  for (const json& image : list) {
    const std::string file = image["file"];
    ASSERT_TRUE(std::getline(lines, line) && std::getline(results, result));
    const std::string label = fs::path(file).lexically_relative(path("data")).begin()->string();
    std::string quoted = "\"";
    for (const char c : file) quoted += c == '"' ? "\"\"" : std::string(1, c);
    quoted += "\"";
    ASSERT_TRUE(result.starts_with(quoted + ",")) << result;
    const std::string rest = result.substr(quoted.size());
    if (image.contains("error")) {
      EXPECT_TRUE(rest.starts_with(",,,,")) << rest;
      EXPECT_EQ(line, quoted + ",\"" + label + "\"," + rest);
      continue;
    }
    const json& best = image["classes"][0];
    const bool correct = best["name"] == label;
    EXPECT_TRUE(rest.starts_with("," + best["index"].dump() + "," + best["name"].dump() + "," +
                                 best["probability"].dump() + ","))
        << rest;
    EXPECT_EQ(line, quoted + ",\"" + label + (correct ? "\",true" : "\",false") + rest);
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST_F(Eval, ThePageOfMistakes) {
  const json report = report_of("data", {"--mistakes", "2", "--page", path("m.html")});
  const std::string page = read_file(path("m.html"));
  EXPECT_EQ(xml_problem(page.substr(page.find('\n') + 1)), "");
  const auto times = [&](const std::string& part) {
    size_t count = 0;
    for (size_t at = page.find(part); at != std::string::npos; at = page.find(part, at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(times("<figure>"), 2u);
  EXPECT_EQ(times("src=\"data:image/jpeg;base64,/9j/"), 2u);
  EXPECT_EQ(times("class=\"wrong\""), 2u);
  EXPECT_EQ(times("http"), 1u);  // of http-equiv
  EXPECT_LT(page.size(), 200'000u);
  const auto wrong = static_cast<int>(std::lround(8 * (1 - report["top1"].get<double>())));
  EXPECT_NE(page.find("The 2 most confident of " + std::to_string(wrong) + " mistakes among 8"),
            std::string::npos);
  expect_complaint(eval("data", {"--mistakes", "0"}), 2, "--mistakes");
  expect_complaint(eval("data", {"--page", path("n.html")}), 2, "--mistakes");
}

// Images and pages are passed on, without the folder they were made in.
TEST_F(Eval, TitlesNameNoFolders) {
  expect_success(
      eval("data", {"--confusion", path("c.svg"), "--mistakes", "1", "--page", path("m.html")}));
  const std::string svg = read_file(path("c.svg")), page = read_file(path("m.html"));
  EXPECT_EQ(svg.find(folder_.path().string()), std::string::npos);
  EXPECT_NE(svg.find(">model.safetensors on data: top-1 "), std::string::npos);
  EXPECT_NE(page.find("<h1>Mistakes of model.safetensors on data</h1>"), std::string::npos);
  RunOptions inside;
  inside.directory = folder_ / "data";
  expect_success(
      vig({"eval", "-m", "../model.safetensors", "../data/", "--confusion", "../d.svg"}, inside));
  EXPECT_NE(read_file(path("d.svg")).find(">model.safetensors on data: top-1 "), std::string::npos);
}

TEST_F(Eval, FiveBestOfThreeClassesSayNothing) {
  ModelSpec spec = find_model("test_vig");
  override_field(spec, "classes", "3");
  const auto weights = random_weights(build_graph(spec, 64, 64).params, 1);
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < weights->size(); ++i) {
    tensors.push_back(
        {weights->spec(i).name, {weights->data(i), DType::kF32, weights->spec(i).shape}});
  }
  write_safetensors(path("three.safetensors"), tensors,
                    {{"vig.arch", "test_vig"}, {"vig.overrides", R"({"classes": "3"})"}});
  model_ = path("three.safetensors");
  EXPECT_TRUE(report_of("data", {"--predictions", path("p.csv")})["top5"].is_null());
  EXPECT_EQ(eval("data").out.find("top-5"), std::string::npos);
  EXPECT_NE(eval("data").out.find("top-1"), std::string::npos);
  const std::string table = read_file(path("p.csv"));
  EXPECT_NE(table.find(",probability3,error\n"), std::string::npos) << table;
}

// Names of classes as wide as they are shown.
TEST_F(Eval, ColumnsAlignWithWideNames) {
  write_file(folder_ / "classes.txt",
             "ant\n漢字漢字漢字\ncat\ne\u0301e\u0301l\neel\nfox\ngnu\nhen\nibis\njay\n");
  ASSERT_EQ(vig({"convert", golden("vig-mini-silu.pth"), model_, "--arch", "test_vig", "--classes",
                 path("classes.txt"), "--force"})
                .exit_code,
            0);
  const RunResult result = eval("data");
  expect_success(result);
  std::istringstream lines(result.out.substr(result.out.find("class ")));
  std::string line;
  std::getline(lines, line);
  const size_t end = display_width(line.substr(0, line.find("images") + 6));
  for (int row = 0; row < 10; ++row) {
    std::getline(lines, line);
    const size_t number = line.find_first_of("0123456789");
    ASSERT_NE(number, std::string::npos);
    EXPECT_EQ(display_width(line.substr(0, number + 1)), end) << line;
  }
}

TEST_F(Eval, NothingInANameSteersTheTerminal) {
  write_file(folder_ / "classes.txt",
             "a\u009b31mnt\nb\u202eee\ncat\ndog\neel\nfox\ngnu\nhen\nibis\njay\n");
  ASSERT_EQ(vig({"convert", golden("vig-mini-silu.pth"), model_, "--arch", "test_vig", "--classes",
                 path("classes.txt"), "--force"})
                .exit_code,
            0);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"eval", "-m", model_, path("data")},
        {"eval", "-m", model_, path("data"), "--json"},
        {"classify", "-m", model_, path("data"), "--top", "10"},
        {"classify", "-m", model_, path("data"), "--top", "10", "--json"},
        {"info", model_},
        {"info", model_, "--json"}}) {
    const RunResult result = vig(command);
    expect_success(result);
    EXPECT_EQ(result.out.find("\u009b"), std::string::npos) << command[0];
    EXPECT_EQ(result.out.find("\u202e"), std::string::npos) << command[0];
  }
  EXPECT_NE(eval("data").out.find("a\\xc2\\x9b31mnt"), std::string::npos);
  EXPECT_EQ(report_of("data")["classes"][0]["name"], "a\u009b31mnt");  // escaped, not changed
}

// Both decode options change what the network sees.
TEST_F(Eval, DecodeOptionsReachTheImages) {
  fs::create_directories(folder_ / "turned/cat");
  fs::copy_file(data("image/photos/hopper_orient6.webp"), folder_ / "turned/cat/1.webp");
  const json turned = report_of("turned"), stored = report_of("turned", {"--ignore-orientation"});
  EXPECT_NE(turned["loss"], stored["loss"]);
  const RunResult classify = vig(
      {"classify", "-m", model_, path("turned"), "--json", "--top", "10", "--ignore-orientation"});
  const json results = json::parse(classify.out);
  int cats = 0;
  for (const json& score : results[0]["classes"]) {
    if (score["name"] != "cat") continue;
    EXPECT_NEAR(stored["loss"].get<double>(), -std::log(score["probability"].get<double>()), 1e-5);
    ++cats;
  }
  EXPECT_EQ(cats, 1);
  const RunResult small = eval("data", {"--max-pixels", "10"});
  EXPECT_EQ(small.exit_code, 3);
  EXPECT_NE(small.out.find("images  2\nskipped   6\n"), std::string::npos) << small.out;
  EXPECT_NE(small.err.find("--max-pixels"), std::string::npos) << small.err;
}

TEST_F(Eval, TakesTestThenValThenTheRest) {
  const auto part_of = [&](std::vector<std::string> more = {}) -> std::string {
    return report_of("parts", more)["split"];
  };
  fs::create_directories(folder_ / "parts");
  fs::rename(folder_ / "data", folder_ / "parts/train");
  fs::create_directories(folder_ / "parts");
  copy_images(folder_ / "parts/val");
  EXPECT_EQ(part_of(), "val");
  copy_images(folder_ / "parts/test");
  EXPECT_EQ(part_of(), "test");
  EXPECT_EQ(part_of({"--split", "train"}), "train");
  EXPECT_EQ(part_of({"--split", "val"}), "val");
  fs::remove_all(folder_ / "parts/val");
  expect_complaint(eval("parts", {"--split", "val"}), 1, "only train and test");
  copy_images(folder_ / "data");
  expect_complaint(eval("data", {"--split", "test"}), 1, "test");
}

// A competition's test images have no labels; a small split may lack a class.
TEST_F(Eval, OtherPartsDoNotMatter) {
  copy_images(folder_ / "parts/train");
  copy_images(folder_ / "parts/val");
  fs::remove_all(folder_ / "parts/val/hen");
  json of_val = report_of("parts", {"--split", "val"});
  EXPECT_EQ(of_val["images"], 6);
  EXPECT_EQ(report_of("parts"), of_val);
  EXPECT_EQ(report_of("parts", {"--split", "train"})["images"], 8);
  fs::create_directories(folder_ / "parts/test");
  fs::copy_file(data("image/photos/flower.webp"), folder_ / "parts/test/1.webp");
  EXPECT_EQ(report_of("parts", {"--split", "val"}), of_val);
  expect_complaint(eval("parts"), 1, "test/1.webp");
  fs::remove_all(folder_ / "parts/val");
  expect_complaint(eval("parts", {"--split", "val"}), 1, "only train and test");
}

TEST_F(Eval, ClassesThatTheModelDoesNotKnow) {
  fs::rename(folder_ / "data/hen", folder_ / "data/hens");
  const RunResult result = eval("data");
  expect_complaint(result, 1, "classes hens of the data");
  EXPECT_NE(result.err.find("hen, ibis"), std::string::npos) << result.err;
}

TEST_F(Eval, OutputsWithoutNames) {
  const std::string nameless = path("nameless.safetensors");
  ASSERT_EQ(vig({"convert", golden("vig-mini-silu.pth"), nameless, "--arch", "test_vig"}).exit_code,
            0);
  expect_complaint(vig({"eval", "-m", nameless, path("data")}), 1, "10 classes without names");
  for (const char* name : {"a", "b", "d", "e", "f", "g", "i"}) {
    fs::create_directories(folder_ / "data" / name);
    fs::copy_file(data("image/photos/pixel_1x1.png"), folder_ / "data" / name / "x.png");
  }
  const RunResult result = vig({"eval", "-m", nameless, path("data"), "--json"});
  expect_success(result);
  const json report = json::parse(result.out);
  EXPECT_EQ(report["classes"][2]["name"], "cat");  // a b cat ...
  EXPECT_EQ(report["classes"][2]["images"], 3);
  EXPECT_EQ(report["images"], 15);
}

TEST_F(Eval, BrokenImagesAreReportedAndCounted) {
  const json whole = report_of("data");
  write_file(folder_ / "data/cat/broken.jpg", "not at all");
  write_file(folder_ / "data/hen/empty.png", "");
  const RunResult result = eval("data", {"--json"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
  EXPECT_NE(result.err.find("data/cat/broken.jpg"), std::string::npos) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["skipped"], 2);
  EXPECT_EQ(report["confusion"], whole["confusion"]);
  const RunResult text = eval("data");
  EXPECT_EQ(text.exit_code, 3);
  EXPECT_NE(text.out.find("skipped   2\n"), std::string::npos) << text.out;
}

TEST_F(Eval, NothingToCount) {
  fs::create_directories(folder_ / "empty");
  expect_complaint(eval("empty"), 1, "empty");
  expect_complaint(eval("missing"), 1, "missing");
  expect_complaint(vig({"eval", "-m", model_, data("image/photos/flower.webp")}), 1, "flower.webp");
  write_file(folder_ / "bad/cat/1.png", "no image");
  const RunResult result = eval("bad");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("none of its 1 images"), std::string::npos) << result.err;
}

TEST_F(Eval, ImagesOfWhichNoneCanBeReadAreNotTriedToTheEnd) {
  for (int i = 0; i < 11000; ++i) write_file(folder_ / fmt::format("bad/cat/{}.png", i), "");
  const RunResult result = eval("bad");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  // A thousand by name, a sentence that the others are counted, and how it ended.
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1002) << result.err.substr(0, 1000);
  EXPECT_NE(result.err.find("images could be read; the other"), std::string::npos);
}

TEST_F(Eval, OneClassAndOtherSizesAreEnough) {
  fs::create_directories(folder_ / "one");
  fs::rename(folder_ / "data/cat", folder_ / "one/cat");
  EXPECT_EQ(report_of("one")["images"], 3);
  EXPECT_NE(report_of("one", {"--size", "96"})["loss"], report_of("one")["loss"]);
  expect_complaint(eval("one", {"--size", "2"}), 1, "too small");
}

TEST_F(Eval, NamesThatAreNoText) {
  const std::string odd = "od\x1b[31md";
  write_file(folder_ / "data" / odd / "1.png", "no image");
  const RunResult result = eval("data");
  expect_complaint(result, 1, "\\x1b");
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos);
}

TEST_F(Eval, TheDefaultModelIsUsedToo) {
  RunOptions options;
  options.environment = {"VIG_DEFAULT_MODEL=" + model_};
  const RunResult result = vig({"eval", path("data")}, options);
  expect_success(result);
  EXPECT_EQ(result.out.find("model     default, " + model_ + ", test_vig\n"), 0u) << result.out;
}

// Ctrl-C: what is finished is counted and reported. A broken image shows that it is under way.
TEST_F(Eval, InterruptTellsWhatIsDone) {
  for (int i = 0; i < 400; ++i) {
    fs::create_symlink(data("image/photos/cat_progressive_320x240.jpg"),
                       folder_ / ("data/cat/x" + std::to_string(i) + ".jpg"));
    if (i % 2 == 0) write_file(folder_ / ("data/hen/y" + std::to_string(i) + ".jpg"), "broken");
  }
  const RunResult result =
      interrupt_vig({"eval", "-m", model_, path("data"), "--json", "--size", "896", "--csv",
                     path("c.csv"), "--confusion", path("c.svg"), "--predictions", path("p.csv")},
                    path("err"),
                    /*lines=*/1, /*stream=*/2);
  EXPECT_EQ(result.exit_code, 130) << read_file(path("err"));
  EXPECT_NE(read_file(path("err")).find("stopped after"), std::string::npos);
  const json report = json::parse(result.out);
  EXPECT_EQ(report["complete"], false);
  EXPECT_GE(report["skipped"], 1);
  EXPECT_LT(report["images"], 400);
  for (const char* name : {"c.csv", "c.svg", "p.csv"}) {
    EXPECT_FALSE(fs::exists(path(name))) << name;
    EXPECT_TRUE(fs::exists(path(std::string(name) + ".partial"))) << name;
  }
  const std::string rows = read_file(path("p.csv.partial"));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n') - 1,
            report["images"].get<int>() + report["skipped"].get<int>());
}

}  // namespace
}  // namespace vig::test
