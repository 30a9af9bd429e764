// `vig receptive-field` as its users see it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/run_program.h"
#include "support/tree.h"
#include "support/xml.h"
#include "train/fixtures.h"

namespace vig::test {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

class FieldProgram : public ::testing::Test {
 protected:
  FieldProgram() { write_files(folder_ / "images", striped_images(2, 3)); }

  RunResult run(const Arguments& more, const std::string& model = "test_vig") const {
    Arguments arguments = {kVig, "receptive-field", model, (folder_ / "images").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  TempDir folder_;
};

TEST_F(FieldProgram, PrintsWritesAndDrawsOneField) {
  const std::string csv = (folder_ / "field.csv").string(), svg = (folder_ / "field.svg").string();
  const RunResult result = run({"--json", "--csv", csv, "--svg", svg});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const json figures = json::parse(result.out);
  EXPECT_EQ(figures["model"], "test_vig");
  EXPECT_EQ(figures["weights"], "initial");
  EXPECT_EQ(figures["size"], 64);
  EXPECT_EQ(figures["images"], 6);
  EXPECT_GT(figures["area20"], 0);
  EXPECT_LE(figures["area20"], figures["area50"]);
  EXPECT_LT(figures["area50"], figures["area99"]);
  EXPECT_LE(figures["area99"], 1);
  EXPECT_GT(figures["outer_level"], 0);
  const std::string table = read_file(csv);
  EXPECT_TRUE(
      table.starts_with("model,weights,parameters,size,images,area20,area50,area99,"
                        "outer_level,field\n\"test_vig\",\"initial\","))
      << table;
  EXPECT_GT(table.size(), 32u * 32) << "a cell for two pixels in each direction";
  EXPECT_EQ(xml_problem(read_file(svg)), "");
  // The same in words.
  std::string text = "test_vig at 64 x 64, initial weights, 6 images\n";
  for (const char* share : {"20", "50", "99"}) {
    text += fmt::format("  {} % of the gradient in the centred {:.1f} % of the image\n", share,
                        100 * figures[std::string("area") + share].get<double>());
  }
  text += fmt::format("  a pixel of the outer half has {:.3f} of the mean gradient\n",
                      figures["outer_level"].get<double>());
  EXPECT_EQ(run({}).out, text);
}

TEST_F(FieldProgram, DoesNotDependOnThreads) {
  const RunResult one = run({"--json", "--threads", "1"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(run({"--json", "--threads", "4"}).out, one.out);
}

TEST_F(FieldProgram, FollowsTheSeedOfTheWeightsAndTheNumberOfImages) {
  const json first = json::parse(run({"--json"}).out);
  EXPECT_NE(json::parse(run({"--json", "--seed", "2"}).out)["area50"], nullptr);
  EXPECT_NE(run({"--json", "--seed", "2"}).out, run({"--json"}).out);
  const json fewer = json::parse(run({"--json", "--count", "2"}).out);
  EXPECT_EQ(fewer["images"], 2);
  EXPECT_NE(fewer["outer_level"], first["outer_level"]);
}

TEST_F(FieldProgram, AImageThatCannotBeReadIsReportedAndLeftOut) {
  write_file(folder_ / "images/broken.png", "no image");
  const RunResult result = run({"--json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("broken.png"), std::string::npos) << result.err;
  EXPECT_EQ(json::parse(result.out)["images"], 6);
}

TEST_F(FieldProgram, ComplainsOnce) {
  const auto expect = [](const RunResult& result, int exit_code, const std::string& about) {
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(result.err.starts_with("vig: ")) << result.err;
    EXPECT_NE(result.err.find(about), std::string::npos) << result.err;
  };
  expect(run({}, "vig_x"), 2, "vig_x");
  expect(run({"--size", "0"}), 2, "--size");
  expect(run({"--csv", (folder_ / "nowhere/field.csv").string()}), 1, "nowhere/field.csv");
  const std::string image = (folder_ / "images/class0/0.png").string();
  const std::string before = read_file(image);
  expect(run({"--svg", image}), 2, "class0/0.png");
  EXPECT_EQ(read_file(image), before);
  write_file(folder_ / "broken/a.png", "no image");
  const RunResult none =
      run_program({kVig, "receptive-field", "test_vig", (folder_ / "broken").string()});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_NE(none.err.find("none of the 1 images could be read"), std::string::npos) << none.err;
  write_file(folder_ / "empty/notes.txt", "no image");
  EXPECT_EQ(
      run_program({kVig, "receptive-field", "test_vig", (folder_ / "empty").string()}).exit_code,
      1);
}

}  // namespace
}  // namespace vig::test
