#include "vig/cli/describe.h"

namespace vig::cli {
namespace {

Json to_json(const OptionText& option) {
  return {{"names", option.names}, {"positional", option.positional}, {"type", option.type},
          {"value", option.value}, {"preset", option.preset},         {"range", option.range},
          {"help", option.help},   {"group", option.group},           {"choices", option.choices},
          {"many", option.many},   {"required", option.required}};
}

std::vector<std::string> texts(const Json& list) {
  std::vector<std::string> found;
  for (const Json& text : list) found.push_back(text.get<std::string>());
  return found;
}

OptionText option_from_json(const Json& json) {
  const auto text = [&](const char* key) { return json.at(key).get<std::string>(); };
  return {.names = texts(json.at("names")),
          .positional = text("positional"),
          .type = text("type"),
          .value = text("value"),
          .preset = text("preset"),
          .range = text("range"),
          .help = text("help"),
          .group = text("group"),
          .choices = texts(json.at("choices")),
          .many = json.at("many").get<bool>(),
          .required = json.at("required").get<bool>()};
}

}  // namespace

Json to_json(const std::vector<CommandText>& commands) {
  Json list = Json::array();
  for (const CommandText& command : commands) {
    Json options = Json::array();
    for (const OptionText& option : command.options) options.push_back(to_json(option));
    list.push_back({{"name", command.name},
                    {"summary", command.summary},
                    {"usage", command.usage},
                    {"options", options},
                    {"footer", command.footer}});
  }
  return list;
}

std::vector<CommandText> commands_from_json(const Json& json) {
  std::vector<CommandText> commands;
  for (const Json& command : json) {
    const auto text = [&](const char* key) { return command.at(key).get<std::string>(); };
    commands.push_back({text("name"), text("summary"), text("usage"), {}, text("footer")});
    for (const Json& option : command.at("options")) {
      commands.back().options.push_back(option_from_json(option));
    }
  }
  return commands;
}

}  // namespace vig::cli
