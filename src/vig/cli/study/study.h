// `vig study`: tables and figures of the paper, measured again.
#pragma once

#include <CLI/App.hpp>

#include "vig/cli/commands.h"

namespace vig::cli {

void add_study(CLI::App& app, Command& chosen);

}  // namespace vig::cli
