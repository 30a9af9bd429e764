// Rows of a run, and checkpoints that cannot be what they say.
#include "vig/train/state.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/files.h"
#include "vig/train/tasks/classification.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

using train::MetricsRow;
using train::RunState;

const train::Columns kStateColumns = train::classification_columns(train::BestBy::kTop1);

TEST(RunState, ARowIsWhatHappenedSinceTheLast) {
  RunState state = new_state(kStateColumns);
  EXPECT_EQ(state.sums, std::vector<double>{0});
  EXPECT_EQ(state.open_row().train_loss, 0) << "of nothing at all";
  EXPECT_EQ(state.open_row().train, std::vector<double>{0});
  for (int64_t number = 1; number <= 2; ++number) {
    state.step = 10 * number;
    state.loss_sum += 6;
    state.loss_steps += 2.5;
    state.seen += 40;
    state.sums[0] += 30;
    state.row_seconds += 8;
    state.seconds += 8;
    state.row_due = true;
    const MetricsRow row = state.open_row();
    EXPECT_EQ(row.step, 10 * number);
    EXPECT_DOUBLE_EQ(row.train_loss, 2.4) << number;
    EXPECT_EQ(row.train, std::vector<double>{0.75}) << number;
    EXPECT_DOUBLE_EQ(row.images_per_second, 5) << number;
    state.close_row(row);
    EXPECT_FALSE(state.row_due);
    EXPECT_EQ(state.rows.size(), static_cast<size_t>(number));
  }
  EXPECT_EQ(state.seconds, 16) << "those of the run go on";
}

// A checkpoint of a network of one number, with this text as its state.
class CheckpointText : public ::testing::Test {
 protected:
  std::string error(const std::string& text) {
    write_safetensors(file_, tensors_, {{"vig.train.run", "{}"}, {"vig.train.state", text}});
    return error_of([&] { read_checkpoint(file_, kStateColumns, parameters_, optimizer_); });
  }
  RunState read(const std::string& text) {
    write_safetensors(file_, tensors_, {{"vig.train.run", "{}"}, {"vig.train.state", text}});
    return read_checkpoint(file_, kStateColumns, parameters_, optimizer_);
  }
  // Of a version that knew classification alone; `more` stands in front.
  static std::string old_state(const std::string& more) {
    return "{" + more +
           R"("step": 30, "loss_sum": 1.5, "seen": 9, "loss_steps": 2, "row_seconds": 0.5,
              "seconds": 4, "best_step": -1, "rows": []})";
  }

  TempDir folder_;
  const std::string file_ = (folder_ / "c.safetensors").string();
  const train::TrainOptions options_;
  train::Workers workers_{1};
  const std::vector<ParamSpec> specs_ = {{"a", {1}, ones_init()}};
  train::Parameters parameters_{specs_, *random_weights(specs_, 1), at::kCPU};
  train::AdamW optimizer_{options_, parameters_, workers_};
  const std::vector<float> values_ = std::vector<float>(16, 0.5f);
  const TensorView view_{values_.data(), DType::kF32, Shape{16}};
  const std::vector<NamedTensor> tensors_ = {
      {"values", view_}, {"mean", view_}, {"square", view_}, {"average", view_}};
};

TEST_F(CheckpointText, OfTheFirstVersionsIsRead) {
  const RunState state = read(old_state("\"hits\": 7, "));
  EXPECT_EQ(state.step, 30);
  EXPECT_EQ(state.sums, std::vector<double>{7});
  EXPECT_FALSE(state.row_due);
  EXPECT_EQ(state.best(), nullptr);
  EXPECT_EQ(optimizer_.steps(), 30);
  EXPECT_EQ(parameters_[0].item<float>(), 0.5f);
}

// Sums are added to by index, so there must be as many as the task has.
TEST_F(CheckpointText, OfAnotherTaskIsRefused) {
  const std::string words = "expected 1 training and 4 validation figures in a row, found others";
  for (const char* sums : {"[]", "[1, 2]"}) {
    EXPECT_NE(error(old_state(fmt::format("\"sums\": {}, ", sums))).find(words), std::string::npos)
        << sums;
  }
  for (const char* row : {R"("train": [], "val": [1, 2, 3, 4])", R"("train": [1], "val": [1, 2])",
                          R"("train": [1, 2], "val": [1, 2, 3, 4])"}) {
    std::string text = old_state("\"sums\": [1], ");
    text.replace(text.find("[]}"), 3,
                 fmt::format(R"([{{"epoch": 1, "step": 2, "lr": 0, "train_loss": 0, {},
                                 "images_per_second": 1, "seconds": 1}}]}})",
                             row));
    EXPECT_NE(error(text).find(words), std::string::npos) << row;
  }
}

TEST_F(CheckpointText, ThatIsNoneIsRefused) {
  std::string before = old_state("\"sums\": [1], ");
  before.replace(before.find("30"), 2, "-1");
  for (const std::string& text : {std::string(), std::string("[]"), std::string("{"),
                                  std::string("{}"), std::string(R"({"step": "many"})"), before}) {
    const std::string problem = error(text);
    EXPECT_EQ(problem, file_ + ": the state of the run cannot be read") << text;
    EXPECT_EQ(error_of([&] { train::read_step(file_); }), problem) << text;
  }
  write_safetensors(file_, tensors_, {{"vig.train.run", "{}"}});
  EXPECT_EQ(error_of([&] { train::read_step(file_); }), file_ + ": expected a training checkpoint");
}

}  // namespace
}  // namespace vig::test
