// The subcommands of `vig-train`, one file each.
#pragma once

#include "vig/cli/commands.h"

namespace vig::cli {

void add_train(CommandLine& line);
void add_train_bench(CommandLine& line);
void add_receptive_field(CommandLine& line);

}  // namespace vig::cli
