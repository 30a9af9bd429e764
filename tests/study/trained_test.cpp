// The studies that train: which seeds are asked for, and the verdicts that rows lead to.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/errors.h"
#include "support/xml.h"
#include "vig/models/family.h"
#include "vig/study/miniature.h"
#include "vig/study/receptive_field.h"
#include "vig/study/study.h"

namespace vig::test {
namespace {

using namespace study;

Row accuracy_row(const std::string& key, double top1) {
  Row row{.key = key, .cells = {}, .note = "", .date = "2026-01-01"};
  row.set("top1", top1);
  row.set("images", 10000);
  row.set("miniature_parameters", 290000);
  row.set("parameters", 290000);
  return row;
}

Results results_of(std::vector<Row> rows) {
  Results results;
  results.conditions = {"CPU", "AVX2", "2", "0.1.0", "data=cifar10 epochs=2"};
  results.rows = std::move(rows);
  return results;
}

// The line of the Markdown that holds these words.
std::string row_with(const std::string& markdown, const std::string& words) {
  const size_t at = markdown.find(words);
  if (at == std::string::npos) return "";
  const size_t begin = markdown.rfind('\n', at) + 1;
  return markdown.substr(begin, markdown.find('\n', at) - begin);
}

TEST(Miniatures, HaveAboutTheSameNumberOfParameters) {
  for (const char* model :
       {"vig_t", "gla_t", "gla_t_stem", "gla_t_bidirectional", "gla_t_position", "gla_t_gated",
        "gla_t_vim", "deit_t", "vrwkv_t", "swin_t", "resnet50"}) {
    ModelSpec spec = find_model(model);
    override_field(spec, "image_size", std::to_string(kMiniatureSize));
    override_field(spec, "classes", "10");
    for (const std::string& field : miniature_fields(model)) {
      const size_t equals = field.find('=');
      override_field(spec, field.substr(0, equals), field.substr(equals + 1));
    }
    const int64_t count = build_graph(spec, kMiniatureSize, kMiniatureSize).param_count();
    EXPECT_GT(count, 265000) << model;
    EXPECT_LT(count, 345000) << model;
  }
  EXPECT_NE(error_of([] { miniature_fields("vig_b"); }).find("vig_b has no miniature"),
            std::string::npos);
}

TEST(Miniatures, SettingsNameDataAndBudget) {
  StudyOptions options;
  options.data = "somewhere/cifar10.tar.gz";
  EXPECT_EQ(training_settings(options), "data=cifar10.tar.gz epochs=2");
  options.data = "somewhere/cifar10/";
  options.epochs = 0.5;
  EXPECT_EQ(training_settings(options), "data=cifar10 epochs=0.5");
}

TEST(Miniatures, NeedData) {
  for (const char* name : {"roadmap", "resolution"}) {
    const Study& study = find_study(name);
    StudyContext context;
    context.folder = testing::TempDir();
    context.runs = testing::TempDir();
    const std::string key = name == std::string("roadmap") ? "vig_t/seed1" : "vig_t/32";
    expect_error(ErrorCode::kUsage, {"--data"}, [&] { study.measure(key, context); });
  }
}

TEST(Roadmap, AsksForThreeSeedsOfWhatOneDoesNotDecide) {
  const Study& roadmap = find_study("roadmap");
  EXPECT_EQ(roadmap.keys({}).size(), 16u);  // cost and one seed of eight networks
  EXPECT_TRUE(roadmap.further_keys({}, results_of({})).empty());
  // Far apart but for position and gate, which are 0.9 % apart.
  std::vector<Row> rows = {
      accuracy_row("deit_t/seed1", 0.50),         accuracy_row("gla_t/seed1", 0.45),
      accuracy_row("gla_t_stem/seed1", 0.48),     accuracy_row("gla_t_bidirectional/seed1", 0.52),
      accuracy_row("gla_t_position/seed1", 0.54), accuracy_row("gla_t_gated/seed1", 0.549),
      accuracy_row("vig_t/seed1", 0.60),          accuracy_row("gla_t_vim/seed1", 0.50)};
  const std::vector<std::string> expected = {"gla_t_position/seed2", "gla_t_position/seed3",
                                             "gla_t_gated/seed2", "gla_t_gated/seed3"};
  EXPECT_EQ(roadmap.further_keys({}, results_of(rows)), expected);
  // Later seeds change nothing about it.
  rows.push_back(accuracy_row("gla_t_gated/seed2", 0.56));
  EXPECT_EQ(roadmap.further_keys({}, results_of(rows)), expected);
  // A second seed asks for the third.
  std::vector<Row> begun = rows;
  begun.push_back(accuracy_row("deit_t/seed2", 0.50));
  EXPECT_EQ(roadmap.further_keys({}, results_of(begun))[1], "deit_t/seed3");
  // Seeds that differ by 3.1 % cast doubt on single ones that differ by 3 %.
  rows.push_back(accuracy_row("gla_t_gated/seed3", 0.580));
  const std::vector<std::string> more = roadmap.further_keys({}, results_of(rows));
  EXPECT_NE(std::ranges::find(more, "gla_t_stem/seed2"), more.end());
  EXPECT_EQ(std::ranges::find(more, "gla_t_vim/seed2"), more.end());
}

TEST(Roadmap, JudgesOnlyWhatTheSeedsSupport) {
  const Study& roadmap = find_study("roadmap");
  const Presentation shown = roadmap.present(results_of({
      accuracy_row("gla_t/seed1", 0.45),
      accuracy_row("gla_t_stem/seed1", 0.48),
      accuracy_row("gla_t_bidirectional/seed1", 0.455),
      accuracy_row("gla_t_position/seed1", 0.549),
      accuracy_row("gla_t_position/seed2", 0.551),
      accuracy_row("gla_t_position/seed3", 0.550),
      accuracy_row("gla_t_gated/seed1", 0.555),
      accuracy_row("gla_t_gated/seed2", 0.556),
      accuracy_row("gla_t_gated/seed3", 0.554),
      accuracy_row("vig_t/seed1", 0.550),
      accuracy_row("vig_t/seed2", 0.570),
      accuracy_row("vig_t/seed3", 0.560),
  }));
  const auto verdict = [&](const std::string& claim, const std::string& expected) {
    EXPECT_NE(row_with(shown.markdown, claim).find(expected), std::string::npos)
        << claim << ": " << row_with(shown.markdown, claim);
  };
  verdict("improved patch embedding boosts", "+3.0 | **holds here**");
  verdict("Bidirectional modelling improves", "-2.5 | **does not hold here**");
  verdict("direction-wise gate improves", "+0.5 | **holds here**");  // 55.4 is above 55.1
  verdict("locality injection improves", "+0.5 | **cannot be decided here**");
  verdict("locality injection improves", "overlap");
  verdict("outperforms DeiT", "not measured yet");
  verdict("`vig_t`", "56.0 (55.0 to 57.0, 3 seeds)");
  verdict("`gla_t`", "45.0 (1 seed)");
  EXPECT_EQ(xml_problem(shown.svg), "");
}

Row cost_row(const std::string& model, double images, double parameters, double megabytes) {
  Row row{.key = model + "/cost", .cells = {}, .note = "", .date = "2026-01-01"};
  row.set("images_per_second", images);
  row.set("parameters", fmt::format("{:.0f}", parameters));
  row.set("activation_bytes", 1e6 * megabytes);
  return row;
}

// Speeds are the same within 5 %; the network with locality is that of the last row.
TEST(Roadmap, JudgesCosts) {
  std::vector<Row> rows = {cost_row("deit_t", 100, 5717416, 20),
                           cost_row("gla_t", 100, 5713384, 20),
                           cost_row("gla_t_stem", 104, 5755816, 20),
                           cost_row("gla_t_bidirectional", 100, 5755816, 20),
                           cost_row("gla_t_position", 100, 5793448, 20),
                           cost_row("gla_t_gated", 94, 5813032, 20),
                           cost_row("vig_t", 80, 5834536, 19),
                           cost_row("gla_t_vim", 70, 6697000, 20)};
  const auto expect = [&](const std::string& claim, const std::string& expected) {
    const std::string text = find_study("roadmap").present(results_of(rows)).markdown;
    EXPECT_NE(row_with(text, claim).find(expected), std::string::npos) << row_with(text, claim);
  };
  expect("nearly no effect", "+4 % | **holds here** |");
  expect("Both directions cost", "-4 % | **does not hold here**: the same within 5 % |");
  expect("does not compromise", "-6 % | **does not hold here** |");
  expect("Locality injection costs", "-15 % | **holds here** |");
  expect("faster than GLA_Vim", "+14 % | **holds here** |");
  expect("still slower than DeiT-T", "-20 % | **holds here** |");
  expect("less memory than GLA_Vim", "19 MB to 20 MB of activations | **holds here** |");
  // 5.713 M is neither rounded nor cut off to 5.72M.
  expect("parameter counts", "7 of 8 as printed | **does not hold here**: GLA has 5.71M, the");
  rows.back() = cost_row("gla_t_vim", 80, 6697000, 19);
  expect("faster than GLA_Vim", "+0 % | **does not hold here**: the same within 5 % |");
  expect("less memory than GLA_Vim", "**does not hold here**");
  rows.pop_back();
  for (const char* claim :
       {"less memory than GLA_Vim", "parameter counts", "faster than GLA_Vim"}) {
    expect(claim, "**not measured yet**");
  }
}

TEST(Roadmap, WithoutRowsNothingIsJudged) {
  const Presentation shown = find_study("roadmap").present(results_of({}));
  EXPECT_EQ(shown.markdown.find("**holds here**"), std::string::npos);
  EXPECT_EQ(shown.markdown.find("**does not hold here**"), std::string::npos);
  EXPECT_EQ(xml_problem(shown.svg), "");
}

TEST(Resolution, LeadsMustExceedTheErrorOfTheTestImages) {
  const Study& resolution = find_study("resolution");
  std::vector<Row> rows;
  for (const std::string& key : resolution.keys({})) {
    const int size = std::stoi(key.substr(key.find('/') + 1));
    const double vig = 0.6 - 0.001 * size;
    const double other = key.starts_with("deit")     ? vig - 0.05
                         : key.starts_with("vrwkv")  ? vig - 0.002
                         : key.starts_with("resnet") ? vig - 0.1 + 0.002 * size
                                                     : vig;
    rows.push_back(accuracy_row(key, other));
  }
  const Presentation shown = resolution.present(results_of(rows));
  const auto verdict = [&](const std::string& claim, const std::string& expected) {
    EXPECT_NE(row_with(shown.markdown, claim).find(expected), std::string::npos)
        << claim << ": " << row_with(shown.markdown, claim);
  };
  verdict("more accurate than DeiT", "**holds here**");
  verdict("more accurate than VRWKV", "**cannot be decided here**");
  verdict("more accurate than ResNet", "**does not hold here**");
  verdict("20.7 %", "+5.0 at 148");
  EXPECT_EQ(xml_problem(shown.svg), "");
  EXPECT_NE(shown.svg.find("VRWKV"), std::string::npos);
}

Row field_row(const std::string& key, double area50, double outer) {
  Row row{.key = key, .cells = {}, .note = "", .date = "2026-01-01"};
  row.set("size", 224);
  row.set("images", 20);
  row.set("area20", area50 / 4);
  row.set("area50", area50);
  row.set("area99", 0.9);
  row.set("outer_level", outer);
  row.set("field", std::string(16, '/'));
  return row;
}

TEST(Erf, ComparesFieldsWithDeits) {
  const Study& erf = find_study("erf");
  EXPECT_EQ(erf.keys({}).size(), 5u);
  StudyOptions options;
  options.data = "cifar10";
  EXPECT_EQ(erf.keys(options).size(), 15u);
  options.weights = {"vig_t=a.safetensors"};
  EXPECT_EQ(erf.keys(options).size(), 16u);
  options.weights = {"vig_q=a.safetensors"};
  expect_error(ErrorCode::kUsage, {"--weights", "vig_q=a"}, [&] { erf.keys(options); });

  const Presentation shown = erf.present(results_of({
      field_row("resnet50/initial", 0.1, 0.1),
      field_row("swin_t/initial", 0.1, 0.4),
      field_row("deit_t/initial", 0.1, 0.6),
      field_row("gla_t_gated/initial", 0.2, 0.5),
      field_row("vig_t/initial", 0.3, 0.5),
  }));
  const auto verdict = [&](const std::string& claim, const std::string& expected) {
    EXPECT_NE(row_with(shown.markdown, claim).find(expected), std::string::npos)
        << claim << ": " << row_with(shown.markdown, claim);
  };
  verdict("ViG exhibits a global", "**holds here**");
  verdict("ResNet50 fails", "**holds here**");
  verdict("Swin fails", "**does not hold here**");
  verdict("Locality injection enlarges", "**holds here**");
  EXPECT_EQ(xml_problem(shown.svg), "");
}

// Claims are about weights of the user's where all networks have them, else about trained
// miniatures, else about initial weights.
TEST(Erf, JudgesTheBestWeightsThatAllNetworksHave) {
  const char* models[] = {"resnet50", "swin_t", "deit_t", "gla_t_gated", "vig_t"};
  std::vector<Row> rows;
  const auto judged = [&] {
    const std::string line =
        row_with(find_study("erf").present(results_of(rows)).markdown, "ViG exhibits a global");
    return line.substr(line.find("**"));
  };
  const auto add = [&](const std::string& kind, double level) {
    for (const char* model : models) {
      const bool vig = model == std::string_view("vig_t");
      rows.push_back(field_row(fmt::format("{}/{}", model, kind), 0.1, vig ? level : 1.0));
    }
  };
  add("initial", 0.5);
  EXPECT_EQ(judged(), "**holds here**: rows \"initial\" |");
  add("miniature-trained", 0.49);
  EXPECT_EQ(judged(),
            "**does not hold here**: rows \"miniature, trained\", 64 x 64 pixels, a short training "
            "|");
  add("given", 0.6);
  EXPECT_EQ(judged(), "**holds here**: rows \"given weights\" |");
  rows.pop_back();  // ViG's own
  EXPECT_NE(judged().find("miniature, trained"), std::string::npos);
}

TEST(Erf, NeedsImages) {
  StudyContext context;
  context.folder = testing::TempDir();
  expect_error(ErrorCode::kUsage, {"--images"},
               [&] { find_study("erf").measure("vig_t/initial", context); });
}

}  // namespace
}  // namespace vig::test
