// Printed figures, verdicts, and ways of counting.
#include "vig/study/claims.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "vig/models/family.h"
#include "vig/study/bench_row.h"
#include "vig/study/counting.h"
#include "vig/study/paper_arithmetic.h"
#include "vig/study/paper_tables.h"

namespace vig::study {
namespace {

using test::expect_error;

TEST(Claims, PrintedFigures) {
  EXPECT_DOUBLE_EQ(parse_printed("5.72M").value, 5.72e6);
  EXPECT_DOUBLE_EQ(parse_printed("5.72M").digit, 0.01e6);
  EXPECT_DOUBLE_EQ(parse_printed("13.8G").digit, 0.1e9);
  EXPECT_DOUBLE_EQ(parse_printed("86M").digit, 1e6);
  EXPECT_DOUBLE_EQ(parse_printed("4645").value, 4645);
  for (const char* bad : {"", "M", "5.7K", "x5"}) {
    expect_error(ErrorCode::kInput, {"figure"}, [&] { parse_printed(bad); });
  }
}

// One rule for every printed figure: ours is it when rounded or when cut off.
TEST(Claims, RoundingAndCutting) {
  EXPECT_TRUE(agrees(5'834'536, "6M"));
  EXPECT_TRUE(agrees(5'834'536, "5.83M"));
  EXPECT_FALSE(agrees(5'713'384, "5.72M"));
  EXPECT_TRUE(agrees(86'567'656, "86M")) << "cut off";
  EXPECT_TRUE(agrees(86'567'656, "87M")) << "rounded";
  EXPECT_FALSE(agrees(86'567'656, "85M"));
  EXPECT_FALSE(agrees(20'646'656, "12M"));
  EXPECT_TRUE(agrees(1.254e9, "1.3G"));
  EXPECT_FALSE(agrees(1.197e9, "0.9G"));
  EXPECT_FALSE(agrees(20.9 - 14.9, Printed{5, 1})) << "6, which the sum only just misses";
}

TEST(Claims, RelationsHaveABandAndAnInterval) {
  using enum Verdict;
  const auto exactly = [](double value) { return Interval{value, value, value}; };
  EXPECT_EQ(reaches(exactly(2.1), 2.2), kHolds) << "2.2x, here 2.1x, is no refutation";
  EXPECT_EQ(reaches(exactly(2.0), 2.2), kFails);
  EXPECT_EQ(reaches(Interval{2.1, 2.0, 2.2}, 2.2), kUndecided);
  EXPECT_EQ(reaches(std::nullopt, 2.2), kUndecided);
  EXPECT_EQ(exceeds_one(exactly(1.06)), kHolds);
  EXPECT_EQ(exceeds_one(exactly(1.04)), kUndecided);
  EXPECT_EQ(exceeds_one(exactly(0.96)), kUndecided);
  EXPECT_EQ(exceeds_one(exactly(0.94)), kFails);
  EXPECT_EQ(exceeds_one(Interval{1.2, 1.04, 1.3}), kUndecided);
  EXPECT_EQ(equals_one(exactly(1.04)), kHolds);
  EXPECT_EQ(equals_one(exactly(1.06)), kFails);
  EXPECT_EQ(equals_one(Interval{1.04, 1.0, 1.08}), kUndecided);
  EXPECT_EQ(matches_one(exactly(0.96)), kHolds);
  EXPECT_EQ(matches_one(exactly(3)), kHolds);
  EXPECT_EQ(matches_one(exactly(0.94)), kFails);
  const auto all = [](std::vector<Verdict> list) { return all_of(list); };
  EXPECT_EQ(all({kHolds, kHolds}), kHolds);
  EXPECT_EQ(all({kHolds, kUndecided}), kUndecided);
  EXPECT_EQ(all({kUndecided, kFails}), kFails) << "one counter-example decides";
  EXPECT_EQ(all({}), kUndecided);
  const auto ratio = ratio_of(10.0, 0.1, 5.0, 0.1);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_DOUBLE_EQ(ratio->value, 2);
  EXPECT_NEAR(ratio->low, 2 / 1.1, 1e-12);
  EXPECT_NEAR(ratio->high, 2.2, 1e-12);
  EXPECT_FALSE(ratio_of(1.0, 0, std::nullopt, 0).has_value());
}

// Differences 1, 2, 3: mean 2, error 1 / sqrt 3, t 4.303.
TEST(Claims, PairedSeedsHaveStudentsInterval) {
  const std::vector<double> a = {10, 20, 30}, b = {11, 22, 33};
  const auto difference = paired_difference(a, b);
  ASSERT_TRUE(difference.has_value());
  EXPECT_DOUBLE_EQ(difference->value, 2);
  EXPECT_NEAR(difference->high - difference->value, 4.303 / std::sqrt(3.0), 1e-9);
  EXPECT_EQ(has_sign(difference, true), Verdict::kUndecided) << "-0.5 to 4.5";
  const std::vector<double> c = {12, 22.1, 31.9};
  EXPECT_EQ(has_sign(paired_difference(a, c), true), Verdict::kHolds);
  EXPECT_EQ(has_sign(paired_difference(c, a), true), Verdict::kFails);
  EXPECT_EQ(has_sign(paired_difference(c, a), false), Verdict::kHolds);
  EXPECT_FALSE(paired_difference(std::vector<double>{1}, std::vector<double>{2}).has_value());
  EXPECT_DOUBLE_EQ(student_t95(1), 12.706);
  EXPECT_DOUBLE_EQ(student_t95(4), 2.776);
  EXPECT_DOUBLE_EQ(student_t95(30), 2.042);
  EXPECT_DOUBLE_EQ(student_t95(1000), 2.042);
  expect_error(ErrorCode::kInput, {"0 degrees"}, [] { student_t95(0); });
}

TEST(Claims, VerdictsAndTables) {
  EXPECT_EQ(verdict_of(std::nullopt), Verdict::kUndecided);
  EXPECT_EQ(verdict_of(true), Verdict::kHolds);
  EXPECT_EQ(verdict_of(false), Verdict::kFails);
  EXPECT_EQ(claims_markdown({{"a|b", "1x", "2x", Verdict::kHolds, "why"}, {"c", "", ""}}),
            "| the paper says or its tables show | paper | here | verdict |\n|---|---|---|---|\n"
            "| a\\|b | 1x | 2x | **holds**: why |\n"
            "| c | | | **undecided**: not measured yet |\n");
  EXPECT_EQ(claim_text({"a", "1x", "2x", Verdict::kFails, "why"}),
            "does not hold: a; the paper: 1x; here: 2x (why)");
  EXPECT_EQ(claim_text({"c", "", ""}), "undecided: c (not measured yet)");
  EXPECT_EQ(markdown_table({"name", "size:"}, {{"x", ""}}),
            "| name | size |\n|---|---:|\n| x | |\n");
}

TEST(Claims, Formats) {
  EXPECT_EQ(giga_text(1.197e9), "1.20 G");
  EXPECT_EQ(giga_text(99.7e9), "99.7 G");
  EXPECT_EQ(giga_text(1326.5e9), "1.33 T");
  EXPECT_EQ(bytes_text(63.2e6), "63 MB");
  EXPECT_EQ(bytes_text(3.16e9), "3.16 GB");
  EXPECT_EQ(ms_text(8.24), "8.2 ms");
  EXPECT_EQ(ms_text(444.4), "444 ms");
  EXPECT_EQ(ms_text(1250), "1.25 s");
  EXPECT_EQ(ratio_text(4.84), "4.8x");
  EXPECT_EQ(percent_text(0.904), "90 %");
  EXPECT_EQ(ms_text(std::nullopt) + giga_text(std::nullopt) + ratio_text(std::nullopt), "");
  EXPECT_EQ(ratio(1.0, std::nullopt), std::nullopt);
  EXPECT_EQ(ratio(1.0, 0.0), std::nullopt);
}

// Where the number of digits or the unit changes: what is printed is never "1000" of a unit.
TEST(Claims, FormatsAtTheirEnds) {
  const std::pair<std::string, std::string> cases[] = {
      {giga_text(9.994e9), "9.99 G"},     {giga_text(9.996e9), "10.0 G"},
      {giga_text(99.94e9), "99.9 G"},     {giga_text(99.96e9), "100 G"},
      {giga_text(999.4e9), "999 G"},      {giga_text(999.6e9), "1.00 T"},
      {bytes_text(999.4e6), "999 MB"},    {bytes_text(999.6e6), "1.00 GB"},
      {ms_text(99.94), "99.9 ms"},        {ms_text(99.96), "100 ms"},
      {ms_text(999.4), "999 ms"},         {ms_text(999.6), "1.00 s"},
      {ms_text(9994), "9.99 s"},          {ms_text(9996), "10.0 s"},
      {ratio_text(1.994), "1.99x"},       {ratio_text(1.996), "2.0x"},
      {ratio_text(9.94), "9.9x"},         {ratio_text(9.96), "10x"},
      {millions_text(5834536), "5.83 M"}, {millions_text(std::nullopt), ""},
      {percent_text(0.995), "100 %"},     {percent_text(std::nullopt), ""},
      {bytes_text(std::nullopt), ""},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(text, expected);
  EXPECT_EQ(ratio(3.0, 2.0), 1.5);
  EXPECT_EQ(ratio(std::nullopt, 2.0), std::nullopt);
}

TEST(Claims, TheSentenceOfConditions) {
  Results results;
  EXPECT_EQ(conditions_sentence(results), "Nothing is measured yet.");
  results.conditions = {"CPU", "AVX2", "1", "0.1.0", ""};
  results.rows.resize(3);
  for (Row& row : results.rows) row.date = "2026-02-03";
  EXPECT_EQ(conditions_sentence(results),
            "CPU, AVX2, 1 thread, float32, vig 0.1.0, measured 2026-02-03.");
  results.conditions.threads = "12";
  results.conditions.settings = "seconds=2";
  results.rows[0].date = "2026-02-05";
  results.rows[1].date = "2026-01-31";
  EXPECT_EQ(conditions_sentence(results),
            "CPU, AVX2, 12 threads, float32, vig 0.1.0, measured 2026-01-31 to 2026-02-05, "
            "seconds=2.");
}

TEST(Claims, EveryVerdictHasItsWords) {
  EXPECT_EQ(verdict_text(Verdict::kHolds), "holds");
  EXPECT_EQ(verdict_text(Verdict::kFails), "does not hold");
  EXPECT_EQ(verdict_text(Verdict::kUndecided), "undecided");
  EXPECT_EQ(verdict_text(Verdict::kUnchecked), "cannot be checked here");
}

double giga(int64_t count) { return 1e-9 * static_cast<double>(count); }

// The cost against resolution that was measured on models built from the public code.
TEST(Counting, EqualsTheReferenceAtEverySize) {
  struct Line {
    int size;
    double deit, vim, vim_scan, vrwkv, vrwkv_scan;
  };
  for (const Line& line :
       {Line{224, 1.254, 1.293, 0.240, 1.156, 0.005}, Line{384, 4.682, 3.786, 0.702, 3.398, 0.015},
        Line{512, 10.434, 6.726, 1.247, 6.040, 0.026},
        Line{768, 37.058, 15.125, 2.804, 13.590, 0.058},
        Line{1024, 99.700, 26.884, 4.984, 24.159, 0.104},
        Line{1536, 441.751, 60.480, 11.213, 54.358, 0.234},
        Line{2048, 1326.496, 107.515, 19.933, 96.637, 0.415}}) {
    const auto macs = [&](const char* model, std::vector<std::string> fields = {}) {
      return multiply_adds({.model = model, .fields = std::move(fields), .size = line.size});
    };
    constexpr double kDigit = 0.0005001;
    EXPECT_NEAR(giga(macs("deit_t").dense), line.deit, kDigit) << line.size;
    EXPECT_EQ(macs("deit_t").scan, 0);
    EXPECT_EQ(macs("deit_t", {"attention=materialised"}).dense, macs("deit_t").dense);
    EXPECT_NEAR(giga(macs("vim_t").dense), line.vim, kDigit) << line.size;
    EXPECT_NEAR(giga(macs("vim_t").scan), line.vim_scan, kDigit) << line.size;
    EXPECT_NEAR(giga(macs("vrwkv_t").dense), line.vrwkv, kDigit) << line.size;
    EXPECT_NEAR(giga(macs("vrwkv_t").scan), line.vrwkv_scan, kDigit) << line.size;
  }
  for (const auto& [size, dense, scan] :
       {std::tuple(224, 1.110, 0.087), std::tuple(512, 5.798, 0.453),
        std::tuple(1024, 23.192, 1.812)}) {
    const MacCount macs = multiply_adds({.model = "vig_t", .fields = {}, .size = size});
    EXPECT_NEAR(giga(macs.dense), dense, 0.0005001);
    EXPECT_NEAR(giga(macs.scan), scan, 0.0005001);
  }
}

TEST(Counting, OtherWays) {
  const auto ways = [](const char* model) {
    return count_ways(build_graph(find_model(model), 224, 224));
  };
  for (const auto& [model, uncounted] :
       {std::pair("vig_t", 0.231), std::pair("vig_s", 0.925), std::pair("vig_b", 3.699)}) {
    const Counts counts = ways(model);
    EXPECT_NEAR(giga(counts.all.total() - counts.without_down_proj), uncounted, 0.0005) << model;
    EXPECT_EQ(counts.baselines_way, counts.all.total());
  }
  for (const auto& [model, sum] :
       {std::pair("vrwkv_t", 1.169), std::pair("vmamba_t", 4.825),
        std::pair("plainmamba_l1", 3.013), std::pair("plainmamba_l3", 14.433),
        std::pair("efficientvmamba_b", 3.951), std::pair("localvmamba_s", 11.203)}) {
    const Counts counts = ways(model);
    EXPECT_NEAR(giga(counts.baselines_way), sum, 0.0006) << model;
    EXPECT_EQ(counts.without_down_proj, counts.all.total()) << model;
  }
  EXPECT_EQ(ways("vig_h_t").without_down_proj, ways("vig_h_t").all.total());
}

// A figure that the zoo prints does not stand in the table again.
TEST(PaperTables, EachFigureOnce) {
  for (const PaperRow& row : paper_rows()) {
    EXPECT_FALSE(row.accuracy.empty()) << row.label;
    if (!row.fields.empty()) continue;
    const ModelSpec spec = find_model(row.model);
    EXPECT_TRUE(row.params.empty() || spec.paper_params.empty()) << row.label;
    EXPECT_TRUE(row.flops.empty() || spec.paper_flops.empty()) << row.label;
    EXPECT_FALSE(printed_params(row).empty()) << row.label;
  }
  EXPECT_EQ(paper_rows().size(), 46u);
  EXPECT_EQ(printed_params(paper_row("RegNetY-4G")), "12M");
  EXPECT_EQ(printed_flops(paper_row("ViT-L/16")), "190.7G");
  EXPECT_EQ(printed_params(paper_row("ViG-T")), "6M");
}

TEST(PaperTables, RoadmapSharesItsEnds) {
  ASSERT_EQ(roadmap_rows().size(), 8u);
  EXPECT_EQ(roadmap_rows().front().throughput, 5761);
  EXPECT_EQ(roadmap_rows().back().accuracy, 77.2);
  EXPECT_EQ(roadmap_rows()[1].params, "5.72M");
  ASSERT_EQ(bidirectional_rows().size(), 3u);
  EXPECT_EQ(bidirectional_rows()[1].params, "6.70M");
  EXPECT_EQ(bidirectional_rows()[2].megabytes, 730);
}

TEST(PaperTables, TextAgainstTables) {
  const std::string table = arithmetic_table();
  EXPECT_NE(table.find("| ViG-T is 1.8x faster than Vim-T | 1.8x | 1.8x | **holds** |"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("PlainMamba-L1 | 4.6x | 4.7x | **holds** |"), std::string::npos)
      << "4.67 cut off";
  EXPECT_NE(table.find("5G FLOPs below ViT-T | 5G | 6G | **does not hold** |"), std::string::npos);
}

}  // namespace
}  // namespace vig::study
