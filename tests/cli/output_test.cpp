// Tables and counts as people read them.
#include "vig/cli/output.h"

#include <gtest/gtest.h>

namespace vig::test {
namespace {

TEST(Counts, AreGroupedByThousands) {
  const std::pair<int64_t, const char*> cases[] = {{0, "0"},
                                                   {999, "999"},
                                                   {1000, "1,000"},
                                                   {12345, "12,345"},
                                                   {123456, "123,456"},
                                                   {-1234, "-1,234"},
                                                   {-123456, "-123,456"},
                                                   {5834536, "5,834,536"}};
  for (const auto& [number, text] : cases) EXPECT_EQ(cli::grouped(number), text);
}

// Three digits, also where rounding makes a fourth.
TEST(Counts, HaveThreeDigitsAndAUnit) {
  const std::pair<double, const char*> cases[] = {
      {0, "0.00"},         {1, "1.00"},       {9.994, "9.99"},    {9.996, "10.0"},
      {99.94, "99.9"},     {99.96, "100"},    {999.4, "999"},     {999.6, "1.00 k"},
      {1234, "1.23 k"},    {12345, "12.3 k"}, {123456, "123 k"},  {999600, "1.00 M"},
      {9.996e6, "10.0 M"}, {1.2e9, "1.20 G"}, {3.4e12, "3.40 T"}, {5.6e15, "5600 T"}};
  for (const auto& [number, text] : cases) EXPECT_EQ(cli::readable_count(number), text) << number;
  EXPECT_EQ(cli::readable_bytes(0), "0 B");
  EXPECT_EQ(cli::readable_bytes(999), "999 B");
  EXPECT_EQ(cli::readable_bytes(1000), "1.00 kB");
  EXPECT_EQ(cli::readable_bytes(123456789), "123 MB");
}

TEST(Table, ColumnsAreAsWideAsTheirLongestCell) {
  using Align = cli::Table::Align;
  cli::Table table({{"name"}, {"n", Align::kRight}, {"note"}});
  table.add({"a", "1,000", "x"});
  table.add({"longer", "7", ""});
  table.add({});
  table.add({"漢字", "12", "y"});  // four columns wide
  EXPECT_EQ(table.text(),
            "name        n  note\n"
            "a       1,000  x\n"
            "longer      7\n"
            "\n"
            "漢字       12  y\n");
}

}  // namespace
}  // namespace vig::test
