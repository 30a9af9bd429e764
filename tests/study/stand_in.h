// A program in place of `vig`, for what studies ask of it and take from the tables it writes.
#pragma once

#include <string>

#include "support/files.h"
#include "vig/study/study.h"

namespace vig::study {

// What `vig bench --csv` writes of one network.
inline constexpr const char* kBenchTable =
    "best_quarter_ms,median_ms,spread,gflops,peak_share,dense_multiply_adds,scan_multiply_adds,"
    "arena_bytes,scratch_bytes,process_bytes\n"
    "10,12,0.25,50,0.5,1000,100,3000,200,90000\n";

// Adds the arguments of every call to FOLDER/arguments as a line, and writes `table` to the file
// behind --csv. What it converts is an empty file.
inline StudyContext stand_in(const test::TempDir& folder, const std::string& table) {
  StudyContext context;
  context.folder = folder.path();
  context.runs = folder / "runs";
  context.program = folder / "vig";
  context.version = "7";
  context.options.data = "images";
  test::write_file(folder / "table", table);
  const std::string own = "'" + folder.path().string() + "/";
  test::write_file(context.program, "#!/bin/sh\nprintf '%s\\n' \"$*\" >>" + own +
                                        "arguments'\nif [ \"$1\" = convert ]; then : >\"$3\"; fi\n"
                                        "while [ $# -gt 0 ]; do\n"
                                        "  if [ \"$1\" = --csv ]; then cp " +
                                        own + "table' \"$2\"; fi\n  shift\ndone\n");
  std::filesystem::permissions(context.program, std::filesystem::perms::owner_all);
  return context;
}

// The lines of all calls so far; empty where there was none.
inline std::string asked(const test::TempDir& folder) {
  const std::filesystem::path lines = folder / "arguments";
  return std::filesystem::exists(lines) ? test::read_file(lines) : "";
}

}  // namespace vig::study
