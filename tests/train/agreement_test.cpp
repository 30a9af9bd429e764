// Processes that have not begun from the same say so, all of them.
#include "vig/train/processes/agreement.h"

#include <gtest/gtest.h>

#include "train/together.h"

namespace vig::test {
namespace {

using train::Group;
using train::TrainOptions;

TEST(Agreement, MarksDistinguishValuesAndTheirOrder) {
  const std::vector<std::vector<float>> all = {{1, 2, 3},    {2, 1, 3}, {1, 2, 4}, {1, 2},
                                               {1, 2, 3, 0}, {0, 0},    {0, -0.0f}};
  std::set<std::string> marks;
  for (const std::vector<float>& values : all) marks.insert(train::values_mark(at::tensor(values)));
  EXPECT_EQ(marks.size(), all.size());
  EXPECT_EQ(train::values_mark(at::tensor(all[0])), train::values_mark(at::tensor(all[0])));
  EXPECT_EQ(marks.begin()->size(), 16u);
}

TEST(Agreement, NamesTheFirstDifference) {
  const std::vector<std::string> differ = run_group(3, [](Group& group) {
    check_agreement(group, {{"a", "1"}, {"b", group.rank() == 2 ? "x" : "y"}, {"c", "3"}});
  });
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(differ[rank],
              fmt::format("process 2 does not agree with process 0 on b (on process {} it is {})",
                          rank, rank == 2 ? "x" : "y"));
  }
  const std::vector<std::string> others = run_group(2, [](Group& group) {
    check_agreement(group, {{"a", "1"}, {group.rank() == 1 ? "d" : "e", "2"}});
  });
  EXPECT_EQ(others,
            std::vector<std::string>(2, "process 1 trains another kind of model than process 0"));
  EXPECT_EQ(run_group(2,
                      [](Group& group) {
                        check_agreement(group, {{"a", "1"}, {"b", "2"}});
                      }),
            std::vector<std::string>(2));
}

// As where a weight file of the same name is another one on another machine.
TEST(Agreement, WeightsToBeginWithAreCompared) {
  const TempDir folder;
  write_files(folder / "data", striped_images(2, 4));
  TrainOptions options = tiny_options("small");
  options.threads = 1;
  options.batch = 4;
  const std::vector<std::string> sentences = run_group(2, [&](Group& group) {
    auto task = train::open_task(options, (folder / "data").string(), 2);
    if (group.rank() == 1) task->model().parameters.values().add_(1e-3);
    train::train(std::move(task), options, "data", (folder / "run").string(), train::TrainEvents(),
                 group);
  });
  for (const std::string& sentence : sentences) {
    EXPECT_TRUE(sentence.starts_with(
        "process 1 does not agree with process 0 on the weights to begin with"))
        << sentence;
  }
}

}  // namespace
}  // namespace vig::test
