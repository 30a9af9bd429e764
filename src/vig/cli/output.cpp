#include "vig/cli/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>

#include "vig/base/error.h"

namespace vig::cli {
namespace {

[[noreturn]] void output_failed() {
  const int code = errno;
  if (code == EPIPE) throw ReaderGone();
  fail("cannot write to standard output: {}", std::generic_category().message(code));
}

// Width on a terminal, for UTF-8 without double-width characters.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
  }));
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) output_failed();
}

void flush_output() {
  if (std::fflush(stdout) != 0) output_failed();
}

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

void print_json(const nlohmann::ordered_json& value) { print(json_text(value, 2) + "\n"); }

double short_number(float value) { return std::strtod(fmt::format("{}", value).c_str(), nullptr); }

std::string csv_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

void complain(std::string_view sentence) {
  std::string line = "vig: ";
  for (char c : sentence) {  // a file's name must not steer the terminal
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string Table::text() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(width(column.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  const auto add_line = [&](const auto& cell_of, size_t cells) {
    std::string line;
    for (size_t i = 0; i < cells; ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - width(cell), ' ');
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
