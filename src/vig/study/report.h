// A document whose tables are made from the results of studies.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace vig::study {

struct Report {
  std::string document;
  std::map<std::string, std::string> images;  // file name, beside the document: SVG
};

// Makes anew what stands between the lines `<!-- study NAME -->` or `<!-- table NAME -->` and
// `<!-- end -->` of a Markdown text; all else stays. A study's results are FOLDER/NAME.csv or
// FOLDER/NAME/NAME.csv; without them the text says that nothing is measured yet. Throws one
// sentence with the line where a mark is unknown or has no end. `name` stands in the message.
Report make_report(const std::string& document, const std::filesystem::path& folder,
                   const std::string& name);

// What stands in a document after `<!-- table NAME -->`: a table of the paper that needs no
// measurement, or cannot be measured. Empty where there is no such table.
std::string paper_table(const std::string& name);

}  // namespace vig::study
