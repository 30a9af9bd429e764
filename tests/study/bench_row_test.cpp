// What a study takes from the tables that `vig` writes, with a stand-in for the program.
#include "vig/study/bench_row.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/files.h"
#include "vig/study/miniature.h"

namespace vig::study {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

// A program that writes `table` to the file behind --csv.
StudyContext stand_in(const TempDir& folder, const std::string& table) {
  StudyContext context;
  context.folder = folder.path();
  context.program = folder / "vig";
  context.options.data = "pictures";
  test::write_file(folder / "table", table);
  test::write_file(context.program, "#!/bin/sh\nwhile [ \"$1\" != --csv ]; do shift; done\ncp '" +
                                        (folder / "table").string() + "' \"$2\"\n");
  fs::permissions(context.program, fs::perms::owner_all);
  return context;
}

TEST(BenchRow, HasTheFiguresOfTheTable) {
  const TempDir folder;
  const StudyContext context =
      stand_in(folder,
               "best_quarter_ms,median_ms,spread,gflops,peak_share,dense_multiply_adds,"
               "scan_multiply_adds,arena_bytes,scratch_bytes,process_bytes\n"
               "10,12,0.25,50,0.5,1000,100,3000,200,90000\n");
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
}

TEST(MeasureAccuracy, IsTheShareOfCorrectAnswers) {
  const TempDir folder;
  const std::string head = "index,class,pictures,answered,correct,recall\n";
  const Accuracy accuracy =
      measure_accuracy("w", 32, stand_in(folder, head + "0,ant,6,5,2,0.3\n1,bee,4,4,3,0.7\n"));
  EXPECT_EQ(accuracy.pictures, 10);
  EXPECT_EQ(accuracy.top1, 0.5);
  test::expect_error(ErrorCode::kInput, {"line 2", "5 cells"},
                     [&] { measure_accuracy("w", 32, stand_in(folder, head + "0,ant,6,5\n")); });
  test::expect_error(ErrorCode::kInput, {"no picture was tested"},
                     [&] { measure_accuracy("w", 32, stand_in(folder, head)); });
}

}  // namespace
}  // namespace vig::study
