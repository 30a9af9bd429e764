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

}  // namespace
}  // namespace vig::study
