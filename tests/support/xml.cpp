#include "support/xml.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace vig::test {
namespace {

// Every & begins an entity that XML knows by itself, and there is no <.
bool clean(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') return false;
    if (text[i] != '&') continue;
    bool known = false;
    for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      known = known || text.substr(i).starts_with(entity);
    }
    if (!known) return false;
  }
  return true;
}

std::string take_name(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
  });
  const std::string name(text.begin(), end);
  text.remove_prefix(name.size());
  return name;
}

// ` name="value"` again and again, and nothing else.
bool good_attributes(std::string_view text) {
  std::set<std::string> names;
  while (!text.empty()) {
    if (text.front() != ' ') return false;
    text.remove_prefix(1);
    const std::string name = take_name(text);
    if (name.empty() || !names.insert(name).second || !text.starts_with("=\"")) return false;
    const size_t end = text.find('"', 2);
    if (end == std::string_view::npos || !clean(text.substr(2, end - 2))) return false;
    text.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace

std::string xml_problem(std::string_view text) {
  try {
    (void)nlohmann::json(std::string(text)).dump();  // throws on broken UTF-8
  } catch (const nlohmann::json::exception&) {
    return "no UTF-8";
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n'; };
  if (std::any_of(text.begin(), text.end(), is_control)) return "a control character";
  std::vector<std::string> open;
  int roots = 0;
  while (!text.empty()) {
    const size_t begin = std::min(text.find('<'), text.size());
    const std::string between(text.substr(0, begin));
    if (!clean(between)) return "stray characters: " + between;
    if (open.empty() && between.find_first_not_of('\n') != std::string::npos) {
      return "text outside the root: " + between;
    }
    if (begin == text.size()) break;
    const size_t end = text.find('>', begin);
    if (end == std::string_view::npos) return "a tag without an end";
    const std::string whole(text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
    std::string_view inside = whole;
    const bool closing = inside.starts_with('/'), empty = inside.ends_with('/');
    if (closing) inside.remove_prefix(1);
    if (empty) inside.remove_suffix(1);
    const std::string name = take_name(inside);
    if (name.empty() || !good_attributes(inside) || (closing && (empty || !inside.empty()))) {
      return "no tag: " + whole;
    }
    if (closing) {
      if (open.empty() || open.back() != name) return "closes what is not open: " + whole;
      open.pop_back();
    } else {
      roots += open.empty() ? 1 : 0;
      if (!empty) open.push_back(name);
    }
  }
  if (!open.empty()) return "never closed: " + open.back();
  return roots == 1 ? "" : "not one root";
}

}  // namespace vig::test
