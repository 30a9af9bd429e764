#include "vig/tasks/confusion_svg.h"

#include <gtest/gtest.h>

#include <regex>

#include "support/errors.h"
#include "support/xml.h"
#include "vig/base/random.h"

namespace vig::test {
namespace {

ClassificationMetrics some_predictions(int classes, int images) {
  RandomStream random(static_cast<uint64_t>(classes));
  ClassificationMetrics metrics(classes);
  for (int i = 0; i < images; ++i) {
    const auto label = static_cast<int>(random.below(static_cast<uint64_t>(classes)));
    std::vector<float> logits(static_cast<size_t>(classes));
    for (float& logit : logits) logit = random.normal();
    logits[static_cast<size_t>(label)] += 3;
    metrics.add(logits, label);
  }
  return metrics;
}

std::vector<std::string> numbered_names(int classes) {
  std::vector<std::string> names;
  for (int i = 0; i < classes; ++i) names.push_back("class number " + std::to_string(i));
  return names;
}

TEST(ConfusionSvg, EveryCountIsThere) {
  const ClassificationMetrics metrics = some_predictions(3, 100);
  const std::vector<std::string> names = {"ant & bee", "<cat>", "d\"o'g"};
  const std::string svg = confusion_svg(metrics, names, "a title > b");
  EXPECT_EQ(xml_problem(svg), "");
  for (const char* text : {">a title &gt; b<", ">ant &amp; bee<", ">&lt;cat&gt;<",
                           ">d&quot;o&#39;g<", ">label<", ">prediction<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  ASSERT_GE(metrics.confusion.size(), 5u);
  for (const auto& [pair, count] : metrics.confusion) {
    EXPECT_NE(svg.find(">" + std::to_string(count) + "</text>"), std::string::npos);
  }
  EXPECT_EQ(svg.find("href"), std::string::npos);
}

// Squares lie inside the image, on whole rows and columns, one for each pair that occurred.
TEST(ConfusionSvg, FromTwoToManyClasses) {
  for (const int classes : {1, 2, 10, 57, 200, 1000}) {
    SCOPED_TRACE(classes);
    const ClassificationMetrics metrics = some_predictions(classes, 2000);
    const std::string svg = confusion_svg(metrics, numbered_names(classes), "t");
    EXPECT_EQ(xml_problem(svg), "");
    std::smatch size;
    ASSERT_TRUE(std::regex_search(svg, size, std::regex("width=\"(\\d+)\" height=\"(\\d+)\"")));
    const std::regex square("<rect x=\"([0-9.]+)\" y=\"([0-9.]+)\" width=\"([0-9.]+)\"");
    size_t squares = 0;
    for (std::sregex_iterator i(svg.begin(), svg.end(), square), end; i != end; ++i, ++squares) {
      const double x = std::stod((*i)[1]), y = std::stod((*i)[2]), side = std::stod((*i)[3]);
      EXPECT_GE(side, 10);
      EXPECT_LE(x + side, std::stod(size[1]));
      EXPECT_LE(y + side, std::stod(size[2]));
    }
    EXPECT_EQ(squares, metrics.confusion.size());
    const bool shows_counts = svg.find("font-size=\"13.0\" text-anchor") != std::string::npos;
    EXPECT_TRUE(shows_counts || classes > 10);
    EXPECT_TRUE(classes < 200 || std::stod(size[1]) <= 15.0 * classes) << size[1];
    for (const auto& [pair, count] : metrics.confusion) {
      const std::string title = "number " + std::to_string(pair.first) +
                                " taken for class number " + std::to_string(pair.second) + ": " +
                                std::to_string(count) + " of";
      ASSERT_NE(svg.find(title), std::string::npos) << title;
    }
  }
}

// Labels go down, predictions to the right: the square of (label 2, prediction 0) is in the first
// column and the third row, and its count stands in it.
TEST(ConfusionSvg, RowsAreLabelsAndColumnsPredictions) {
  ClassificationMetrics metrics(3);
  metrics.confusion = {{{0, 0}, 5}, {{2, 0}, 3}, {{1, 2}, 4}};
  const std::string svg = confusion_svg(metrics, numbered_names(3), "t");
  const auto corner = [&](const std::string& title) {
    std::smatch found;
    const std::regex square(title + "[^<]*</title><rect x=\"([0-9.]+)\" y=\"([0-9.]+)\"");
    EXPECT_TRUE(std::regex_search(svg, found, square)) << title;
    return std::pair(std::stod(found[1]), std::stod(found[2]));
  };
  const auto [x, y] = corner("number 0 taken for class number 0");
  const double cell = 56;
  EXPECT_EQ(corner("number 2 taken for class number 0"), std::pair(x, y + 2 * cell));
  EXPECT_EQ(corner("number 1 taken for class number 2"), std::pair(x + 2 * cell, y + cell));
  std::smatch count;
  ASSERT_TRUE(std::regex_search(svg, count,
                                std::regex("<text x=\"([0-9.]+)\" y=\"([0-9.]+)\"[^>]*>3</text>")));
  EXPECT_NEAR(std::stod(count[1]), x + cell / 2, 0.1);
  EXPECT_NEAR(std::stod(count[2]), y + 2.5 * cell, cell / 4);
}

// Right predictions are blue and mistakes red, as dark as the root of their share of the label's
// row.
TEST(ConfusionSvg, ColoursShowWhatIsRight) {
  ClassificationMetrics metrics(3);
  metrics.confusion = {{{0, 0}, 5}, {{1, 1}, 1}, {{1, 0}, 3}, {{2, 1}, 4}};
  const std::string svg = confusion_svg(metrics, {}, "t");
  const auto colours = [&](const std::string& title) {
    std::smatch found;
    const std::regex square(title + "</title><rect [^>]*fill=\"([^\"]*)\"/><text [^>]*" +
                            "fill=\"([^\"]*)\">");
    EXPECT_TRUE(std::regex_search(svg, found, square)) << title;
    return found[1].str() + " " + found[2].str();
  };
  EXPECT_EQ(colours("0 taken for 0: 5 of 5"), "#174e94 #fff");
  EXPECT_EQ(colours("2 taken for 1: 4 of 4"), "#b83018 #fff");
  EXPECT_EQ(colours("1 taken for 1: 1 of 4"), "#8ba7ca #222");
}

std::vector<std::string> texts_of(const std::string& svg, const std::string& kind) {
  std::vector<std::string> texts;
  const std::regex text("<text class=\"" + kind + "\"[^>]*>([^<]*)</text>");
  for (std::sregex_iterator i(svg.begin(), svg.end(), text), end; i != end; ++i) {
    texts.push_back((*i)[1]);
  }
  return texts;
}

TEST(ConfusionSvg, RecallAndPrecisionAtTheEdges) {
  ClassificationMetrics metrics(3);
  metrics.confusion = {{{0, 0}, 3}, {{0, 1}, 1}, {{1, 1}, 1}};
  const std::string svg = confusion_svg(metrics, {}, "t");
  EXPECT_EQ(texts_of(svg, "recall"), (std::vector<std::string>{"75 %", "100 %", "-"}));
  EXPECT_EQ(texts_of(svg, "precision"), (std::vector<std::string>{"100 %", "50 %", "-"}));
  EXPECT_NE(svg.find(">recall<"), std::string::npos);
  EXPECT_NE(svg.find(">precision<"), std::string::npos);
  EXPECT_NE(svg.find("class=\"key\""), std::string::npos);
  EXPECT_TRUE(texts_of(svg, "confusion").empty());
}

TEST(ConfusionSvg, TheLargestConfusionsOfManyClasses) {
  ClassificationMetrics metrics(31);
  for (int i = 0; i < 31; ++i) {
    metrics.confusion[{i, i}] = 100;
    metrics.confusion[{i, (i + 1) % 31}] = i % 16;
  }
  EXPECT_EQ(largest_confusions(metrics, 3),
            (std::vector<Confusion>{{15, 16, 15}, {14, 15, 14}, {30, 0, 14}}));
  const std::string svg = confusion_svg(metrics, numbered_names(31), "t");
  EXPECT_EQ(xml_problem(svg), "");
  const std::vector<std::string> listed = texts_of(svg, "confusion");
  ASSERT_EQ(listed.size(), 10u);
  EXPECT_EQ(listed[0], "class number 15 taken for class number 16: 15 of 115 images");
  EXPECT_EQ(listed[2], "class number 30 taken for class number 0: 14 of 114 images");
  EXPECT_EQ(texts_of(confusion_svg(metrics, {}, "t", "pixels"), "confusion")[0],
            "15 taken for 16: 15 of 115 pixels");
  metrics.classes = 30;
  metrics.confusion = {{{0, 1}, 5}};
  EXPECT_TRUE(texts_of(confusion_svg(metrics, {}, "t"), "confusion").empty());
}

TEST(ConfusionSvg, CountsThatDoNotFitAreLeftToThePointer) {
  ClassificationMetrics metrics(40);
  metrics.confusion[{0, 0}] = 7;
  metrics.confusion[{1, 1}] = 123456789;
  const std::string svg = confusion_svg(metrics, {}, "t");
  EXPECT_NE(svg.find(">7</text>"), std::string::npos);
  EXPECT_EQ(svg.find(">123456789</text>"), std::string::npos);
  EXPECT_NE(svg.find("123456789 of 123456789"), std::string::npos);
}

TEST(ConfusionSvg, IndicesReplaceMissingNames) {
  const std::string svg = confusion_svg(some_predictions(4, 20), {}, "t");
  EXPECT_NE(svg.find(">3</text>"), std::string::npos);
  EXPECT_EQ(xml_problem(confusion_svg(ClassificationMetrics(4), {}, "nothing yet")), "");
  EXPECT_EQ(xml_problem(confusion_svg(ClassificationMetrics(), {}, "")), "");
  const std::vector<std::string> names = {"one"};
  expect_error(ErrorCode::kInput, {"1 class names", "4 classes"},
               [&] { confusion_svg(ClassificationMetrics(4), names, "t"); });
}

}  // namespace
}  // namespace vig::test
