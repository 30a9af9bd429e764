// Rows that follow from what is measured.
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/files.h"
#include "vig/study/study.h"

namespace vig::study {
namespace {

// Row "1", once it is measured, asks for rows "3" and "4".
Study growing(std::vector<std::string>& measured) {
  Study study;
  study.name = "growing";
  study.columns = {{"number"}};
  study.keys = [](const StudyOptions&) { return std::vector<std::string>{"1", "2"}; };
  study.further_keys = [](const StudyOptions&, const Results& results) {
    return results.number("1", "number") == 7.0 ? std::vector<std::string>{"3", "4"}
                                                : std::vector<std::string>();
  };
  study.measure = [&measured](const std::string& key, const StudyContext&) {
    measured.push_back(key);
    Row row;
    row.set("number", 7);
    return row;
  };
  study.summary = [](const Row&) { return ""; };
  study.present = [](const Results& results) {
    Presentation shown;
    for (const Row& row : results.rows) shown.markdown += row.key;
    return shown;
  };
  return study;
}

TEST(FurtherRows, AreMeasuredOnceTheirReasonIsThere) {
  const test::TempDir folder;
  StudyContext context;
  context.folder = folder.path();
  std::vector<std::string> measured;
  EXPECT_TRUE(run_study(growing(measured), context, {}));
  EXPECT_EQ(measured, (std::vector<std::string>{"1", "2", "3", "4"}));
  EXPECT_EQ(test::read_file(folder / "growing.md"), "1234");
  EXPECT_TRUE(run_study(growing(measured), context, {}));
  EXPECT_EQ(measured.size(), 4u) << "all were there";
}

TEST(FurtherRows, AreLeftOutWithTheOthers) {
  const test::TempDir folder;
  StudyContext context;
  context.folder = folder.path();
  context.options.rows = {"2"};
  std::vector<std::string> measured;
  EXPECT_TRUE(run_study(growing(measured), context, {}));
  EXPECT_EQ(measured, std::vector<std::string>{"2"});
  context.options.rows = {"4"};
  test::expect_error(ErrorCode::kUsage, {"no row '4'"},
                     [&] { run_study(growing(measured), context, {}); });
}

}  // namespace
}  // namespace vig::study
