// The study of detection and segmentation networks: counts, and what is shown of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "study/text.h"
#include "support/files.h"
#include "support/xml.h"
#include "vig/models/family.h"
#include "vig/study/bench_row.h"
#include "vig/study/dense_report.h"
#include "vig/study/results.h"
#include "vig/study/study.h"

namespace vig::study {
namespace {

using test::TempDir;

const Study& dense() { return find_study("dense"); }

// All rows that can be counted, as the study stores them.
const Results& counted() {
  static const Results results = [] {
    Results all;
    all.conditions = {"Made-up CPU", "AVX2", "2", "1", ""};
    for (const std::string& model : dense_models()) {
      Row row = dense().measure(counts_key(model), {});
      row.key = counts_key(model);
      row.date = "2026-01-02";
      all.rows.push_back(std::move(row));
    }
    return all;
  }();
  return results;
}

TEST(DenseStudy, CountsOfTheReference) {
  struct Expected {
    const char* model;
    int64_t backbone, whole;
    double as_the_paper, complete;  // G; 0: the reference has none
  };
  const Expected all[] = {
      {"vig_t_maskrcnn", 8079536, 28181408, 61.14, 68.65},
      {"vig_s_maskrcnn", 28059920, 48358400, 164.09, 189.03},
      {"vig_b_maskrcnn", 101933024, 122624720, 498.46, 586.56},
      {"vig_t_upernet", 8079536, 36175324, 14.91, 16.74},
      {"vig_s_upernet", 28059920, 58170940, 40.01, 46.09},
      {"vig_b_upernet", 101933024, 136074508, 121.53, 143.01},
      {"vig_h_t_maskrcnn", 27833024, 48106928, 0, 0},
      {"vig_h_s_maskrcnn", 49284032, 69557936, 0, 0},
      {"vig_h_b_maskrcnn", 87881152, 108277936, 0, 0},
      {"vig_h_t_upernet", 27833024, 60254188, 0, 0},
      {"vig_h_s_upernet", 49284032, 81705196, 0, 0},
      {"vig_h_b_upernet", 87881152, 122415852, 0, 0},
  };
  const auto number = [](const char* model, const char* column) {
    return counted().number(counts_key(model), column).value_or(-1);
  };
  const auto giga = [](double count) { return std::round(count / 1e7) / 1e2; };
  for (const Expected& row : all) {
    EXPECT_EQ(number(row.model, "backbone_parameters"), row.backbone) << row.model;
    EXPECT_EQ(number(row.model, "parameters"), row.whole) << row.model;
    const bool detector = std::string_view(row.model).ends_with("maskrcnn");
    EXPECT_EQ(number(row.model, "height"), detector ? 800 : 512) << row.model;
    EXPECT_EQ(number(row.model, "width"), detector ? 1344 : 512) << row.model;
    EXPECT_LT(number(row.model, "multiply_adds"), number(row.model, "with_what_it_misses"));
    EXPECT_GT(number(row.model, "multiply_adds"), 0.98 * number(row.model, "with_what_it_misses"));
    if (row.complete == 0) continue;
    EXPECT_DOUBLE_EQ(giga(number(row.model, "as_the_paper")), row.as_the_paper) << row.model;
    EXPECT_DOUBLE_EQ(giga(number(row.model, "with_what_it_misses")), row.complete) << row.model;
  }
  EXPECT_EQ(number("vig_b_upernet", "with_unused_classifier"), 101933024 + 89022184 - 88252416);
  EXPECT_EQ(number("vig_t_maskrcnn", "with_unused_classifier"), 8079536 + 5834536 - 5641344);
  EXPECT_EQ(number("vig_h_t_upernet", "with_unused_classifier"), -1);
  // Swin's attention is seen by no rule of the paper's counter, but it is work.
  EXPECT_GT(number("swin_t_upernet", "with_what_it_misses"),
            1.01 * number("swin_t_upernet", "as_the_paper"));
}

TEST(DenseStudy, ShowsCountsWithoutTimes) {
  const Presentation shown = dense().present(counted());
  const std::string& text = shown.markdown;
  EXPECT_TRUE(contains(text, "Made-up CPU"));
  const auto row = [&](const std::string& words) { return line_with(text, words); };
  EXPECT_TRUE(contains(row("| 498.5G |"),
                       "| ViG-B | 103M | 101.93 M | 122.62 M | 498.5G | "
                       "498.46 G | 586.56 G | not measured yet | 47.3 | 42.2 |"))
      << row("| 498.5G |");
  EXPECT_TRUE(contains(row("| 498.5G |"),
                       "parameters: **does not hold** (102.70 M with the classifier, which"));
  EXPECT_TRUE(contains(row("| 498.5G |"), "FLOPs: **holds** as it counts, 15 % are left out"));
  EXPECT_TRUE(contains(row("| 61.2G |"), "FLOPs: **does not hold** as it counts (+0.1 %)"));
  EXPECT_TRUE(contains(row("| 14.9G |"), "parameters: **holds**; FLOPs: **holds**"));
  EXPECT_TRUE(contains(row("| 14.9G |"), "accuracy: **cannot be checked here**: needs ADE20K"));
  EXPECT_TRUE(contains(row("| 67.9G |"), "| VRWKV-T | 8M | 8."));
  EXPECT_TRUE(contains(row("| 95.4G |"), "| ViT-T, windows | 8M | 7."));
  EXPECT_TRUE(contains(row("| Vim-T |"), "its authors use no adapter"));
  EXPECT_TRUE(contains(row("`vig_h_t_maskrcnn`"), "| 27.83 M | 48.11 M |"));
  EXPECT_TRUE(contains(row("`swin_t_upernet`"), " M |"));
  const auto verdict = [&](const std::string& claim, const char* expected) {
    EXPECT_TRUE(contains(row(claim), expected)) << row(claim);
  };
  verdict("COCO: ViG outperforms ViT ", "| **holds**");
  verdict("half the backbone", "| 42 % | ");
  verdict("44 % lower", "| 44 % | ");
  verdict("5G FLOPs less than ViT-T", "| 5G | ");
  verdict("14G FLOPs less", "| 14G | ");
  verdict("6.3G FLOPs less", "| 6.3G | ");
  verdict("linear complexity", "1.00x; 1.00x; 1.00x | **holds**: ViT: ");
  verdict("ViG-T against ViT-T", "| +1.7, +1.2, +1.2 | | **cannot be checked here**: needs COCO");
  EXPECT_EQ(test::xml_problem(shown.svg), "");
  EXPECT_TRUE(contains(shown.svg, "VRWKV, complete"));
}

TEST(DenseStudy, ShowsTimesAndWhyTheyAreMissing) {
  Results results = counted();
  Row time;
  time.key = time_key("vig_t_upernet");
  time.date = "2026-01-03";
  time.set("best_ms", 812.0);
  results.rows.push_back(time);
  EXPECT_EQ(dense().summary(time), "812 ms");
  Row left_out;
  left_out.key = time_key("vig_b_maskrcnn");
  left_out.date = "2026-01-03";
  left_out.note = "left out: too large";
  results.rows.push_back(left_out);
  const std::string text = dense().present(results).markdown;
  EXPECT_TRUE(contains(line_with(text, "| 14.9G |"), "| 812 ms |"));
  EXPECT_TRUE(contains(line_with(text, "| 498.5G |"), "| left out: too large |"));
}

TEST(DenseStudy, MissingRowsAreSaid) {
  Results results = counted();
  std::erase_if(results.rows, [](const Row& row) { return row.key.starts_with("vig_s_"); });
  std::string text = dense().present(results).markdown;
  EXPECT_TRUE(contains(line_with(text, "| 164.1G |"), "**undecided**: not measured yet"));
  EXPECT_TRUE(contains(line_with(text, "14G FLOPs less"), "**undecided**: not measured yet"));
  EXPECT_TRUE(contains(line_with(text, "linear complexity"), "**undecided**: not measured yet"));
  // The other sizes agree, but one is missing: no verdict.
  EXPECT_TRUE(
      contains(line_with(text, "COCO: ViG outperforms ViT "), "**undecided**: not measured yet"));
  const Presentation nothing = dense().present({});
  EXPECT_TRUE(contains(nothing.markdown, "Nothing is measured yet."));
  EXPECT_FALSE(contains(nothing.markdown, "**holds**"));
  EXPECT_EQ(test::xml_problem(nothing.svg), "");
}

TEST(DenseStudy, CountsAreKeptAndContinued) {
  const TempDir folder;
  StudyContext context;
  context.folder = folder / "out";
  context.options.threads = 2;
  context.version = "1";
  size_t missing = 0, present = 0;
  StudyProgress progress;
  progress.begin = [&](size_t m, size_t p) { missing = m, present = p; };
  context.options.rows = {"vig_t_upernet/counts", "vig_t_maskrcnn/counts"};
  EXPECT_TRUE(run_study(dense(), context, progress));
  EXPECT_EQ(missing, 2u);
  context.options.rows = {"counts"};
  EXPECT_TRUE(run_study(dense(), context, progress));
  EXPECT_EQ(present, 2u);
  EXPECT_EQ(missing, dense_models().size() - 2);
  const Results kept = read_results(context.folder / "dense.csv", dense().columns);
  ASSERT_EQ(kept.rows.size(), dense_models().size());
  for (const Row& row : counted().rows) {
    EXPECT_EQ(kept.number(row.key, "as_the_paper"), row.number("as_the_paper")) << row.key;
  }
}

}  // namespace
}  // namespace vig::study
