// What a program takes on its command line, declared once: parsing, help, manual pages, shell
// completion and documentation come from this table.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "vig/cli/describe.h"

namespace vig::cli {

// An option, flag or positional of a command.
struct Option {
  using TakeFlag = std::function<void(bool)>;
  using TakeText = std::function<void(const std::string&)>;
  // What the value is written to. A variable holds the default.
  using Target = std::variant<bool*, int*, int64_t*, uint16_t*, uint64_t*, double*, std::string*,
                              std::vector<std::string>*, TakeFlag, TakeText>;
  using Integers = std::pair<int64_t, int64_t>;
  using Numbers = std::pair<double, double>;

  // `declared` are its names, separated by commas: "images", "--top", "-m,--model".
  Option(std::string declared, Target target, std::string help);

  // How the help calls its value: "FILE".
  Option& value(std::string name);
  Option& required();
  // The help shows the default.
  Option& show_default();
  // Both ends belong to the range, which is of whole numbers unless they are of type double.
  template <class T>
  Option& range(T least, T most) {
    using Ends = std::conditional_t<std::is_floating_point_v<T>, Numbers, Integers>;
    return range(Ends(least, most));
  }
  Option& range(Integers ends);
  Option& range(Numbers ends);
  // The value is one of these.
  Option& one_of(std::vector<std::string> values);
  // The value is any; shell completion offers these.
  Option& offers(std::vector<std::string> values);
  // The title under which the help lists it.
  Option& group(std::string title);
  // Neither help nor completion know it.
  Option& hidden() { return group(""); }
  // It is an error to give it without the option of this name, which is declared before it.
  Option& needs(std::string name);
  // For several values: it takes one each time that it is given, or a list with this separator.
  Option& one_each(char separator = '\0');

  OptionText text;
  std::string declared;
  Target target;
  std::variant<std::monostate, Integers, Numbers> bounds;
  bool choices_only = false;
  bool takes_one = false;
  char separator = '\0';
  std::string needed;
};

// "vig classify"
struct Command {
  Option& flag(std::string names, bool& variable, std::string help) {
    return add(std::move(names), &variable, std::move(help));
  }
  Option& flag(std::string names, Option::TakeFlag take, std::string help) {
    return add(std::move(names), std::move(take), std::move(help));
  }
  template <class T>
  Option& option(std::string names, T& variable, std::string help) {
    return add(std::move(names), Option::Target(std::in_place_type<T*>, &variable),
               std::move(help));
  }
  Option& option(std::string names, Option::TakeText take, std::string help) {
    return add(std::move(names), std::move(take), std::move(help));
  }
  Option& add(std::string names, Option::Target target, std::string help);

  std::string name;
  std::string summary;
  std::string footer;         // what the help says below the options
  std::list<Option> options;  // each stays where it is
  std::function<int()> run;   // gives the exit status
};

// A program.
struct CommandLine {
  Command& add_command(std::string name, std::string text);
  std::vector<std::string> command_names() const;

  std::string program;  // "vig"
  std::string summary;
  std::string version;
  std::string footer;
  std::list<Command> commands;  // each stays where it is
};

struct ParsedLine {
  const Command* command = nullptr;  // null: none is named
  std::string print;                 // help or version, where these are asked for
  std::string error;                 // what is wrong with the arguments, in one sentence
};

// Writes the values of options to where they belong.
ParsedLine parse(const CommandLine& line, int argc, const char* const* argv);

std::string help_text(const CommandLine& line);

// The program itself first, then its commands. Hidden options are left out.
std::vector<CommandText> describe(const CommandLine& line);

}  // namespace vig::cli
