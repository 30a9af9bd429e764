// What is shown of a run's rows: in its curves, in the files of its networks, in its sentences.
#include "vig/train/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "vig/tasks/chart.h"
#include "vig/train/curves.h"
#include "vig/train/tasks/classification.h"

namespace vig::test {
namespace {

using train::MetricsRow;

std::vector<MetricsRow> some_rows() {
  std::vector<MetricsRow> rows(2);
  rows[0] = {1.25, 10, 1e-3, 2.5, {0.5}, {2.25, 0.75, 1.0, 0.625}, 100, 3};
  rows[1] = {2.5, 20, 5e-4, 1.5, {0.875}, {1.75, 0.5, 1.0, NAN}, 100, 6};
  return rows;
}

TEST(Notes, OfANetworkAreThoseOfItsRow) {
  using Texts = std::map<std::string, std::string>;
  const train::Columns top1 = train::classification_columns(train::BestBy::kTop1);
  EXPECT_EQ(model_notes(some_rows()[0], top1),
            (Texts{{"epoch", "1.25"}, {"step", "10"}, {"val_top1", "0.75"}}));
  const train::Columns balanced = train::classification_columns(train::BestBy::kBalanced);
  EXPECT_EQ(
      model_notes(some_rows()[0], balanced),
      (Texts{{"epoch", "1.25"}, {"step", "10"}, {"val_top1", "0.75"}, {"val_balanced", "0.625"}}));
  EXPECT_EQ(model_notes(some_rows()[1], balanced),
            (Texts{{"epoch", "2.5"}, {"step", "20"}, {"val_top1", "0.5"}}))
      << "what was not measured is not there";
}

// Shares are drawn in percent, each curve in the panel of its column, and the best network is
// marked in the panels of its figures.
TEST(Curves, AreTheRowsInPanels) {
  train::CurvesInfo info;
  info.title = "title";
  info.note = "note";
  info.columns = train::classification_columns(train::BestBy::kTop1);
  info.best_step = 10;
  info.best_column = train::kValTop1;
  info.best_label = "75.00 %";
  Chart chart{.title = "title"};
  chart.layout = ChartLayout::kStack;
  chart.panel_width = 560;
  chart.panel_height = 220;
  const ChartAxis x{.label = "epoch"};
  chart.panels = {{.title = "loss",
                   .x = x,
                   .y = {},
                   .series = {{"training", {{1.25, 2.5}, {2.5, 1.5}}, 0},
                              {"validation", {{1.25, 2.25}, {2.5, 1.75}}, 1}},
                   .mark = ChartMark{1.25, 2.25, "2.2500"}},
                  {.title = "accuracy (%)",
                   .x = x,
                   .y = {},
                   .series = {{"training, top-1", {{1.25, 50}, {2.5, 87.5}}, 0},
                              {"validation, top-1", {{1.25, 75}, {2.5, 50}}, 1}},
                   .mark = ChartMark{1.25, 75, "best: 75.00 % at epoch 1.25"}},
                  {.title = "learning rate",
                   .x = x,
                   .y = {},
                   .series = {{"learning rate", {{1.25, 1e-3}, {2.5, 5e-4}}, 0}},
                   .height = 110}};
  EXPECT_EQ(curves_svg(info, some_rows()), chart_svg(chart));
  info.best_step = -1;
  chart.panels[0].mark = chart.panels[1].mark = std::nullopt;
  EXPECT_EQ(curves_svg(info, some_rows()), chart_svg(chart));
}

// The caption explains a training loss above the validation loss, so it is there only where the
// training loss ends above; and it says why the best network is not the highest.
TEST(Curves, HaveACaptionWhereItIsTrue) {
  const train::CurvesInfo info = {
      "", "Because.", train::classification_columns(train::BestBy::kTop1), 10, train::kValTop1};
  std::vector<MetricsRow> rows = some_rows();
  ASSERT_LT(rows.back().train_loss, rows.back().val[train::kValLoss]);
  EXPECT_EQ(curves_svg(info, rows).find("Because."), std::string::npos);
  EXPECT_EQ(curves_svg(info, {}).find("Because."), std::string::npos);
  rows.back().train_loss = 2;
  EXPECT_NE(curves_svg(info, rows).find(">Because.<"), std::string::npos);
  rows.back().val[train::kValLoss] = NAN;
  EXPECT_EQ(curves_svg(info, rows).find("Because."), std::string::npos);
  train::CurvesInfo noted = info;
  noted.best_note = "near";
  EXPECT_NE(curves_svg(noted, rows).find(">The best network is near.<"), std::string::npos);
}

TEST(Curves, AreNamedAfterRunModelAndData) {
  EXPECT_EQ(train::curves_title("run", "vig_t", "photos/"), "run: vig_t on photos");
  EXPECT_EQ(train::curves_title("a/run/.", "vig_t", "b/../c"), "run: vig_t on c");
  EXPECT_EQ(train::curves_title("/", "vig_t", "photos"), "/: vig_t on photos");
}

TEST(LossNote, NamesWeightsAndAverages) {
  train::TrainOptions options;
  options.augment.flip = 0;
  const std::string start =
      "The training loss may well lie above the validation loss: only training has ";
  options.ema = 0;
  options.class_weights = "balanced";
  EXPECT_EQ(train::classification_loss_note(options, 0), start + "class weights.");
  options.ema = 0.9;
  EXPECT_EQ(train::classification_loss_note(options, 0.25),
            start + "class weights, drop path 0.25, and only validation uses averaged weights.");
  // Mixing that never happens is no reason.
  options = {};
  options.augment.flip = 0;
  options.mix.mixup = options.mix.cutmix = 1;
  options.mix.probability = 0;
  EXPECT_EQ(train::classification_loss_note(options, 0), "");
}

}  // namespace
}  // namespace vig::test
