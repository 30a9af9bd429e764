// What a study takes from the tables that `vig` writes, with a stand-in for the program.
#include "vig/study/bench_row.h"

#include <gtest/gtest.h>

#include "study/stand_in.h"
#include "support/errors.h"
#include "vig/study/miniature.h"

namespace vig::study {
namespace {

using test::TempDir;

TEST(BenchRow, HasTheFiguresOfTheTable) {
  const TempDir folder;
  const StudyContext context = stand_in(folder, kBenchTable);
  BenchRequest request;
  request.model = "test_vig";
  request.size = 64;
  request.batch = 4;
  Row row;
  measure_bench(request, context, row);
  const std::map<std::string, std::string> expected = {{"dense_multiply_adds", "1000"},
                                                       {"scan_multiply_adds", "100"},
                                                       {"median_ms", "12"},
                                                       {"best_ms", "10"},
                                                       {"spread", "0.25"},
                                                       {"images_per_second", "400"},
                                                       {"gflops", "50"},
                                                       {"peak_share", "0.5"},
                                                       {"activation_bytes", "3200"},
                                                       {"process_bytes", "90000"}};
  EXPECT_EQ(row.cells, expected);
  EXPECT_EQ(row.note, "");
  for (const char* file : {"row.csv", "row.log"}) {
    EXPECT_FALSE(std::filesystem::exists(folder / file)) << file;
  }
}

TEST(BenchRow, AsksForTheNetworkOfTheRequest) {
  const TempDir folder;
  StudyContext context = stand_in(folder, kBenchTable);
  context.options.threads = 3;
  BenchRequest request{.model = "test_vig", .fields = {"depth=1", "heads=4"}, .size = 48};
  request.batch = 4;
  request.seconds = 0.75;
  Row row;
  measure_bench(request, context, row);
  const std::string csv = " --csv " + (folder / "row.csv").string();
  std::string expected = "bench test_vig --size 48x48 --batch 4 --threads 3 --seconds 0.75" + csv +
                         " --set depth=1 --set heads=4\n";
  EXPECT_EQ(asked(folder), expected);
  // The seconds of the options come first, and a network of another shape has its own size.
  context.options.seconds = 0.5;
  measure_bench({.model = "test_vig_maskrcnn", .fields = {}}, context, row);
  expected +=
      "bench test_vig_maskrcnn --size 64x96 --batch 1 --threads 3 --seconds 0.5" + csv + "\n";
  EXPECT_EQ(asked(folder), expected);
}

TEST(BenchRow, LeavesOutWhatDoesNotFitTheMachine) {
  const TempDir folder;
  const StudyContext context = stand_in(folder, kBenchTable);
  BenchRequest request{.model = "test_vig", .fields = {}, .size = 64};
  request.bytes = 1e18;
  Row row;
  measure_bench(request, context, row);
  EXPECT_TRUE(row.note.starts_with("left out: needs 1000000000.0 GB, this machine has "))
      << row.note;
  EXPECT_EQ(row.cells.size(), 2u) << "multiply-adds need no run";
  EXPECT_EQ(asked(folder), "");
  request.bytes = 1;
  row = {};
  measure_bench(request, context, row);
  EXPECT_EQ(row.note, "");
  EXPECT_EQ(row.number("best_ms"), 10);
}

// Of all that a run may complain about, only its memory is a reason to go on without the row.
TEST(BenchRow, OnlyWantOfMemoryLeavesARowOut) {
  const TempDir folder;
  const StudyContext context = stand_in(folder, "");
  const auto complain = [&](const std::string& words) {
    test::write_file(context.program, "#!/bin/sh\necho 'vig: " + words + "'\nexit 1\n");
    std::filesystem::permissions(context.program, std::filesystem::perms::owner_all);
    Row row;
    measure_bench({.model = "test_vig", .fields = {}, .size = 64}, context, row);
    return row;
  };
  const Row row = complain("the arena does not fit into memory");
  EXPECT_TRUE(row.note.starts_with("left out: needs more than the ")) << row.note;
  EXPECT_EQ(row.cells.size(), 2u);
  test::expect_error(ErrorCode::kInput, {"no such model"}, [&] { complain("no such model"); });
}

TEST(BenchRow, DamagedTablesAreNamed) {
  const auto expect = [](const std::string& table, std::initializer_list<std::string> words) {
    const TempDir folder;
    test::expect_error(ErrorCode::kInput, words, [&] {
      Row row;
      measure_bench({.model = "test_vig", .fields = {}, .size = 64}, stand_in(folder, table), row);
    });
  };
  expect("best_quarter_ms,median_ms\n1\n", {"row.csv: line 2 is damaged"});
  expect("best_quarter_ms,median_ms\n", {"row.csv: holds no result"});
  expect("dense_multiply_adds,scan_multiply_adds,best_quarter_ms\n1,2,3\n",
         {"wrote no column median_ms"});
}

TEST(MeasureAccuracy, IsTheShareOfCorrectPredictions) {
  const TempDir folder;
  const std::string head = "index,class,images,predicted,correct,recall\n";
  const Accuracy accuracy = measure_accuracy(
      "w", 32, "test", stand_in(folder, head + "0,ant,6,5,2,0.3\n1,bee,4,4,3,0.7\n"));
  EXPECT_EQ(accuracy.images, 10);
  EXPECT_EQ(accuracy.top1, 0.5);
  EXPECT_EQ(asked(folder), "eval images --split test -m w --csv " + (folder / "eval.csv").string() +
                               " --threads 0 --size 32\n");
  test::expect_error(ErrorCode::kInput, {"line 2", "5 cells"}, [&] {
    measure_accuracy("w", 32, "test", stand_in(folder, head + "0,ant,6,5\n"));
  });
  test::expect_error(ErrorCode::kInput, {"no image was tested"},
                     [&] { measure_accuracy("w", 32, "test", stand_in(folder, head)); });
}

}  // namespace
}  // namespace vig::study
