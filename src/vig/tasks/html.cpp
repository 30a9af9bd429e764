#include "vig/tasks/html.h"

#include <fmt/format.h>

#include "vig/tasks/jpeg_uri.h"
#include "vig/tasks/svg.h"

namespace vig {

std::string html_escaped(std::string_view text) { return svg_label(text, 4096).xml; }

std::string html_begin(std::string_view title) {
  // The policy keeps even a browser's own ideas (icons, prefetching) from asking anybody.
  return fmt::format(
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
      "</style></head>\n<body>\n<h1>{0}</h1>\n",
      html_escaped(title));
}

std::string html_end() { return "</body></html>\n"; }

std::string html_image(std::span<const uint8_t> jpeg) {
  if (jpeg.empty()) return "<div class=\"none\">not readable any more</div>";
  return fmt::format("<img alt=\"\" src=\"{}\"/>", jpeg_uri(jpeg));
}

}  // namespace vig
