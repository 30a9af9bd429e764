// What the options of a request become, and which are refused.
#include "vig/serve/task_options.h"

#include <gtest/gtest.h>

#include "serve/api_fixture.h"
#include "vig/serve/http_error.h"

namespace vig::test {
namespace {

constexpr int kMaxSize = 100;

AnswerRequest read(AnswerKind kind, const GivenOptions& given) {
  return read_answer_request(kind, given, *classifier(), kMaxSize);
}

// The sentence of the refusal; empty where the options are accepted.
std::string refusal(AnswerKind kind, const GivenOptions& given) {
  try {
    read(kind, given);
  } catch (const HttpError& error) {
    EXPECT_EQ(error.status(), 400);
    return error.what();
  }
  return "";
}

TEST(TaskOptions, HaveTheirDefaults) {
  EXPECT_EQ(key_of(read(AnswerKind::kClassify, {})), key_of({}));
  const AnswerRequest embed = read(AnswerKind::kEmbed, {});
  EXPECT_FALSE(embed.map);
  EXPECT_EQ(embed.size, 0);
  const AnswerRequest explain = read(AnswerKind::kExplain, {});
  EXPECT_EQ(explain.evidence.about, -1);
  EXPECT_EQ(explain.evidence.against, -1);
  EXPECT_LT(explain.attention.x, 0);
  EXPECT_EQ(explain.attention.layer, -1);
  EXPECT_EQ(explain.attention.head, -1);
  EXPECT_FALSE(explain.draw);
  EXPECT_EQ(read(AnswerKind::kDetect, {}).score, kShownScore);
  EXPECT_EQ(read(AnswerKind::kDetect, {}).labels, LabelText::kAuto);
  EXPECT_FALSE(read(AnswerKind::kSegment, {}).draw);
}

TEST(TaskOptions, EachIsItsOwnField) {
  const AnswerRequest classify =
      read(AnswerKind::kClassify, {{"top", "1"}, {"threshold", "0.5"}, {"size", "100"}});
  EXPECT_EQ(classify.top, 1);
  EXPECT_EQ(classify.threshold, 0.5);
  EXPECT_EQ(classify.size, 100);
  const AnswerRequest embed = read(AnswerKind::kEmbed, {{"map", "1"}, {"size", "1"}});
  EXPECT_TRUE(embed.map);
  EXPECT_EQ(embed.size, 1);
  const AnswerRequest evidence = read(
      AnswerKind::kExplain, {{"class", "class 3"}, {"against", "0"}, {"size", "9"}, {"draw", "1"}});
  EXPECT_EQ(evidence.evidence.about, 3);
  EXPECT_EQ(evidence.evidence.against, 0);
  EXPECT_EQ(evidence.size, 9);
  EXPECT_TRUE(evidence.draw);
  const AnswerRequest attention =
      read(AnswerKind::kExplain, {{"x", "0"}, {"y", "1"}, {"layer", "0"}, {"head", "2"}});
  EXPECT_EQ(attention.attention.x, 0);
  EXPECT_EQ(attention.attention.y, 1);
  EXPECT_EQ(attention.attention.layer, 0);
  EXPECT_EQ(attention.attention.head, 2);
  const AnswerRequest detect = read(AnswerKind::kDetect, {{"score", "0"}, {"draw", "true"}});
  EXPECT_EQ(detect.score, 0);
  EXPECT_TRUE(detect.draw);
  EXPECT_EQ(read(AnswerKind::kDetect, {{"labels", "short"}}).labels, LabelText::kShort);
  for (const char* no : {"", "0", "false"}) {
    EXPECT_FALSE(read(AnswerKind::kSegment, {{"draw", no}}).draw) << no;
  }
}

TEST(TaskOptions, ThatDoNotFitAreRefused) {
  struct Case {
    AnswerKind kind;
    GivenOptions given;
    std::string sentence;
  };
  const std::string place = "x and y name a place together";
  const std::string layer = "layer and head are those of the attention of a place: give x and y";
  const std::string one = "class and against are for evidence, x and y for attention";
  const std::vector<Case> cases = {
      {AnswerKind::kClassify, {{"top", "0"}}, "option top is 0, expected a number from 1 to "},
      {AnswerKind::kClassify,
       {{"size", "0"}},
       "option size is 0, expected a number from 1 to 100 (raise the limit with --max-size)"},
      {AnswerKind::kClassify, {{"size", "101"}}, "option size is 101, "},
      {AnswerKind::kEmbed, {{"size", "101"}}, "option size is 101, "},
      {AnswerKind::kExplain, {{"size", "101"}}, "option size is 101, "},
      {AnswerKind::kClassify, {{"threshold", "-0.1"}}, "option threshold is -0.1, "},
      {AnswerKind::kDetect, {{"score", "1.1"}}, "option score is 1.1, expected a number from 0 "},
      {AnswerKind::kDetect, {{"score", "nan"}}, "option score is nan, "},
      {AnswerKind::kExplain, {{"x", "1.5"}, {"y", "0"}}, "option x is 1.5, "},
      {AnswerKind::kExplain, {{"x", "0"}, {"y", "-0.5"}}, "option y is -0.5, "},
      {AnswerKind::kExplain, {{"x", "0"}}, place},
      {AnswerKind::kExplain, {{"y", "0"}}, place},
      {AnswerKind::kExplain, {{"layer", "0"}}, layer},
      {AnswerKind::kExplain, {{"head", "0"}}, layer},
      {AnswerKind::kExplain, {{"x", "0"}, {"y", "0"}, {"class", "0"}}, one},
      {AnswerKind::kExplain, {{"x", "0"}, {"y", "0"}, {"against", "0"}}, one},
      {AnswerKind::kExplain, {{"against", "10"}}, "option against: 10 is none of the 10 classes"},
      {AnswerKind::kDetect,
       {{"labels", "all"}},
       "option labels is all, expected auto, none, short or full"},
      {AnswerKind::kSegment, {{"labels", "none"}}, "there is no option labels here"},
      {AnswerKind::kSegment, {{"draw", "2"}}, "option draw is 2, expected true or false"},
      {AnswerKind::kSegment, {{"size", "10"}}, "there is no option size here"},
      {AnswerKind::kSegment, {{"score", "0"}}, "there is no option score here"},
      {AnswerKind::kEmbed, {{"top", "1"}}, "there is no option top here"},
  };
  for (const Case& one_case : cases) {
    const std::string said = refusal(one_case.kind, one_case.given);
    EXPECT_TRUE(said.starts_with(one_case.sentence)) << one_case.sentence << "\n" << said;
  }
}

// In the query and in the body: nobody could know which one counts.
TEST(TaskOptions, OfQueryAndBodyAreNotGivenTwice) {
  EXPECT_EQ(merged_options({{"a", "1"}}, {{"b", "2"}}), (GivenOptions{{"a", "1"}, {"b", "2"}}));
  EXPECT_THROW(merged_options({{"a", "1"}}, {{"b", "2"}, {"a", "1"}}), HttpError);
}

}  // namespace
}  // namespace vig::test
