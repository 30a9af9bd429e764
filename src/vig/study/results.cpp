#include "vig/study/results.h"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "vig/base/error.h"
#include "vig/base/regular_file.h"
#include "vig/tasks/csv.h"

namespace vig::study {
namespace {

// Before the study's own columns.
constexpr const char* kHeading[] = {"cpu",      "simd", "threads", "version",
                                    "settings", "date", "row",     "note"};
constexpr size_t kCommon = std::size(kHeading);

std::vector<std::string> heading(const std::vector<Column>& columns) {
  std::vector<std::string> names(std::begin(kHeading), std::end(kHeading));
  for (const Column& column : columns) names.push_back(column.name);
  return names;
}

std::optional<double> parse_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (!line.empty() || &cell != cells.data()) line += ',';
    const bool plain = cell.find_first_of(",\"\n\r") == std::string::npos;
    line += plain ? cell : csv_quoted(cell);
  }
  return line + "\n";
}

}  // namespace

std::string Row::text(const std::string& column) const {
  const auto cell = cells.find(column);
  return cell == cells.end() ? "" : cell->second;
}

std::optional<double> Row::number(const std::string& column) const {
  return parse_number(text(column));
}

void Row::set(const std::string& column, double value) {
  cells[column] = fmt::format("{:.6g}", value);
}

void Row::set(const std::string& column, std::string value) { cells[column] = std::move(value); }

const Row* Results::find(std::string_view key) const {
  for (const Row& row : rows) {
    if (row.key == key) return &row;
  }
  return nullptr;
}

std::optional<double> Results::number(std::string_view key, const std::string& column) const {
  const Row* row = find(key);
  return row == nullptr ? std::nullopt : row->number(column);
}

std::vector<std::vector<std::string>> parse_csv(const std::string& text, const std::string& name) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> cells(1);
  bool quoted = false;
  const auto end_line = [&] {
    lines.push_back(std::move(cells));
    cells.assign(1, "");
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      cells.back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c == '\n' && !quoted) {
      end_line();
    } else {
      cells.back() += c;
    }
  }
  if (quoted) fail("{}: line {}: a quoted cell does not end", name, lines.size() + 1);
  if (cells.size() > 1 || !cells[0].empty()) end_line();
  return lines;
}

Results parse_results(const std::string& text, const std::vector<Column>& columns,
                      const std::string& name, const Portable& portable) {
  const std::vector<std::vector<std::string>> lines = parse_csv(text, name);
  const std::vector<std::string> names = heading(columns);
  if (lines.empty() || lines[0] != names) {
    fail("{}: line 1: expected the columns {}, found {}", name, fmt::join(names, ","),
         lines.empty() ? "an empty file" : fmt::format("{}", fmt::join(lines[0], ",")));
  }
  Results results;
  std::set<std::string> keys;
  size_t bound_line = 0;  // the first whose conditions bind others
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string>& cells = lines[i];
    const size_t line = i + 1;
    if (cells.size() != names.size()) {
      fail("{}: line {}: expected {} cells, found {}", name, line, names.size(), cells.size());
    }
    const Conditions conditions = {cells[0], cells[1], cells[2], cells[3], cells[4]};
    Row row{.key = cells[6], .cells = {}, .note = cells[7], .date = cells[5], .where = conditions};
    const bool bound = !portable || !portable(row.key);
    if (i == 1 || (bound && bound_line == 0)) results.conditions = conditions;
    if (bound && bound_line == 0) bound_line = line;
    const bool same = bound ? conditions == results.conditions
                            : conditions.settings == results.conditions.settings;
    if (!same) {
      fail("{}: line {}: was measured under other conditions than line {}", name, line,
           bound ? bound_line : 2);
    }
    if (row.key.empty() || !keys.insert(row.key).second) {
      fail("{}: line {}: expected a row of its own, found '{}' {}", name, line, row.key,
           row.key.empty() ? "without a name" : "again");
    }
    for (size_t c = 0; c < columns.size(); ++c) {
      const std::string& cell = cells[kCommon + c];
      if (cell.empty()) continue;
      if (columns[c].kind == Column::Kind::kNumber && !parse_number(cell)) {
        fail("{}: line {}: {}: expected a number, found '{}'", name, line, columns[c].name, cell);
      }
      row.cells[columns[c].name] = cell;
    }
    results.rows.push_back(std::move(row));
  }
  return results;
}

std::string results_csv(const Results& results, const std::vector<Column>& columns) {
  std::string text = csv_line(heading(columns));
  for (const Row& row : results.rows) {
    const Conditions& c = row.where.cpu.empty() ? results.conditions : row.where;
    std::vector<std::string> cells = {c.cpu,      c.simd,   c.threads, c.version,
                                      c.settings, row.date, row.key,   row.note};
    for (const Column& column : columns) cells.push_back(row.text(column.name));
    text += csv_line(cells);
  }
  return text;
}

std::string read_text(const std::filesystem::path& file) {
  constexpr size_t kMostBytes = size_t{1} << 30;
  return read_regular_file(file.string(), kMostBytes);
}

Results read_results(const std::filesystem::path& file, const std::vector<Column>& columns,
                     const Portable& portable) {
  return parse_results(read_text(file), columns, file.string(), portable);
}

void check_same_conditions(const Conditions& stored, const Conditions& now,
                           const std::string& file) {
  const auto compare = [&](const char* what, const std::string& before, const std::string& here) {
    if (before == here) return;
    fail(
        "{}: was begun with {} '{}', not '{}'; choose another folder with --out, or restart "
        "with --force",
        file, what, before, here);
  };
  compare("the processor", stored.cpu, now.cpu);
  compare("the instruction set", stored.simd, now.simd);
  compare("threads", stored.threads, now.threads);
  compare("version", stored.version, now.version);
  compare("the options", stored.settings, now.settings);
}

}  // namespace vig::study
