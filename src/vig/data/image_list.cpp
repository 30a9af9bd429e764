#include "vig/data/image_list.h"

#include <unordered_map>
#include <vector>

#include "vig/base/error.h"
#include "vig/base/printable.h"

namespace vig {
namespace {

std::string unescaped(std::string_view line, const std::string& file) {
  std::string name;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      name += line[i];
      continue;
    }
    const char next = i + 1 < line.size() ? line[++i] : '\0';
    if (next != '\\' && next != 'n') {
      fail("{}: \"{}\" has a backslash before neither n nor another", file, printable(line));
    }
    name += next == 'n' ? '\n' : '\\';
  }
  return name;
}

}  // namespace

std::string image_list_text(const Dataset& dataset) {
  std::string text;
  for (size_t i = 0; i < dataset.size(); ++i) {
    for (const char byte : dataset.name(i)) {
      if (byte == '\n') {
        text += "\\n";
      } else {
        text += byte == '\\' ? "\\\\" : std::string(1, byte);
      }
    }
    text += '\n';
  }
  return text;
}

Dataset select_images(const Dataset& dataset, std::string_view text, const std::string& file) {
  std::unordered_map<std::string_view, size_t> samples;  // those that are not chosen yet
  for (size_t i = 0; i < dataset.size(); ++i) samples.emplace(dataset.name(i), i);
  std::vector<size_t> chosen;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string name = unescaped(text.substr(0, end), file);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto found = samples.find(name);
    if (found == samples.end()) {
      fail("{}: names the image \"{}\", which is not among the images or stands there twice", file,
           printable(name));
    }
    chosen.push_back(found->second);
    samples.erase(found);
  }
  if (chosen.empty()) fail("{}: expected names of images, found none", file);
  return dataset.subset(chosen);
}

}  // namespace vig
