// Figures that a training run stores of its validations.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vig::study {

// The cells of a column of RUN/metrics.csv, in the order of the validations. Throws where there is
// no such file or column.
std::vector<std::string> metrics_of(const std::filesystem::path& run, const std::string& column);

}  // namespace vig::study
