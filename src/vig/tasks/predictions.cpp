#include "vig/tasks/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "vig/tasks/csv.h"
#include "vig/tasks/html.h"

namespace vig {
namespace {

std::string class_name(std::span<const std::string> names, int index) {
  return names.empty() ? fmt::format("{}", index) : names[static_cast<size_t>(index)];
}

void append_figure(std::string& html, const ShownMistake& mistake,
                   std::span<const std::string> names) {
  const auto out = std::back_inserter(html);
  const Prediction& prediction = mistake.prediction;
  html += "<figure>" + html_image(mistake.jpeg);
  fmt::format_to(out,
                 "<figcaption><b>{}</b>, predicted <b class=\"wrong\">{}</b>"
                 "<div class=\"file\">{}</div><table>",
                 html_escaped(class_name(names, prediction.label.value_or(0))),
                 html_escaped(class_name(names, prediction.result.scores.front().index)),
                 html_escaped(prediction.file));
  for (const ClassScore& score : prediction.result.scores) {
    fmt::format_to(out, "<tr{}><td>{:.2f} %</td><td>{}</td></tr>",
                   score.index == prediction.label ? " class=\"right\"" : "",
                   100 * score.probability, html_escaped(class_name(names, score.index)));
  }
  html += "</table></figcaption></figure>\n";
}

}  // namespace

std::string predictions_csv(std::span<const Prediction> predictions,
                            std::span<const std::string> names, const PredictionsTable& table) {
  const auto [top, labelled, header, threshold] = table;
  std::string text = labelled ? "file,label,correct" : "file";
  const auto out = std::back_inserter(text);
  if (threshold > 0) text += ",prediction";
  for (int rank = 1; rank <= top; ++rank) {
    fmt::format_to(out, ",index{0},class{0},probability{0}", rank);
  }
  text += ",error\n";
  if (!header) text.clear();
  for (const Prediction& prediction : predictions) {
    text += csv_quoted(prediction.file);
    const std::vector<ClassScore>& scores = prediction.result.scores;
    if (labelled) {
      const int label = prediction.label.value_or(0);
      fmt::format_to(out, ",{},{}", csv_quoted(class_name(names, label)),
                     scores.empty()            ? ""
                     : prediction.is_mistake() ? "false"
                                               : "true");
    }
    if (threshold > 0) {
      const bool none = none_of_them(prediction.result, threshold);
      fmt::format_to(out, ",{}",
                     scores.empty() ? ""
                     : none         ? kNoneOfThem
                                    : csv_quoted(class_name(names, scores.front().index)));
    }
    for (size_t rank = 0; rank < static_cast<size_t>(top); ++rank) {
      if (rank >= scores.size()) {
        text += ",,,";
        continue;
      }
      fmt::format_to(out, ",{},{},{}", scores[rank].index,
                     csv_quoted(class_name(names, scores[rank].index)), scores[rank].probability);
    }
    fmt::format_to(out, ",{}\n", prediction.error.empty() ? "" : csv_quoted(prediction.error));
  }
  return text;
}

std::vector<size_t> surest_mistakes(std::span<const Prediction> predictions, size_t most) {
  std::vector<size_t> found;
  for (size_t i = 0; i < predictions.size(); ++i) {
    if (predictions[i].is_mistake()) found.push_back(i);
  }
  std::ranges::stable_sort(found, [&](size_t a, size_t b) {
    return predictions[a].result.scores.front().probability >
           predictions[b].result.scores.front().probability;
  });
  found.resize(std::min(found.size(), most));
  return found;
}

std::string mistakes_html(std::string_view title, std::string_view summary,
                          std::span<const ShownMistake> mistakes,
                          std::span<const std::string> names) {
  std::string html = html_begin(title);
  html += fmt::format("<p>{}</p>\n<main>\n", html_escaped(summary));
  for (const ShownMistake& mistake : mistakes) append_figure(html, mistake, names);
  return html + "</main>\n" + html_end();
}

}  // namespace vig
