// Multiply-adds of the backbones of dense prediction, against the paper's second table.
#include "vig/study/counting.h"

#include <gtest/gtest.h>

#include <cmath>

#include "vig/models/family.h"

namespace vig::study {
namespace {

double rounded_giga(int64_t count) { return std::round(static_cast<double>(count) / 1e7) / 1e2; }

TEST(Counting, BackbonesAsThePaperCountsThem) {
  struct Row {
    const char* model;
    double as_the_paper, with_what_it_misses;
  };
  const Row rows[] = {{"vig_t_maskrcnn", 61.14, 68.65},   {"vig_s_maskrcnn", 164.09, 189.03},
                      {"vig_b_maskrcnn", 498.46, 586.56}, {"vig_t_upernet", 14.91, 16.74},
                      {"vig_s_upernet", 40.01, 46.09},    {"vig_b_upernet", 121.53, 143.01}};
  for (const Row& row : rows) {
    const ModelSpec spec = find_model(row.model);
    const GridSize size = described_size(spec);
    const Graph graph = build_graph(spec, size.height, size.width);
    const BackboneCounts counts = count_backbone(graph);
    EXPECT_DOUBLE_EQ(rounded_giga(counts.as_the_paper), row.as_the_paper) << row.model;
    EXPECT_DOUBLE_EQ(rounded_giga(counts.with_what_it_misses), row.with_what_it_misses)
        << row.model;
    // Norms, biases, ReLUs and pooling are a hundredth at most.
    EXPECT_LT(counts.multiply_adds, counts.with_what_it_misses) << row.model;
    EXPECT_GT(counts.multiply_adds, 0.99 * static_cast<double>(counts.with_what_it_misses));
    EXPECT_LT(counts.multiply_adds, count_macs(graph).total()) << row.model;
  }
}

// The figures of the baselines, to the digits of the paper.
TEST(Counting, BaselinesAsThePaperCountsThem) {
  struct Row {
    const char* model;
    double counted, printed;
  };
  const Row rows[] = {
      {"vrwkv_t_maskrcnn", 67.92, 67.9},        {"vrwkv_s_maskrcnn", 189.88, 189.9},
      {"vrwkv_b_maskrcnn", 598.96, 599.0},      {"vrwkv_t_upernet", 16.56, 16.6},
      {"vrwkv_s_upernet", 46.29, 46.3},         {"vrwkv_b_upernet", 146.03, 146.0},
      {"vit_t_window_maskrcnn", 95.42, 95.4},   {"vit_s_window_maskrcnn", 241.17, 241.2},
      {"vit_b_window_maskrcnn", 686.68, 686.7}, {"vit_t_maskrcnn", 147.08, 147.1},
      {"vit_s_maskrcnn", 344.49, 344.5},        {"vit_b_maskrcnn", 893.32, 893.3},
      {"vit_t_upernet", 20.87, 20.9},           {"vit_s_upernet", 54.02, 54.0},
      {"vit_b_upernet", 157.86, 157.9}};
  for (const Row& row : rows) {
    const ModelSpec spec = find_model(row.model);
    const GridSize size = described_size(spec);
    const BackboneCounts counts = count_backbone(build_graph(spec, size.height, size.width));
    const double counted = static_cast<double>(counts.as_the_paper_baselines) / 1e9;
    EXPECT_NEAR(counted, row.counted, 0.0051) << row.model;
    EXPECT_NEAR(counted, row.printed, 0.051) << row.model;
    // Every multiply-add once: the sampling of all six extractors, and 11 for bi-WKV.
    EXPECT_NEAR(static_cast<double>(counts.multiply_adds) / 1e9, counted, 0.01 * counted)
        << row.model;
  }
}

}  // namespace
}  // namespace vig::study
