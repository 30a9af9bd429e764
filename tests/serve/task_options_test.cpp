// What the options of a request become, and which are refused.
#include "vig/serve/task_options.h"

#include <gtest/gtest.h>

#include "serve/api_fixture.h"
#include "vig/serve/http_error.h"

namespace vig::test {
namespace {

constexpr int kMaxSize = 100;

PredictRequest read(PredictKind kind, const GivenOptions& given) {
  return read_predict_request(kind, given, *classifier(), kMaxSize);
}

// The sentence of the refusal; empty where the options are accepted.
std::string refusal(PredictKind kind, const GivenOptions& given) {
  try {
    read(kind, given);
  } catch (const HttpError& error) {
    EXPECT_EQ(error.status(), 400);
    return error.what();
  }
  return "";
}

TEST(TaskOptions, HaveTheirDefaults) {
  EXPECT_EQ(key_of(read(PredictKind::kClassify, {})), key_of({}));
  const PredictRequest embed = read(PredictKind::kEmbed, {});
  EXPECT_FALSE(embed.map);
  EXPECT_EQ(embed.size, 0);
  const PredictRequest explain = read(PredictKind::kExplain, {});
  EXPECT_EQ(explain.evidence.about, -1);
  EXPECT_EQ(explain.evidence.against, -1);
  EXPECT_LT(explain.attention.x, 0);
  EXPECT_EQ(explain.attention.layer, -1);
  EXPECT_EQ(explain.attention.head, -1);
  EXPECT_FALSE(explain.draw);
  EXPECT_EQ(read(PredictKind::kDetect, {}).score, kShownScore);
  EXPECT_EQ(read(PredictKind::kDetect, {}).labels, LabelText::kAuto);
  EXPECT_FALSE(read(PredictKind::kSegment, {}).draw);
}

TEST(TaskOptions, EachIsItsOwnField) {
  const PredictRequest classify =
      read(PredictKind::kClassify, {{"top", "1"}, {"threshold", "0.5"}, {"size", "100"}});
  EXPECT_EQ(classify.top, 1);
  EXPECT_EQ(classify.threshold, 0.5);
  EXPECT_EQ(classify.size, 100);
  const PredictRequest embed = read(PredictKind::kEmbed, {{"map", "1"}, {"size", "1"}});
  EXPECT_TRUE(embed.map);
  EXPECT_EQ(embed.size, 1);
  const PredictRequest evidence =
      read(PredictKind::kExplain,
           {{"class", "class 3"}, {"against", "0"}, {"size", "9"}, {"draw", "1"}});
  EXPECT_EQ(evidence.evidence.about, 3);
  EXPECT_EQ(evidence.evidence.against, 0);
  EXPECT_EQ(evidence.size, 9);
  EXPECT_TRUE(evidence.draw);
  const PredictRequest attention =
      read(PredictKind::kExplain, {{"x", "0"}, {"y", "1"}, {"layer", "0"}, {"head", "2"}});
  EXPECT_EQ(attention.attention.x, 0);
  EXPECT_EQ(attention.attention.y, 1);
  EXPECT_EQ(attention.attention.layer, 0);
  EXPECT_EQ(attention.attention.head, 2);
  const PredictRequest detect = read(PredictKind::kDetect, {{"score", "0"}, {"draw", "true"}});
  EXPECT_EQ(detect.score, 0);
  EXPECT_TRUE(detect.draw);
  EXPECT_EQ(read(PredictKind::kDetect, {{"labels", "short"}}).labels, LabelText::kShort);
  for (const char* no : {"", "0", "false"}) {
    EXPECT_FALSE(read(PredictKind::kSegment, {{"draw", no}}).draw) << no;
  }
}

TEST(TaskOptions, ThatDoNotFitAreRefused) {
  struct Case {
    PredictKind kind;
    GivenOptions given;
    std::string sentence;
  };
  const std::string position = "x and y name a position together";
  const std::string layer = "layer and head belong to the attention of a position: give x and y";
  const std::string one = "class and against are for evidence, x and y for attention";
  const std::vector<Case> cases = {
      {PredictKind::kClassify, {{"top", "0"}}, "option top is 0, expected a number from 1 to "},
      {PredictKind::kClassify,
       {{"size", "0"}},
       "option size is 0, expected a number from 1 to 100 (raise the limit with --max-size)"},
      {PredictKind::kClassify, {{"size", "101"}}, "option size is 101, "},
      {PredictKind::kEmbed, {{"size", "101"}}, "option size is 101, "},
      {PredictKind::kExplain, {{"size", "101"}}, "option size is 101, "},
      {PredictKind::kClassify, {{"threshold", "-0.1"}}, "option threshold is -0.1, "},
      {PredictKind::kDetect, {{"score", "1.1"}}, "option score is 1.1, expected a number from 0 "},
      {PredictKind::kDetect, {{"score", "nan"}}, "option score is nan, "},
      {PredictKind::kExplain, {{"x", "1.5"}, {"y", "0"}}, "option x is 1.5, "},
      {PredictKind::kExplain, {{"x", "0"}, {"y", "-0.5"}}, "option y is -0.5, "},
      {PredictKind::kExplain, {{"x", "0"}}, position},
      {PredictKind::kExplain, {{"y", "0"}}, position},
      {PredictKind::kExplain, {{"layer", "0"}}, layer},
      {PredictKind::kExplain, {{"head", "0"}}, layer},
      {PredictKind::kExplain, {{"x", "0"}, {"y", "0"}, {"class", "0"}}, one},
      {PredictKind::kExplain, {{"x", "0"}, {"y", "0"}, {"against", "0"}}, one},
      {PredictKind::kExplain, {{"against", "10"}}, "option against: 10 is none of the 10 classes"},
      {PredictKind::kDetect,
       {{"labels", "all"}},
       "option labels is all, expected auto, none, short or full"},
      {PredictKind::kSegment, {{"labels", "none"}}, "there is no option labels here"},
      {PredictKind::kSegment, {{"draw", "2"}}, "option draw is 2, expected true or false"},
      {PredictKind::kSegment, {{"size", "10"}}, "there is no option size here"},
      {PredictKind::kSegment, {{"score", "0"}}, "there is no option score here"},
      {PredictKind::kEmbed, {{"top", "1"}}, "there is no option top here"},
  };
  for (const Case& one_case : cases) {
    const std::string said = refusal(one_case.kind, one_case.given);
    EXPECT_TRUE(said.starts_with(one_case.sentence)) << one_case.sentence << "\n" << said;
  }
}

// In the query and in the body: ambiguous.
TEST(TaskOptions, OfQueryAndBodyAreNotGivenTwice) {
  EXPECT_EQ(merged_options({{"a", "1"}}, {{"b", "2"}}), (GivenOptions{{"a", "1"}, {"b", "2"}}));
  EXPECT_THROW(merged_options({{"a", "1"}}, {{"b", "2"}, {"a", "1"}}), HttpError);
}

}  // namespace
}  // namespace vig::test
