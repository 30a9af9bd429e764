// What the help of a program says, as data: manual pages and shell completion are made of it, and a
// helper program prints it as JSON.
#pragma once

#include <string>
#include <vector>

#include "vig/base/json.h"

namespace vig::cli {

struct OptionText {
  std::vector<std::string> names;  // "-m", "--model"; empty: a positional alone
  std::string positional;          // "images"; empty: none
  std::string type;                // "flag", "integer", "number" or "text"
  std::string value;               // what it takes, "FILE"; empty: a flag
  std::string preset;              // its value where it is not given, as the help shows it
  std::string range;               // "1 to 1024"; empty: any
  std::string help;
  std::string group = "Options";     // title in the help
  std::vector<std::string> choices;  // values that are known
  bool many = false;                 // takes several values
  bool required = false;
};

struct CommandText {
  std::string name;     // "classify"; of the program "vig"
  std::string summary;  // its description
  std::string usage;    // "vig classify [OPTIONS] images..."
  std::vector<OptionText> options;
  std::string footer;
};

Json to_json(const std::vector<CommandText>& commands);
// Throws where the value is not one that to_json gives.
std::vector<CommandText> commands_from_json(const Json& json);

}  // namespace vig::cli
