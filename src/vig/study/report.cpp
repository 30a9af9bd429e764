#include "vig/study/report.h"

#include <fmt/format.h>

#include <optional>
#include <sstream>

#include "vig/base/error.h"
#include "vig/study/results.h"
#include "vig/study/study.h"

namespace vig::study {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnd = "<!-- end -->";

struct Mark {
  std::string kind, name;  // "study", "efficiency"
};

std::optional<Mark> parse_mark(std::string_view line) {
  constexpr std::string_view kBegin = "<!-- ", kClose = " -->";
  if (!line.starts_with(kBegin) || !line.ends_with(kClose)) return std::nullopt;
  line = line.substr(kBegin.size(), line.size() - kBegin.size() - kClose.size());
  for (const std::string_view kind : {"study", "table"}) {
    if (!line.starts_with(std::string(kind) + " ")) continue;
    return Mark{std::string(kind), std::string(line.substr(kind.size() + 1))};
  }
  return std::nullopt;
}

std::optional<Results> find_results(const fs::path& folder, const Study& study) {
  const std::string file = study.name + ".csv";
  for (const fs::path& path : {folder / file, folder / study.name / file}) {
    std::error_code ignored;
    if (fs::exists(path, ignored)) return read_results(path, study.columns, study.portable);
  }
  return std::nullopt;
}

std::string study_block(const Study& study, const fs::path& folder, Report& report) {
  const std::optional<Results> results = find_results(folder, study);
  const Presentation shown = study.present(results.value_or(Results()));
  report.images[study.name + ".svg"] = shown.svg;
  return fmt::format("Command: `./vig study {0}{1}` ({2} on 2 cores).\n\n![{3}]({0}.svg)\n\n{4}",
                     study.name, study.arguments, study.duration, study.sentence, shown.markdown);
}

}  // namespace

Report make_report(const std::string& document, const fs::path& folder, const std::string& name) {
  Report report;
  std::istringstream lines(document);
  std::string line;
  size_t number = 0, begun = 0;  // the line of the open mark; 0: none is open
  while (std::getline(lines, line)) {
    ++number;
    const std::optional<Mark> mark = parse_mark(line);
    if (begun > 0 && mark) break;  // without an end
    if (begun > 0 && line != kEnd) continue;
    report.document += line + "\n";
    if (line == kEnd) begun = 0;
    if (!mark) continue;
    begun = number;
    std::string block;
    if (mark->kind == "study") {
      block = study_block(find_study(mark->name), folder, report);
    } else {
      block = paper_table(mark->name);
      if (block.empty()) fail("{}: line {}: there is no table '{}'", name, number, mark->name);
    }
    report.document += "\n" + block + "\n";
  }
  if (begun > 0) fail("{}: line {}: expected {} after this mark, found none", name, begun, kEnd);
  return report;
}

}  // namespace vig::study
