#include "vig/study/trained_metrics.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/study/results.h"

namespace vig::study {

std::vector<std::string> metrics_of(const std::filesystem::path& run, const std::string& column) {
  const std::filesystem::path csv = run / "metrics.csv";
  const auto lines = parse_csv(read_text(csv), csv.string());
  if (lines.size() < 2) fail("{}: expected validations, found none", csv.string());
  const auto found = std::ranges::find(lines[0], column);
  if (found == lines[0].end()) fail("{}: there is no column {}", csv.string(), column);
  const auto cell = static_cast<size_t>(found - lines[0].begin());
  std::vector<std::string> values;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() != lines[0].size()) fail("{}: line {} is damaged", csv.string(), i + 1);
    values.push_back(lines[i][cell]);
  }
  return values;
}

}  // namespace vig::study
