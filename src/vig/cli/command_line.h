// What a program takes on its command line, declared once: parsing, help, manual pages, shell
// completion and documentation come from this table. Every command includes it, so it is plain.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "vig/cli/describe.h"

namespace vig::cli {

// What the value of an option is written to: a variable, which holds the default, or a function,
// which gets the text ("true" or "false" of a flag).
struct OptionTarget {
  enum class Type { kFlag, kInt, kInt64, kUint16, kUint64, kDouble, kText, kTexts };
  using Take = std::function<void(const std::string&)>;

  OptionTarget(bool& flag) : type(Type::kFlag), variable(&flag) {}
  OptionTarget(int& number) : type(Type::kInt), variable(&number) {}
  OptionTarget(int64_t& number) : type(Type::kInt64), variable(&number) {}
  OptionTarget(uint16_t& number) : type(Type::kUint16), variable(&number) {}
  OptionTarget(uint64_t& number) : type(Type::kUint64), variable(&number) {}
  OptionTarget(double& number) : type(Type::kDouble), variable(&number) {}
  OptionTarget(std::string& text) : type(Type::kText), variable(&text) {}
  OptionTarget(std::vector<std::string>& texts) : type(Type::kTexts), variable(&texts) {}
  OptionTarget(Type kind, Take function) : type(kind), take(std::move(function)) {}

  Type type;
  void* variable = nullptr;  // null: `take` is called
  Take take;
};

// Values that an option takes, both ends included.
template <class T>
struct OptionRange {
  bool set = false;
  T least = 0;
  T most = 0;
};

// An option, flag or positional of a command.
struct Option {
  // `declared` are its names, separated by commas: "images", "--top", "-m,--model".
  Option(std::string declared, OptionTarget target, std::string help);

  // How the help calls its value: "FILE".
  Option& value(std::string name);
  Option& required();
  // The help shows the default.
  Option& show_default();
  // Integers, unless the ends are of type double.
  template <class T>
  Option& range(T least, T most) {
    if constexpr (std::is_floating_point_v<T>) {
      return number_range(least, most);
    } else {
      return integer_range(static_cast<int64_t>(least), static_cast<int64_t>(most));
    }
  }
  // The value is one of these.
  Option& one_of(std::vector<std::string> values);
  // The value is any; shell completion offers these.
  Option& offers(std::vector<std::string> values);
  // The title under which the help lists it.
  Option& group(std::string title);
  // It is an error to give it without the option of this name, which is declared before it.
  Option& needs(std::string name);
  // For several values: it takes one each time that it is given, or a list with this separator.
  Option& one_each(char separator = '\0');

  OptionText text;
  std::string declared;
  OptionTarget target;
  OptionRange<int64_t> integers;
  OptionRange<double> numbers;
  bool choices_only = false;
  bool takes_one = false;
  char separator = '\0';
  std::string needed;

 private:
  Option& integer_range(int64_t least, int64_t most);
  Option& number_range(double least, double most);
};

// A command of a program, such as classify.
struct Command {
  Option& flag(std::string names, bool& variable, std::string help);
  Option& flag(std::string names, OptionTarget::Take take, std::string help);
  Option& option(std::string names, OptionTarget target, std::string help);
  Option& option(std::string names, OptionTarget::Take take, std::string help);

  std::string name;
  std::string summary;
  std::string footer;         // what the help says below the options
  std::function<int()> run;   // gives the exit status
  std::list<Option> options;  // each stays at its address
};

struct CommandLine {
  Command& add_command(std::string name, std::string text);
  std::vector<std::string> command_names() const;

  std::string program;  // "vig"
  std::string summary;
  std::string version;
  std::string footer;
  std::list<Command> commands;  // each stays at its address
};

struct ParsedLine {
  const Command* command = nullptr;  // null: none is named
  std::string print;                 // help or version, where these are asked for
  std::string error;                 // what is wrong with the arguments, in one sentence
};

// Writes the values of options to their targets.
ParsedLine parse(const CommandLine& line, int argc, const char* const* argv);

std::string help_text(const CommandLine& line);

// The program itself first, then its commands.
std::vector<CommandText> describe(const CommandLine& line);

}  // namespace vig::cli
