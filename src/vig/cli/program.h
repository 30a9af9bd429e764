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
    "0 success, 1 bad input or data, 2 bad usage, 128 + N stopped by signal N\n(130: Ctrl-C).";

// Where this program lies, links followed; empty where the system does not say.
std::filesystem::path program_file();

}  // namespace vig::cli
