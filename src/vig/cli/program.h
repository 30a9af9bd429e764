// What `vig` and `vig-train` have in common: parsing, the one sentence of an error, exit codes.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>

#include "vig/cli/commands.h"

namespace vig::cli {

// `fill` adds subcommands to the program. Gives the exit status; raises nothing.
int run_program(const char* name, const char* description,
                void (*fill)(CLI::App& app, Command& chosen), int argc, char** argv);

// Where this program lies, links followed; empty where the system does not say.
std::filesystem::path program_file();

// Has OpenMP's threads wait asleep soon after their work: threads that spin starve each other where
// something else runs on the machine, tenfold. Read when a program is loaded, so only for one that
// is started afterwards. False when the environment already says how to wait.
bool let_threads_sleep();

}  // namespace vig::cli
