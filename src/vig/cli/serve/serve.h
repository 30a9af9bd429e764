// `vig serve`: networks over HTTP.
#pragma once

#include <CLI/App.hpp>

#include "vig/cli/commands.h"

namespace vig::cli {

void add_serve(CLI::App& app, Command& chosen);

}  // namespace vig::cli
