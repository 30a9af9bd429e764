#include "vig/models/imagenet_classes.h"
#include "support/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace vig::test {
namespace {

TEST(ImagenetClasses, AreAThousandDifferentNames) {
  const std::vector<std::string> names = imagenet_classes();
  ASSERT_EQ(names.size(), 1000u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 1000u);
  for (const std::string& name : names) {
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; }))
        << name;
  }
  EXPECT_EQ(names[0], "tench");
  EXPECT_EQ(names[207], "golden retriever");
  EXPECT_EQ(names[999], "toilet tissue");
}

TEST(ImagenetClasses, NamesThatOccurTwiceHaveASecondWord) {
  const std::vector<std::string> names = imagenet_classes();
  EXPECT_EQ(names[134], "crane (bird)");
  EXPECT_EQ(names[517], "crane (machine)");
  EXPECT_EQ(names[638], "maillot (tights)");
  EXPECT_EQ(names[639], "maillot (tank suit)");
}

// The list that the names were taken from: WordNet id, tab, name.
TEST(ImagenetClasses, AreThoseOfTheDataSet) {
  std::ifstream list(std::filesystem::path(kSourceDir) / "../shared/data/imagenet-classes.tsv");
  if (!list) GTEST_SKIP() << "the data set's own list is not here";
  const std::vector<std::string> names = imagenet_classes();
  size_t i = 0;
  for (std::string line; std::getline(list, line); ++i) {
    ASSERT_LT(i, names.size());
    const std::string name = line.substr(line.find('\t') + 1);
    EXPECT_EQ(names[i].substr(0, names[i].find(" (")), name);
  }
  EXPECT_EQ(i, names.size());
}

}  // namespace
}  // namespace vig::test
