// The CSV file of a study: conditions, date, key, note, and the study's own columns.
#pragma once

#include <filesystem>
#include <vector>

#include "vig/study/study.h"

namespace vig::study {

// Throws one sentence with the line where the text is no file of this study: another heading, a
// row of another length, a number that is none, a key twice, conditions that differ between rows
// (of portable ones the settings). `name` stands in the message.
using Portable = std::function<bool(const std::string& key)>;
Results parse_results(const std::string& text, const std::vector<Column>& columns,
                      const std::string& name, const Portable& portable = {});
std::string results_csv(const Results& results, const std::vector<Column>& columns);

// A whole file. Throws where it cannot be read.
std::string read_text(const std::filesystem::path& file);
Results read_results(const std::filesystem::path& file, const std::vector<Column>& columns,
                     const Portable& portable = {});

// Throws where rows under the conditions `now` do not belong to those that are stored.
void check_same_conditions(const Conditions& stored, const Conditions& now,
                           const std::string& file);

// Cells of each line of a CSV text; a quoted cell may hold commas, doubled quotes and line ends.
// Throws where a quoted cell does not end.
std::vector<std::vector<std::string>> parse_csv(const std::string& text, const std::string& name);

}  // namespace vig::study
