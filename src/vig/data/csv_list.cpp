#include "vig/data/csv_list.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/utf8.h"
#include "vig/data/archive_formats.h"
#include "vig/data/dense_files.h"

namespace vig {
namespace {

constexpr size_t kFewestColumns = 2, kMostColumns = 3;

// The fields of a line, or of several where a quoted field holds line breaks.
struct Record {
  uint32_t line = 0;
  std::vector<std::string> fields;  // the first four: one more than any row may have
  std::string problem;              // empty: none

  bool blank() const { return fields.size() == 1 && fields[0].empty() && problem.empty(); }
};

// One pass over the text.
class RecordReader {
 public:
  RecordReader(const std::string& name, std::string_view text) : name_(name), rest_(text) {}

  bool next(Record& record) {
    if (rest_.empty()) return false;
    record.line = line_;
    record.fields.clear();
    record.problem.clear();
    do {
      read_field(record);
    } while (take(","));
    take("\r");
    take("\n");
    ++line_;
    return true;
  }

 private:
  bool take(std::string_view start) {
    if (!rest_.starts_with(start)) return false;
    rest_.remove_prefix(start.size());
    return true;
  }

  void read_field(Record& record) {
    const auto blame = [&](std::string problem) {
      if (record.problem.empty()) record.problem = std::move(problem);
    };
    std::string field;
    const bool quoted = take("\"");
    if (quoted) read_quoted(field);
    size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
    const bool ends_line = end == rest_.size() || rest_[end] == '\n';
    if (ends_line && end > 0 && rest_[end - 1] == '\r') --end;
    const std::string_view plain = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (!quoted) {
      field = plain.substr(0, kMaxCsvField + 1);
    } else if (!plain.empty()) {
      blame(fmt::format("expected a comma after a closing quote, found \"{}\"",
                        printable(plain, 20)));
    }
    if (field.size() > kMaxCsvField)
      blame(fmt::format("a field of over {} bytes (a fixed limit)", kMaxCsvField));
    if (field.find('\0') != field.npos) blame("a zero byte");
    if (record.fields.size() <= kMostColumns) record.fields.push_back(std::move(field));
  }

  // Takes the closing quote, too. Of a field that is too long only the beginning is kept.
  void read_quoted(std::string& field) {
    const uint32_t first = line_;
    const auto keep = [&](std::string_view part) {
      if (field.size() <= kMaxCsvField) field += part.substr(0, kMaxCsvField + 1);
    };
    while (true) {
      const size_t end = rest_.find('"');
      if (end == rest_.npos) fail("{}: the quote opened in line {} is not closed", name_, first);
      line_ += static_cast<uint32_t>(std::ranges::count(rest_.substr(0, end), '\n'));
      keep(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
      if (!take("\"")) return;
      keep("\"");
    }
  }

  const std::string& name_;
  std::string_view rest_;
  uint32_t line_ = 1;
};

bool is_header(const Record& record) {
  constexpr std::string_view kNames[] = {"path", "label", "split"};
  const size_t columns = record.fields.size();
  if (columns < kFewestColumns || columns > kMostColumns) return false;
  for (size_t i = 0; i < columns; ++i) {
    const auto same = [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
    };
    if (!std::ranges::equal(record.fields[i], kNames[i], same)) return false;
  }
  return true;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    if (!take_character(text)) return false;
  }
  return true;
}

class ListParser {
 public:
  explicit ListParser(const std::string& name) : name_(name) {}

  CsvList parse(std::string_view text) {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
    RecordReader reader(name_, text);
    for (Record record; reader.next(record);) {
      if (record.blank()) continue;
      const bool first = columns_ == 0;
      if (first) begin(record);
      if (first && is_header(record)) continue;
      add(record);
    }
    leave_out_repeated();
    return std::move(list_);
  }

 private:
  void begin(const Record& record) {
    columns_ = record.fields.size();
    if (columns_ < kFewestColumns || columns_ > kMostColumns) {
      fail("{}: expected the columns path,label or path,label,split in line {}, found {}{}", name_,
           record.line, columns_ > kMostColumns ? "more than " : "",
           columns_ > kMostColumns ? kMostColumns : columns_);
    }
    list_.has_splits = columns_ == kMostColumns;
  }

  void blame(uint32_t line, std::string_view problem) {
    list_.problems.add(fmt::format("{}: line {}: {}", name_, line, problem));
    ++list_.problems.left_out;
  }

  void add(Record& record) {
    if (record.fields.size() != columns_ && record.problem.empty()) {
      record.problem = fmt::format("expected {} columns, found {}{}", columns_,
                                   record.fields.size() > kMostColumns ? "more than " : "",
                                   std::min(record.fields.size(), kMostColumns));
    }
    if (!record.problem.empty()) return blame(record.line, record.problem);
    const std::string& label = record.fields[1];
    CsvRow row;
    // An absolute path keeps its slash.
    if (record.fields[0].starts_with('/')) row.path = '/';
    row.path += clean_name(record.fields[0]);
    row.line = record.line;
    if (row.path.empty() || row.path == "/") return blame(record.line, "the path is empty");
    if (label.empty()) return blame(record.line, "the label is empty");
    if (!is_utf8(label)) {
      return blame(record.line, fmt::format("the label \"{}\" is not UTF-8", printable(label, 60)));
    }
    if (list_.has_splits) {
      row.split = split_of(record.fields[2]);
      if (row.split.empty()) {
        return blame(record.line, fmt::format("expected the split train, val or test, found \"{}\"",
                                              printable(record.fields[2], 60)));
      }
    }
    if (list_.rows.size() == kMaxCsvRows) {
      fail("{}: expected at most {} rows (a fixed limit), found more", name_, kMaxCsvRows);
    }
    const auto [known, added] =
        labels_.try_emplace(label, static_cast<uint32_t>(list_.labels.size()));
    if (added) list_.labels.push_back(label);
    row.label = known->second;
    list_.rows.push_back(std::move(row));
  }

  // Sorted, since names that share a hash would make a table of them slow.
  void leave_out_repeated() {
    std::vector<CsvRow>& rows = list_.rows;
    std::vector<uint32_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {},
                             [&](uint32_t i) -> const std::string& { return rows[i].path; });
    std::vector<uint32_t> first(rows.size());  // line of the first row with the same path
    for (size_t i = 0; i < order.size(); ++i) {
      const bool again = i > 0 && rows[order[i]].path == rows[order[i - 1]].path;
      first[order[i]] = again ? first[order[i - 1]] : rows[order[i]].line;
    }
    size_t kept = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (first[i] == rows[i].line) {
        if (kept != i) rows[kept] = std::move(rows[i]);
        ++kept;
      } else {
        blame(rows[i].line, fmt::format("names \"{}\" again, which line {} has named",
                                        printable(rows[i].path, 200), first[i]));
      }
    }
    rows.resize(kept);
  }

  const std::string& name_;
  size_t columns_ = 0;  // of every row; 0: not known yet
  CsvList list_;
  std::map<std::string, uint32_t> labels_;
};

}  // namespace

bool is_csv_list(const std::string& path) {
  std::error_code ignored;
  return (path.ends_with(".csv") || path.ends_with(".CSV")) &&
         !std::filesystem::is_directory(path, ignored);
}

CsvList parse_csv_list(const std::string& name, std::string_view text) {
  return ListParser(name).parse(text);
}

}  // namespace vig
