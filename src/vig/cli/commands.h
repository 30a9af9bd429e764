// The subcommands of `vig`, one file each; add_convert is in convert.h.
#pragma once

#include "vig/cli/command_line.h"

namespace vig::cli {

// Each adds its command with its options.
void add_models(CommandLine& line);
void add_info(CommandLine& line);
void add_classify(CommandLine& line);
void add_embed(CommandLine& line);
void add_search(CommandLine& line);
void add_explain(CommandLine& line);
void add_segment(CommandLine& line);
void add_detect(CommandLine& line);
void add_eval(CommandLine& line);
void add_verify(CommandLine& line);
void add_bench(CommandLine& line);
void add_completion(CommandLine& line);
void add_manual(CommandLine& line);

}  // namespace vig::cli
