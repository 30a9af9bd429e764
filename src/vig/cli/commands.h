// The subcommands of `vig`, one file each; add_convert is in convert.h.
#pragma once

#include <CLI/App.hpp>
#include <functional>

namespace vig::cli {

// What the command line asked for; gives the exit status.
using Command = std::function<int()>;

// Each describes its subcommand and, when the command line names it, puts itself into `chosen`.
void add_models(CLI::App& app, Command& chosen);
void add_info(CLI::App& app, Command& chosen);
void add_classify(CLI::App& app, Command& chosen);
void add_embed(CLI::App& app, Command& chosen);
void add_search(CLI::App& app, Command& chosen);
void add_explain(CLI::App& app, Command& chosen);
void add_segment(CLI::App& app, Command& chosen);
void add_detect(CLI::App& app, Command& chosen);
void add_eval(CLI::App& app, Command& chosen);
void add_verify(CLI::App& app, Command& chosen);
void add_bench(CLI::App& app, Command& chosen);
void add_completion(CLI::App& app, Command& chosen);
void add_manual(CLI::App& app, Command& chosen);

}  // namespace vig::cli
