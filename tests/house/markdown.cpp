#include "house/markdown.h"

#include <regex>
#include <sstream>

namespace vig::test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string without_numbers(const std::string& line) {
  static const std::regex number("[0-9][0-9.,]*(e[-+][0-9]+)?");
  static const std::regex space("\\s+");
  return std::regex_replace(std::regex_replace(line, number, "#"), space, " ");
}

bool match(const std::vector<std::string>& shown, size_t s, const std::vector<std::string>& output,
           size_t o) {
  if (s == shown.size()) return o == output.size();
  if (shown[s] == "...") {
    for (size_t skip = o; skip <= output.size(); ++skip) {
      if (match(shown, s + 1, output, skip)) return true;
    }
    return false;
  }
  return o < output.size() && shown[s] == output[o] && match(shown, s + 1, output, o + 1);
}

}  // namespace

std::vector<FencedBlock> fenced_blocks(const std::string& page) {
  std::vector<FencedBlock> blocks;
  const std::vector<std::string> lines = lines_of(page);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("```")) continue;
    FencedBlock block{lines[i].substr(3), "", "", static_cast<int>(i) + 1};
    if (i > 0 && lines[i - 1].starts_with("<!-- ") && lines[i - 1].ends_with(" -->")) {
      block.comment = lines[i - 1].substr(5, lines[i - 1].size() - 9);
    }
    for (++i; i < lines.size() && lines[i] != "```"; ++i) block.text += lines[i] + "\n";
    blocks.push_back(std::move(block));
  }
  return blocks;
}

std::vector<std::string> local_links(const std::string& page) {
  static const std::regex link("\\]\\(([^)#\\s]+)[^)]*\\)");
  std::string prose;  // without fenced blocks, which hold code
  bool fenced = false;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("```")) fenced = !fenced;
    if (!fenced) prose += line + "\n";
  }
  std::vector<std::string> links;
  for (std::sregex_iterator found(prose.begin(), prose.end(), link), end; found != end; ++found) {
    const std::string target = (*found)[1];
    if (target.find("://") == std::string::npos) links.push_back(target);
  }
  return links;
}

bool shows(const std::string& shown, const std::string& output, bool numbers_vary) {
  std::vector<std::string> shown_lines = lines_of(shown), output_lines = lines_of(output);
  if (numbers_vary) {
    for (std::string& line : shown_lines) line = without_numbers(line);
    for (std::string& line : output_lines) line = without_numbers(line);
  }
  return match(shown_lines, 0, output_lines, 0);
}

}  // namespace vig::test
