#include <set>

#include "fuzz/targets.h"
#include "vig/data/csv_list.h"

namespace vig::fuzz {

void run_csv_list(Bytes bytes) {
  const CsvList list = parse_csv_list("x", as_text(bytes));
  std::set<std::string> paths;
  size_t used = 0;
  for (const CsvRow& row : list.rows) {
    check(!row.path.empty() && row.path.size() <= kMaxCsvField, "a path of invalid length");
    check(row.path.find('\0') == row.path.npos, "a path with a zero byte");
    check(paths.insert(row.path).second, "a path twice");
    check(row.label < list.labels.size(), "a label that is not there");
    check(row.split.empty() != list.has_splits, "a row without its split");
    check(row.line > 0 && row.line <= bytes.size() + 1, "a line that is not there");
    used += row.path.size();
  }
  for (const std::string& label : list.labels) check(!label.empty(), "an empty label");
  check(used <= bytes.size(), "paths longer than the list");
  check(list.problems.problem_count == list.problems.left_out, "problems and rows differ");
}

}  // namespace vig::fuzz
