#include "vig/tasks/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "vig/tasks/csv.h"
#include "vig/tasks/jpeg_uri.h"
#include "vig/tasks/svg.h"

namespace vig {
namespace {

std::string class_name(std::span<const std::string> names, int index) {
  return names.empty() ? fmt::format("{}", index) : names[static_cast<size_t>(index)];
}

std::string escaped(std::string_view text) { return svg_label(text, 4096).xml; }

void append_figure(std::string& html, const ShownMistake& mistake,
                   std::span<const std::string> names) {
  const auto out = std::back_inserter(html);
  const Prediction& prediction = mistake.prediction;
  html += "<figure>";
  if (mistake.jpeg.empty()) {
    html += "<div class=\"none\">not readable any more</div>";
  } else {
    fmt::format_to(out, "<img alt=\"\" src=\"{}\"/>", jpeg_uri(mistake.jpeg));
  }
  fmt::format_to(out,
                 "<figcaption><b>{}</b>, answered <b class=\"wrong\">{}</b>"
                 "<div class=\"file\">{}</div><table>",
                 escaped(class_name(names, prediction.label.value_or(0))),
                 escaped(class_name(names, prediction.answer.scores.front().index)),
                 escaped(prediction.file));
  for (const ClassScore& score : prediction.answer.scores) {
    fmt::format_to(out, "<tr{}><td>{:.2f} %</td><td>{}</td></tr>",
                   score.index == prediction.label ? " class=\"right\"" : "",
                   100 * score.probability, escaped(class_name(names, score.index)));
  }
  html += "</table></figcaption></figure>\n";
}

}  // namespace

std::string predictions_csv(std::span<const Prediction> predictions,
                            std::span<const std::string> names, const PredictionsTable& table) {
  const auto [top, labelled, header, threshold] = table;
  std::string text = labelled ? "file,label,correct" : "file";
  const auto out = std::back_inserter(text);
  if (threshold > 0) text += ",answer";
  for (int place = 1; place <= top; ++place) {
    fmt::format_to(out, ",index{0},class{0},probability{0}", place);
  }
  text += ",error\n";
  if (!header) text.clear();
  for (const Prediction& prediction : predictions) {
    text += csv_quoted(prediction.file);
    const std::vector<ClassScore>& scores = prediction.answer.scores;
    if (labelled) {
      const int label = prediction.label.value_or(0);
      fmt::format_to(out, ",{},{}", csv_quoted(class_name(names, label)),
                     scores.empty()            ? ""
                     : prediction.is_mistake() ? "false"
                                               : "true");
    }
    if (threshold > 0) {
      const bool none = none_of_them(prediction.answer, threshold);
      fmt::format_to(out, ",{}",
                     scores.empty() ? ""
                     : none         ? kNoneOfThem
                                    : csv_quoted(class_name(names, scores.front().index)));
    }
    for (size_t place = 0; place < static_cast<size_t>(top); ++place) {
      if (place >= scores.size()) {
        text += ",,,";
        continue;
      }
      fmt::format_to(out, ",{},{},{}", scores[place].index,
                     csv_quoted(class_name(names, scores[place].index)), scores[place].probability);
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
    return predictions[a].answer.scores.front().probability >
           predictions[b].answer.scores.front().probability;
  });
  found.resize(std::min(found.size(), most));
  return found;
}

std::string mistakes_html(std::string_view title, std::string_view summary,
                          std::span<const ShownMistake> mistakes,
                          std::span<const std::string> names) {
  // The policy keeps even a browser's own ideas (icons, prefetching) from asking anybody.
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'\"/>\n<title>{0}</title>\n<style>\n"
      "body {{ font: 14px sans-serif; margin: 24px; color: #222; background: #fff }}\n"
      "main {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); "
      "gap: 16px }}\n"
      "figure {{ margin: 0; padding: 10px; border: 1px solid #ccc; border-radius: 4px }}\n"
      "img, .none {{ display: block; width: 100%; height: 160px; object-fit: contain; "
      "background: #eee; margin-bottom: 8px }}\n"
      ".file {{ color: #666; font-size: 12px; overflow-wrap: anywhere; margin: 4px 0 }}\n"
      ".wrong {{ color: #b83018 }}\n.right {{ color: #174e94; font-weight: bold }}\n"
      "td {{ padding: 0 6px 0 0; overflow-wrap: anywhere }}\n"
      "td:first-child {{ text-align: right; white-space: nowrap }}\n"
      "</style></head>\n<body>\n<h1>{0}</h1>\n<p>{1}</p>\n<main>\n",
      escaped(title), escaped(summary));
  for (const ShownMistake& mistake : mistakes) append_figure(html, mistake, names);
  return html + "</main>\n</body></html>\n";
}

}  // namespace vig
