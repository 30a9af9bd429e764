// Words that the reports of all tasks have in common.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string>

namespace vig::cli {

// "12.34 %"; nothing for a share of nothing.
inline std::string percent(double share) {
  return std::isnan(share) ? "" : fmt::format("{:.2f} %", 100 * share);
}

// Without its folders, since reports are passed on; the last folder of "runs/a/".
inline std::string file_name(const std::string& path) {
  const std::filesystem::path clean = std::filesystem::path(path).lexically_normal();
  return (clean.has_filename() ? clean : clean.parent_path()).filename().string();
}

}  // namespace vig::cli
