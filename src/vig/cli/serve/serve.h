// `vig serve`: networks over HTTP.
#pragma once

#include "vig/cli/commands.h"

namespace vig::cli {

void add_serve(CommandLine& line);

}  // namespace vig::cli
