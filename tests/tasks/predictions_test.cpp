#include "vig/tasks/predictions.h"

#include <gtest/gtest.h>

#include "support/xml.h"
#include "vig/tasks/csv.h"

namespace vig::test {
namespace {

const std::vector<std::string> kNames = {"cat", "a \"big\", dog", "<eel>"};

Prediction predicted(const std::string& file, int label, int best, float probability) {
  Prediction prediction{file, label, {}, ""};
  prediction.result.scores = {{best, "", probability, 2},
                              {(best + 1) % 3, "", (1 - probability) * 0.75f, 1}};
  return prediction;
}

TEST(Csv, QuotesInsideACellAreDoubled) {
  EXPECT_EQ(csv_quoted(""), "\"\"");
  EXPECT_EQ(csv_quoted("a,b\nc"), "\"a,b\nc\"");
  EXPECT_EQ(csv_quoted("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_quoted("\""), "\"\"\"\"");
}

TEST(Predictions, ALineForEachImage) {
  const std::vector<Prediction> predictions = {predicted("x/1.jpg", 0, 0, 0.5f),
                                               predicted("x/\"2\".jpg", 1, 2, 0.25f),
                                               {"x/3.jpg", 2, {}, "x/3.jpg: no \"image\""}};
  EXPECT_EQ(predictions_csv(predictions, kNames, {.top = 2, .labelled = true}),
            "file,label,correct,index1,class1,probability1,index2,class2,probability2,error\n"
            "\"x/1.jpg\",\"cat\",true,0,\"cat\",0.5,1,\"a \"\"big\"\", dog\",0.375,\n"
            "\"x/\"\"2\"\".jpg\",\"a \"\"big\"\", dog\",false,2,\"<eel>\",0.25,0,\"cat\",0.5625,\n"
            "\"x/3.jpg\",\"<eel>\",,,,,,,,\"x/3.jpg: no \"\"image\"\"\"\n");
  EXPECT_EQ(predictions_csv({predictions.data(), 1}, {}, {.top = 3}),
            "file,index1,class1,probability1,index2,class2,probability2,index3,class3,probability3,"
            "error\n\"x/1.jpg\",0,\"0\",0.5,1,\"1\",0.375,,,,\n");
}

TEST(Predictions, AColumnForTheClassThatReachesTheThreshold) {
  const std::vector<Prediction> predictions = {
      predicted("1", 0, 1, 0.5f), predicted("2", 1, 1, 0.25f), {"3", 2, {}, "broken"}};
  PredictionsTable table{.top = 1, .threshold = 0.5};
  const std::string rows =
      "\"1\",\"a \"\"big\"\", dog\",1,\"a \"\"big\"\", dog\",0.5,\n"
      "\"2\",none of them,1,\"a \"\"big\"\", dog\",0.25,\n"
      "\"3\",,,,,\"broken\"\n";
  EXPECT_EQ(predictions_csv(predictions, kNames, table),
            "file,prediction,index1,class1,probability1,error\n" + rows);
  table.header = false;
  EXPECT_EQ(predictions_csv(predictions, kNames, table), rows);
}

// As short as reads back to the same float.
TEST(Predictions, ProbabilitiesAreShort) {
  const std::vector<Prediction> one = {predicted("a", 0, 0, 0.1f)};
  EXPECT_NE(predictions_csv(one, kNames, {.top = 1}).find("\"cat\",0.1,"), std::string::npos);
}

TEST(Predictions, TheSurestMistakesComeFirst) {
  const std::vector<Prediction> predictions = {predicted("right", 0, 0, 0.99f),
                                               predicted("a", 0, 1, 0.6f),
                                               predicted("b", 0, 1, 0.9f),
                                               {"broken", 1, {}, "no"},
                                               predicted("c", 1, 2, 0.6f),
                                               predicted("d", 2, 0, 0.4f),
                                               Prediction{"not reached", std::nullopt, {}, ""}};
  EXPECT_EQ(surest_mistakes(predictions, 10), (std::vector<size_t>{2, 1, 4, 5}));
  EXPECT_EQ(surest_mistakes(predictions, 2), (std::vector<size_t>{2, 1}));
  EXPECT_TRUE(surest_mistakes({}, 2).empty());
}

TEST(Predictions, ThePageHoldsEverythingItShows) {
  const std::vector<ShownMistake> mistakes = {
      {predicted("dir/<1>.jpg", 1, 2, 0.875f), {'M', 'a', 'n'}},
      {predicted("2.jpg", 0, 2, 0.5f), {'M'}},
      {predicted("3.jpg", 0, 1, 0.25f), {}}};
  const std::string page = mistakes_html("Mistakes of <m>", "a & b", mistakes, kNames);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>\n"));
  EXPECT_EQ(xml_problem(page.substr(page.find('\n') + 1)), "");
  for (const char* part :
       {"<title>Mistakes of &lt;m&gt;</title>", "<p>a &amp; b</p>", "data:image/jpeg;base64,TWFu\"",
        "data:image/jpeg;base64,TQ==\"", "not readable any more", "dir/&lt;1&gt;.jpg",
        "<b>a &quot;big&quot;, dog</b>, predicted <b class=\"wrong\">&lt;eel&gt;</b>",
        "<tr><td>87.50 %</td><td>&lt;eel&gt;</td></tr>",
        "<tr class=\"right\"><td>37.50 %</td><td>cat</td></tr>"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  }
  for (const char* address : {"http:", "https:", "href", "<script", "url("}) {
    EXPECT_EQ(page.find(address), std::string::npos) << address;
  }
  EXPECT_EQ(xml_problem(mistakes_html("", "", {}, {}).substr(16)), "");
}

}  // namespace
}  // namespace vig::test
