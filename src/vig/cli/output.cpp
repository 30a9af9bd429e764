#include "vig/cli/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/utf8.h"

namespace vig::cli {
namespace {

[[noreturn]] void output_failed() {
  const int code = errno;
  if (code == EPIPE) throw ReaderGone();
  fail("cannot write to standard output: {}", std::generic_category().message(code));
}

}  // namespace

void print(std::string_view text) {
  const std::string safe = printable_lines(text);
  if (std::fwrite(safe.data(), 1, safe.size(), stdout) != safe.size()) output_failed();
}

void flush_output() {
  if (std::fflush(stdout) != 0) output_failed();
}

void print_json(const Json& value) { print(json_text(value, 2) + "\n"); }

void complain(std::string_view sentence) {
  std::string line = "vig: " + printable_lines(sentence);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string Table::text() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string text;
  const auto add_line = [&](const auto& cell_of, size_t cells) {
    std::string line;
    for (size_t i = 0; i < cells; ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - display_width(cell), ' ');
      if (i > 0) line += "  ";
      line += columns_[i].align == Align::kRight ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](size_t i) -> const std::string& { return columns_[i].title; }, columns_.size());
  for (const auto& row : rows_) {
    add_line([&](size_t i) -> const std::string& { return row[i]; }, row.size());
  }
  return text;
}

std::string grouped(int64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    const size_t left = digits.size() - i;
    if (i > 0 && left % 3 == 0 && digits[i - 1] != '-') text += ',';
    text += digits[i];
  }
  return text;
}

std::string readable_bytes(size_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  return readable_count(static_cast<double>(bytes)) + "B";
}

std::string readable_count(double number) {
  const char* units[] = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  while (number >= 999.5 && unit + 1 < std::size(units)) {
    number /= 1000;
    ++unit;
  }
  const int digits = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}{}{}", number, digits, unit == 0 ? "" : " ", units[unit]);
}

}  // namespace vig::cli
