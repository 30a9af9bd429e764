// Programs that a study starts: a measurement in a process of its own, whose peak of memory holds
// nothing of another's, or a training run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "vig/study/study.h"

namespace vig::study {

// Runs `arguments` (a program and its options) to its end, with everything it prints in the file
// `log` below the study's folder. While it runs, a stop is passed on to it as Ctrl-C would be; then
// this throws Stopped. Throws an Error with the last line of the log where the program fails. The
// program ends with this process, however that ends. Gives the peak of its resident memory.
uint64_t run_child(const std::vector<std::string>& arguments, const std::filesystem::path& log,
                   const StudyContext& context);

// `vig` with these arguments.
uint64_t run_vig(std::vector<std::string> arguments, const std::filesystem::path& log,
                 const StudyContext& context);

// The last line that is not empty.
std::string last_line(const std::string& text);

}  // namespace vig::study
