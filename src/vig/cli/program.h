// Shared by `vig` and its helper programs: parsing, the one sentence of an error, exit
// codes.
#pragma once

#include <filesystem>

#include "vig/cli/command_line.h"

namespace vig::cli {

// `fill` adds the commands of the program. Gives the exit status; throws nothing.
int run_program(const char* name, const char* description, void (*fill)(CommandLine& line),
                int argc, char** argv);

// What the exit status of every command says, for its help.
constexpr const char* kExitStatus =
    "0 success, 1 bad input or data, 2 bad usage, 3 finished, but some images\nwere bad, 128 + N "
    "stopped by signal N (130: Ctrl-C).";

constexpr int kBadInputExit = 1;
constexpr int kBadUsageExit = 2;
constexpr int kSomeBadExit = 3;

// Of a command that went through all its images: whether any has a result, and whether any is bad.
constexpr int finished_exit(bool any_result, bool any_bad) {
  if (!any_bad) return 0;
  return any_result ? kSomeBadExit : kBadInputExit;
}

// Where this program lies, links followed; empty where the system does not say.
std::filesystem::path program_file();

}  // namespace vig::cli
