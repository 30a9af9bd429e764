#include "vig/models/published.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

namespace vig {
namespace {

constexpr size_t kMostDigits = 9;  // so that every number fits an int

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Match {
  size_t length = 0;
  std::vector<int> numbers;
};

// Of `pattern` with the beginning of `text`, up to the end of a part.
std::optional<Match> match_here(std::string_view text, std::string_view pattern) {
  Match match;
  size_t& at = match.length;
  for (char expected : pattern) {
    if (expected != '#') {
      if (at == text.size() || text[at] != expected) return std::nullopt;
      ++at;
      continue;
    }
    const size_t first = at;
    int number = 0;
    while (at < text.size() && is_digit(text[at])) number = 10 * number + (text[at++] - '0');
    if (at == first) return std::nullopt;
    match.numbers.push_back(number);
  }
  if (at < text.size() && text[at] != '.') return std::nullopt;
  return match;
}

std::string filled_in(std::string_view to, const std::vector<int>& numbers) {
  std::string text;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] != '#') {
      text += to[i];
      continue;
    }
    int number = numbers.at(static_cast<size_t>(to[++i] - '1'));
    const std::string_view rest = to.substr(i + 1);
    if (rest.starts_with("-1") || rest.starts_with("+1")) {
      number += rest[0] == '-' ? -1 : 1;
      i += 2;
    }
    text += fmt::format("{}", number);
  }
  return text;
}

bool has_long_number(std::string_view name) {
  size_t digits = 0;
  for (char c : name) {
    digits = is_digit(c) ? digits + 1 : 0;
    if (digits > kMostDigits) return true;
  }
  return false;
}

}  // namespace

OurName apply_rules(std::string_view name, std::span<const NameRule> rules) {
  OurName ours{std::string(name)};
  if (has_long_number(name)) return ours;
  for (const NameRule& rule : rules) {
    const bool anchored = rule.from.starts_with('^');
    const std::string_view pattern = rule.from.substr(anchored ? 1 : 0);
    for (size_t at = 0;;) {
      if (const auto match = match_here(std::string_view(ours.name).substr(at), pattern)) {
        ours.name.replace(at, match->length, filled_in(rule.to, match->numbers));
        ours.drop_ones = ours.drop_ones || rule.drop_ones;
        break;
      }
      const size_t dot = ours.name.find('.', at);
      if (anchored || dot == std::string::npos) break;
      at = dot + 1;
    }
  }
  return ours;
}

}  // namespace vig
