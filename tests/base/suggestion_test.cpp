#include "vig/base/suggestion.h"

#include <gtest/gtest.h>

#include <vector>

namespace vig::test {
namespace {

TEST(Suggestion, Distances) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("clasify", "classify"), 1u);
  EXPECT_EQ(edit_distance("classsify", "classify"), 1u);
  EXPECT_EQ(edit_distance("clossify", "classify"), 1u);
  EXPECT_EQ(edit_distance("calssify", "classify"), 1u);  // neighbours exchanged
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("ca", "abc"), 3u);
}

TEST(Suggestion, TheNearestOrNone) {
  const std::vector<std::string> known = {"classify", "embed", "eval", "--epochs", "--ema"};
  EXPECT_EQ(suggestion("clasify", known), " (did you mean 'classify'?)");
  EXPECT_EQ(suggestion("--epoch", known), " (did you mean '--epochs'?)");
  EXPECT_EQ(suggestion("evla", known), " (did you mean 'eval'?)");
  EXPECT_EQ(suggestion("fly", known), "");
  EXPECT_EQ(suggestion("", known), "");
  EXPECT_EQ(suggestion(std::string(100000, 'e'), known), "");
  // A third of the letters may differ, and not more.
  const std::vector<std::string> words = {"abc", "abcdef"};
  EXPECT_EQ(suggestion("abx", words), " (did you mean 'abc'?)");
  EXPECT_EQ(suggestion("ab", words), " (did you mean 'abc'?)");
  EXPECT_EQ(suggestion("abcdxy", words), " (did you mean 'abcdef'?)");
  EXPECT_EQ(suggestion("abcxyz", words), "");
  const std::vector<std::string> longest = {std::string(64, 'e')};
  EXPECT_EQ(suggestion(std::string(63, 'e') + "f", longest),
            " (did you mean '" + longest[0] + "'?)");
  EXPECT_EQ(suggestion(std::string(65, 'e'), longest), "");
  const std::vector<std::string> near = {"vig_s", "vig_t", "vig_b"};
  EXPECT_EQ(suggestion("vig_x", near), " (did you mean 'vig_s'?)");  // the first of equals
  EXPECT_EQ(suggestion("vig_tt", near), " (did you mean 'vig_t'?)");
}

}  // namespace
}  // namespace vig::test
