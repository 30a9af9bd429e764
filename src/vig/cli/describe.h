// What the help of a program says, as data: manual pages and shell completion are made of it, so
// that every option is described once, where it is added.
#pragma once

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace vig::cli {

struct OptionText {
  std::vector<std::string> names;  // "-m", "--model"; empty: a positional alone
  std::string positional;          // "pictures"; empty: none
  std::string value;               // what it takes, "FILE"; empty: a flag
  std::string preset;              // its value where it is not given, as the help shows it
  std::string help;
  std::string group;                 // title in the help
  std::vector<std::string> choices;  // values that are known
  bool many = false;                 // takes several values
  bool required = false;
};

struct CommandText {
  std::string name;     // "classify"; of the program "vig"
  std::string summary;  // its description
  std::string usage;    // "vig classify [OPTIONS] pictures..."
  std::vector<OptionText> options;
  std::string footer;
};

std::vector<std::string> command_names(const CLI::App& app);

// The program itself first, then its commands. Hidden options are left out.
std::vector<CommandText> describe(CLI::App& app);

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptionText, names, positional, value, preset, help, group,
                                   choices, many, required)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CommandText, name, summary, usage, options, footer)

}  // namespace vig::cli
