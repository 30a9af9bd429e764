// The subcommands of `vig-train`, one file each.
#pragma once

#include "vig/cli/commands.h"

namespace vig::cli {

void add_train(CLI::App& app, Command& chosen);
void add_train_bench(CLI::App& app, Command& chosen);
void add_receptive_field(CLI::App& app, Command& chosen);

}  // namespace vig::cli
