#include "vig/tasks/neighbours_html.h"

#include <fmt/format.h>

#include <iterator>

#include "vig/tasks/html.h"

namespace vig {
namespace {

void append_figure(std::string& html, const ShownImage& image, const std::string& caption) {
  fmt::format_to(std::back_inserter(html),
                 "<figure>{}<figcaption>{}<div class=\"file\">{}</div>"
                 "</figcaption></figure>\n",
                 html_image(image.jpeg), caption, html_escaped(image.file));
}

}  // namespace

std::string neighbours_html(std::span<const ShownQuery> queries) {
  std::string html = html_begin("Images and those most like them");
  for (const ShownQuery& query : queries) {
    html += "<main>\n";
    append_figure(html, query.query, "<b>the image</b>");
    for (const ShownImage& image : query.neighbours) {
      append_figure(html, image, fmt::format("cosine {:.4f}", image.cosine));
    }
    html += "</main>\n<hr/>\n";
  }
  return html + html_end();
}

}  // namespace vig
