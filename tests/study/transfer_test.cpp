// The study of starts: which networks it trains, and what it reports.
#include <gtest/gtest.h>

#include "study/stand_in.h"
#include "support/errors.h"
#include "vig/pipeline/default_model.h"

namespace vig::test {
namespace {

using namespace study;

constexpr const char* kTable = "index,class,images,predicted,correct\n0,a,30,40,24\n1,b,10,0,0\n";

StudyContext few_images(const TempDir& folder) {
  StudyContext context = stand_in(folder, kTable);
  context.options.data = (folder / "few.csv").string();
  write_file(folder / "few.csv", "path,label,split\na.png,a,train\nb.png,b,test\n");
  context.options.weights = {"mine=mine.safetensors", "default=default"};
  return context;
}

TEST(Transfer, TrainsFromEachStartAndFromFreshWeightsOfTheSameNetwork) {
  const TempDir folder;
  const StudyContext context = few_images(folder);
  const Study& study = find_study("transfer");
  const std::vector<std::string> expected = {
      "mine/neighbour",         "mine/finetune/seed1",    "mine/finetune/seed2",
      "mine/probe/seed1",       "mine/probe/seed2",       "default/neighbour",
      "default/finetune/seed1", "default/finetune/seed2", "default/probe/seed1",
      "default/probe/seed2",    "fresh/finetune/seed1",   "fresh/finetune/seed2"};
  EXPECT_EQ(study.keys(context.options), expected);

  const Row row = study.measure("mine/probe/seed2", context);
  EXPECT_NEAR(*row.number("metric"), 0.6, 1e-6) << "24 of 40";
  EXPECT_EQ(row.number("images"), 40);
  EXPECT_NE(asked(folder).find("few.csv --seed 2 --model mine.safetensors --probe --out"),
            std::string::npos)
      << asked(folder);
  EXPECT_NE(asked(folder).find("best.safetensors"), std::string::npos) << "is what is tested";
}

TEST(Transfer, FreshWeightsAreOfTheNetworkOfTheFirstStart) {
  const TempDir folder;
  StudyContext context = few_images(folder);
  context.options.weights = {};
  find_study("transfer").measure("fresh/finetune/seed1", context);
  const std::string line = asked(folder).substr(0, asked(folder).find('\n'));
  EXPECT_NE(line.find("--model vig_h_t --set "), std::string::npos) << line;
  EXPECT_NE(line.find("--set depths="), std::string::npos) << line;
  EXPECT_NE(line.find("--size "), std::string::npos) << line;
  EXPECT_EQ(line.find("classes="), std::string::npos) << line;
}

TEST(Transfer, RefusesStartsWithoutANameOrAFile) {
  StudyOptions options;
  for (const char* wrong : {"mine.safetensors", "=mine.safetensors", "fresh=mine.safetensors"}) {
    options.data = "few.csv";
    options.weights = {wrong};
    expect_error(ErrorCode::kUsage, {"NAME=FILE", wrong},
                 [&] { find_study("transfer").keys(options); });
  }
  expect_error(ErrorCode::kUsage, {"--data"},
               [] { find_study("transfer").measure("default/finetune/seed1", {}); });
}

TEST(Transfer, ReportsTheMeanOfTheSeeds) {
  Results results;
  results.conditions = {"CPU", "AVX2", "2", "0.2.0", "data=few.csv epochs=0"};
  for (const auto& [key, metric] : {std::pair("mine/finetune/seed1", 0.8),
                                    {"mine/finetune/seed2", 0.9},
                                    {"mine/neighbour", 0.5}}) {
    Row row{.key = key, .cells = {}, .note = "", .date = "2026-01-01"};
    row.set("metric", metric);
    if (std::string_view(key).ends_with("1")) row.set("minutes", 3.0);
    results.rows.push_back(row);
  }
  const std::string markdown = find_study("transfer").present(results).markdown;
  EXPECT_NE(markdown.find("| mine | finetune | 85.0 | 80.0 to 90.0 |"), std::string::npos)
      << markdown;
  EXPECT_NE(markdown.find("| mine | neighbour | 50.0 |"), std::string::npos) << markdown;
}

}  // namespace
}  // namespace vig::test
