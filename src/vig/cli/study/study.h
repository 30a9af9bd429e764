// `vig study`: tables and figures of the paper, measured again.
#pragma once

#include "vig/cli/commands.h"

namespace vig::cli {

void add_study(CommandLine& line);

}  // namespace vig::cli
