// Tables with verdicts, and the document that is made of them.
#include "vig/study/report.h"
#include "study/text.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/files.h"
#include "support/tree.h"
#include "support/xml.h"
#include "vig/models/family.h"
#include "vig/study/counting.h"
#include "vig/study/efficiency_report.h"
#include "vig/study/paper_tables.h"
#include "vig/study/results.h"
#include "vig/study/study.h"
#include "vig/study/throughput_report.h"

namespace vig::study {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::read_file;
using test::TempDir;
using test::write_file;

Results made_up() {
  Results results;
  results.conditions = {"Made-up CPU", "AVX2", "2", "1", ""};
  return results;
}

Row efficiency_row(const Contender& contender, int size, double ms, double megabytes) {
  Row row;
  row.key = efficiency_key(contender, size);
  row.date = "2026-01-02";
  const MacCount macs = count_macs(build_graph(find_model(contender.model), size, size));
  row.set("dense_multiply_adds", std::to_string(macs.dense));
  row.set("scan_multiply_adds", std::to_string(macs.scan));
  row.set("best_ms", ms);
  row.set("process_bytes", 1e6 * megabytes);
  return row;
}

// ViG-T is twice as fast as DeiT-T at 224 and eight times at 1024.
Results efficiency_results() {
  Results results = made_up();
  for (const Contender& who : contenders()) {
    const bool ours = who.key == "vig_t";
    results.rows.push_back(efficiency_row(who, 224, ours ? 10 : 20, ours ? 60 : 70));
    results.rows.push_back(efficiency_row(who, 1024, ours ? 200 : 1600, ours ? 100 : 1500));
    if (who.onnxruntime) results.rows.back().set("vig_t_ms", 160);  // in turns
  }
  return results;
}

TEST(EfficiencyReport, VerdictsFollowTheRows) {
  Results results = efficiency_results();
  const std::string text = present_efficiency(results).markdown;
  EXPECT_TRUE(contains(text, "Made-up CPU, AVX2, 2 threads, float32, vig 1, measured 2026-01-02"));
  const auto verdict = [&](const std::string& claim) { return line_with(text, claim); };
  EXPECT_TRUE(contains(verdict("4.8x faster"), "| 4.8x | 8.0x | **holds**: measured one after"));
  EXPECT_TRUE(contains(verdict("saves 90 %"), "| 90 % | 93 % | **holds**: of DeiT-T with logits"));
  // By the true count; the paper's own is nearer to its claim.
  EXPECT_TRUE(contains(verdict("5.2x lower"), "| 5.2x | 4.0x | **does not hold**: 4.9x"));
  EXPECT_TRUE(contains(verdict("1.6x lower"), "| 1.6x | 1.27x | **does not hold**: 1.58x"));
  EXPECT_TRUE(contains(verdict("VRWKV in terms of latency"), "**undecided**: some sizes"));
  EXPECT_TRUE(contains(verdict("VRWKV in terms of FLOPs"), "**does not hold**"));
  EXPECT_TRUE(contains(verdict("grows as the resolution"), "**undecided**: intervals"))
      << "one size above 224";
  // A pair that took turns is the one measurement of it.
  Row pair{.key = efficiency_pair_key(contenders()[1], 1024),
           .cells = {},
           .note = "",
           .date = "2026-01-02"};
  pair.set("ratio", 4.7);
  pair.set("ratio_low", 4.0);
  pair.set("ratio_high", 5.0);
  results.rows.push_back(pair);
  EXPECT_TRUE(contains(line_with(present_efficiency(results).markdown, "4.8x faster"),
                       "| 4.8x | 4.7x (4.0x to 5.0x) | **undecided**"));
  EXPECT_TRUE(contains(text, "| 1024 | 25.0 G | 20.2 G | 99.7 G | 31.9 G | 24.3 G |")) << text;
}

TEST(EfficiencyReport, TheImageHasEveryPoint) {
  const std::string svg = present_efficiency(efficiency_results()).svg;
  EXPECT_EQ(test::xml_problem(svg), "");
  size_t points = 0;
  for (size_t at = svg.find("<circle "); at != std::string::npos;
       at = svg.find("<circle ", at + 1)) {
    ++points;
  }
  EXPECT_EQ(points, 2u * (4 + 7 + 7)) << "two sizes; multiply-adds of four networks";
  for (const Contender& who : contenders()) EXPECT_TRUE(contains(svg, ">" + who.name + "<"));
  EXPECT_TRUE(contains(svg, ">15x<")) << "memory against ONNX Runtime";
  EXPECT_TRUE(contains(svg, ">ONNX Runtime<")) << "and the label says so";
}

TEST(EfficiencyReport, MissingRowsAreSaid) {
  Results results = efficiency_results();
  std::erase_if(results.rows, [](const Row& row) { return row.key.starts_with("deit_t"); });
  Row left_out{.key = "deit_t-materialised/1024",
               .cells = {},
               .note = "left out: too large",
               .date = "2026-01-02"};
  results.rows.push_back(left_out);
  const Presentation shown = present_efficiency(results);
  EXPECT_TRUE(
      contains(line_with(shown.markdown, "4.8x faster"), "**undecided**: not measured yet"));
  EXPECT_TRUE(contains(shown.markdown, "deit_t-materialised/1024: left out: too large."));
  EXPECT_EQ(test::xml_problem(shown.svg), "");
  const Presentation nothing = present_efficiency({});
  EXPECT_TRUE(contains(nothing.markdown, "Nothing is measured yet."));
  EXPECT_FALSE(contains(nothing.markdown, "**holds**"));
  EXPECT_EQ(test::xml_problem(nothing.svg), "");
}

Row throughput_row(const std::string& key, double images) {
  const auto paper = std::ranges::find(paper_rows(), key, &PaperRow::label);
  const std::string model = paper == paper_rows().end() ? key : std::string(paper->model);
  const ModelSpec spec = find_model(model);
  const Graph graph = build_graph(spec, spec.recipe.crop, spec.recipe.crop);
  const Counts counts = count_ways(graph);
  Row row;
  row.key = key;
  row.set("size", spec.recipe.crop);
  row.set("parameters", std::to_string(graph.param_count()));
  row.set("dense_multiply_adds", std::to_string(counts.all.dense));
  row.set("scan_multiply_adds", std::to_string(counts.all.scan));
  row.set("without_down_proj", std::to_string(counts.without_down_proj));
  row.set("baselines_multiply_adds", std::to_string(counts.baselines_way));
  row.set("images_per_second", images);
  return row;
}

TEST(ThroughputReport, VerdictsFollowTheRows) {
  Results results = made_up();
  for (const auto& [key, images] :
       {std::pair("ViG-T", 100.0), std::pair("ViG-S", 30.0), std::pair("DeiT-T", 110.0),
        std::pair("DeiT-B", 9.0), std::pair("Vim-T", 60.0), std::pair("PlainMamba-L1", 10.0),
        std::pair("RegNetY-4G", 50.0), std::pair("Swin-T", 40.0), std::pair("resnet50", 41.0)}) {
    results.rows.push_back(throughput_row(key, images));
  }
  const Presentation shown = present_throughput(results);
  const std::string& text = shown.markdown;
  const auto row = [&](const std::string& label) { return line_with(text, "| " + label + " |"); };
  EXPECT_TRUE(contains(row("DeiT-T"), "parameters: **holds**; FLOPs: **holds**"));
  EXPECT_TRUE(contains(row("DeiT-B"), "| 86M | 86.57 M |"));
  EXPECT_TRUE(contains(row("DeiT-B"), "parameters: **holds**")) << "cut off";
  EXPECT_TRUE(contains(row("ViG-T"), "FLOPs: **does not hold (-24.8 %; 0.97 G without"));
  EXPECT_TRUE(contains(row("PlainMamba-L1"), "FLOPs: **holds (with 3.01 G by its authors'"));
  EXPECT_TRUE(contains(row("RegNetY-4G"), "parameters: **does not hold (-41.9 %)**"));
  EXPECT_TRUE(contains(row("Swin-T"), "FLOPs: **does not hold"));
  EXPECT_TRUE(contains(row("VRWKV-T"), "parameters: **holds**")) << "counts need no measurement";
  EXPECT_TRUE(contains(row("S4ND-ConvNeXt-T"), "| 30M | 29.98 M |"));
  EXPECT_TRUE(contains(row("resnet50"), "| 41 |"));
  const auto claim = [&](const std::string& words) { return line_with(text, words); };
  EXPECT_TRUE(contains(claim("2x faster than DeiT-B"), "| 2.0x | 3.3x | **holds**"));
  EXPECT_TRUE(contains(claim("1.8x faster than Vim-T"), "| 1.8x | 1.67x | **does not hold**"));
  EXPECT_TRUE(contains(claim("20 % of DeiT-B's FLOPs"), "| 20 % | 26 % | **does not hold**"));
  EXPECT_TRUE(contains(claim("3.7x fewer"), "| 3.7x | 3.8x | **holds**"));
  EXPECT_TRUE(contains(claim("slightly slower than DeiT"), "DeiT-T / ViG-T: 1.10x"));
  EXPECT_TRUE(contains(claim("accuracy of ViG-S against DeiT-S"), "+1.9 %"));
  // All measured pairs agree, but some are missing: no verdict. One counter-example decides.
  EXPECT_TRUE(contains(claim("surpasses other linear"), "**undecided**"));
  results.rows.push_back(throughput_row("VRWKV-T", 106));
  EXPECT_TRUE(contains(line_with(present_throughput(results).markdown, "surpasses other linear"),
                       "**does not hold**"));
  EXPECT_EQ(test::xml_problem(shown.svg), "");
}

// A factor is reached by 95 % of it, in every study.
TEST(Reports, FactorsHaveABand) {
  const auto verdicts = [](double share) {
    Results results = made_up();
    results.rows = {throughput_row("ViG-T", 1.8 * share), throughput_row("Vim-T", 1)};
    const std::string speed = present_throughput(results).markdown;
    results.rows = {efficiency_row(contenders()[0], 1024, 1, 100),
                    efficiency_row(contenders()[1], 1024, 4.8 * share, 100)};
    const std::string cost = present_efficiency(results).markdown;
    std::string holds;
    for (const std::string& line :
         {line_with(speed, "1.8x faster than Vim-T"), line_with(cost, "4.8x faster than DeiT-T")}) {
      holds += contains(line, "**holds**") ? "+" : contains(line, "**does not hold**") ? "-" : "?";
    }
    return holds;
  };
  EXPECT_EQ(verdicts(0.96), "++");
  EXPECT_EQ(verdicts(0.94), "--");
}

TEST(ThroughputReport, EveryModelOfTheZooHasARow) {
  const std::vector<std::string> keys = find_study("throughput").keys({});
  for (const ModelSpec& spec : model_zoo()) {
    if (spec.name.starts_with("test_") || spec.name.starts_with("gla_")) continue;
    if (spec.config->task() != ModelTask::kClassify || spec.imported) continue;
    const bool row = std::ranges::any_of(keys, [&](const std::string& key) {
      const auto paper = std::ranges::find(paper_rows(), key, &PaperRow::label);
      return key == spec.name ||
             (paper != paper_rows().end() && paper->model == spec.name && paper->fields.empty());
    });
    EXPECT_TRUE(row) << spec.name;
  }
}

TEST(Report, OnlyMarkedPartsChange) {
  const TempDir folder;
  const Study& study = find_study("efficiency");
  const std::string text =
      "before\n<!-- study efficiency -->\nformer\n<!-- end -->\nbetween\n<!-- table arithmetic "
      "-->\n"
      "<!-- end -->\n<!-- a remark -->\nafter\n";
  Report report = make_report(text, folder.path(), "doc.md");
  EXPECT_TRUE(report.document.starts_with("before\n<!-- study efficiency -->\n\nCommand: `./vig"));
  EXPECT_FALSE(contains(report.document, "former"));
  EXPECT_TRUE(contains(report.document, "Nothing is measured yet."));
  EXPECT_TRUE(
      contains(report.document, "\n<!-- end -->\nbetween\n<!-- table arithmetic -->\n\n| "));
  EXPECT_TRUE(contains(report.document, "COCO: ViG-B 44 % lower FLOPs than ViT-B"));
  EXPECT_TRUE(report.document.ends_with("<!-- end -->\n<!-- a remark -->\nafter\n"));
  EXPECT_EQ(report.images.size(), 1u);
  EXPECT_EQ(make_report(report.document, folder.path(), "doc.md").document, report.document);
  for (const char* file : {"efficiency.csv", "efficiency/efficiency.csv"}) {
    const TempDir results;
    write_file(results / file, results_csv(efficiency_results(), study.columns));
    report = make_report(text, results.path(), "doc.md");
    EXPECT_TRUE(contains(report.document, "Made-up CPU")) << file;
    EXPECT_TRUE(contains(report.images.at("efficiency.svg"), "Made-up CPU"));
  }
}

TEST(Report, BadMarksAreNamed) {
  const TempDir folder;
  const auto bad = [&](const std::string& text, ErrorCode code,
                       std::initializer_list<std::string> words) {
    expect_error(code, words, [&] { make_report(text, folder.path(), "doc.md"); });
  };
  bad("a\n<!-- table arithmetic -->\n", ErrorCode::kInput, {"doc.md", "line 2", "<!-- end -->"});
  bad("<!-- table arithmetic -->\n<!-- table parameters -->\n<!-- end -->\n", ErrorCode::kInput,
      {"line 1"});
  bad("\n\n<!-- table chairs -->\n<!-- end -->\n", ErrorCode::kInput, {"line 3", "chairs"});
  bad("<!-- study efficency -->\n<!-- end -->\n", ErrorCode::kUsage, {"did you mean"});
}

// The pages of the tree are what the command makes of the results in the tree.
TEST(Report, PagesAreUpToDate) {
  const fs::path root = test::kSourceDir;
  std::string pages;
  for (const std::string name : {"docs/reproduction.md", "docs/speed.md"}) {
    const std::string page = read_file(root / name);
    const Report made = make_report(page, root / "bench/results/study", name);
    const std::string command = "run ./vig study report --from bench/results/study --out " + name;
    EXPECT_TRUE(made.document == page) << name << " is not up to date; " << command;
    for (const auto& [image, svg] : made.images) {
      EXPECT_TRUE(read_file(root / "docs" / image) == svg)
          << "docs/" << image << " is not up to date; " << command;
    }
    pages += page;
  }
  for (const Study& study : studies()) {
    EXPECT_TRUE(contains(pages, "<!-- study " + study.name + " -->")) << study.name;
  }
}

}  // namespace
}  // namespace vig::study
