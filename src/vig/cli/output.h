// Everything the program prints: results on standard output, errors and progress on standard error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vig/pipeline/json_text.h"  // Json, json_text, short_number
#include "vig/tasks/csv.h"           // csv_quoted

namespace vig::cli {

// The reader of our output has closed the pipe, so nothing is left to do or to report.
struct ReaderGone {};

// Throws ReaderGone, or an Error when the output cannot be written (a full disk).
void print(std::string_view text);
void flush_output();
// Pretty, on a line of its own.
void print_json(const Json& value);

// "vig: SENTENCE" on standard error.
void complain(std::string_view sentence);

// Columns as wide as their longest cell. Numbers belong on the right.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // A cell per column; an empty row is a blank line.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

std::string grouped(int64_t number);       // 5,834,536
std::string readable_bytes(size_t bytes);  // 22.3 MB
// 1e6 is "1.00 M": three digits and a unit.
std::string readable_count(double number);

}  // namespace vig::cli
