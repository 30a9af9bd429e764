#include "house/layers.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

namespace vig::test {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool starts_with_any(std::string_view name, const std::vector<std::string>& starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [name](const std::string& start) { return name.starts_with(start); });
}

bool inside(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

// The innermost folder with a rule, or nullptr.
const FolderRule* find_rule(const Layers& layers, std::string_view path) {
  const FolderRule* best = nullptr;
  for (const FolderRule& rule : layers.folders) {
    if (inside(path, rule.folder) && (!best || rule.folder.size() > best->folder.size())) {
      best = &rule;
    }
  }
  return best;
}

std::string without_comments(std::string_view source) {
  std::string kept;
  for (size_t i = 0; i < source.size();) {
    const char c = source[i];
    if (source.substr(i, 2) == "//") {
      i = std::min(source.find('\n', i), source.size());
    } else if (source.substr(i, 2) == "/*") {
      const size_t end = source.find("*/", i + 2);
      i = end == std::string_view::npos ? source.size() : end + 2;
      kept += ' ';
    } else if (c == '"' || (c == '\'' && (i == 0 || !std::isalnum(source[i - 1])))) {
      // A literal; the quote in 1'000 is none.
      size_t end = i + 1;
      while (end < source.size() && source[end] != c && source[end] != '\n') {
        end += source[end] == '\\' ? 2 : 1;
      }
      end = std::min(end + 1, source.size());
      kept += source.substr(i, end - i);
      i = end;
    } else {
      kept += c;
      ++i;
    }
  }
  return kept;
}

bool is_public(const Layers& layers, std::string_view path) {
  return contains(layers.public_headers, path);
}

bool may_include_own(const Layers& layers, const FolderRule& rule, std::string_view header) {
  const FolderRule* target = find_rule(layers, header);
  if (target == nullptr) return false;
  return target->folder == rule.folder || inside(target->folder, rule.folder) ||
         contains(rule.own, target->folder) || contains(rule.own, header);
}

bool may_include_foreign(const Layers& layers, const FolderRule& rule, std::string_view path,
                         std::string_view header) {
  for (const HeavyHeader& heavy : layers.heavy) {
    if (header.starts_with(heavy.start)) return contains(heavy.files, path);
  }
  if (header.find_first_of("./") == std::string_view::npos) return true;  // C++ standard library
  if (starts_with_any(header, rule.foreign)) return true;
  return std::any_of(layers.folders.begin(), layers.folders.end(), [header](const auto& other) {
    return other.folder == "*" && starts_with_any(header, other.foreign);
  });
}

bool is_heavy(const Layers& layers, std::string_view header) {
  return std::any_of(layers.heavy.begin(), layers.heavy.end(), [header](const HeavyHeader& heavy) {
    return header.starts_with(heavy.start);
  });
}

struct Include {
  std::string header;
  bool quoted;
};

using IncludeGraph = std::map<std::string, std::vector<Include>>;

IncludeGraph parse_includes(const SourceTree& tree) {
  static const std::regex line(R"re((?:^|\n)[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+))re");
  IncludeGraph graph;
  for (const auto& [path, source] : tree) {
    std::vector<Include>& includes = graph[path];
    const std::string code = without_comments(source);
    for (std::sregex_iterator match(code.begin(), code.end(), line), end; match != end; ++match) {
      includes.push_back({(*match)[2], (*match)[1] == "\""});
    }
  }
  return graph;
}

// vig/vig.h, the interface for C, stands outside of src/vig.
bool is_own(const Include& include) {
  return include.header.starts_with("vig/") && include.header != "vig/vig.h";
}

// Every header of the tree that `path` reaches, with the file that includes it: breadth first, so
// that the chain back to `path` is a shortest one.
std::map<std::string, std::string> reached(const std::string& path, const IncludeGraph& graph) {
  std::map<std::string, std::string> by;
  std::vector<std::string> found = {path};
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string from = found[i];
    const auto includes = graph.find(from);
    if (includes == graph.end()) continue;
    for (const Include& include : includes->second) {
      const std::string header = is_own(include) ? include.header.substr(4) : "";
      if (header.empty() || header == path || !by.emplace(header, from).second) continue;
      found.push_back(header);
    }
  }
  return by;
}

void check_includes(const Layers& layers, const FolderRule& rule, const std::string& path,
                    const std::vector<Include>& includes, std::vector<std::string>& broken) {
  for (const Include& include : includes) {
    const std::string& header = include.header;
    if (is_own(include)) {
      if (!may_include_own(layers, rule, std::string_view(header).substr(4))) {
        broken.push_back(path + " includes " + header + ", which " + rule.folder + " may not");
      }
    } else if (include.quoted && header.find('/') == std::string::npos) {
      broken.push_back(path + " includes " + header + " without its folder");
    } else if (!may_include_foreign(layers, rule, path, header)) {
      broken.push_back(path + " includes <" + header + ">, which " +
                       (is_heavy(layers, header) ? "it" : rule.folder) + " may not");
    }
  }
}

// One sentence for each folder that is reached against the rule, with the chain of includes.
void check_reach(const Layers& layers, const FolderRule& rule, const std::string& path,
                 const IncludeGraph& graph, std::vector<std::string>& broken) {
  const std::map<std::string, std::string> by = reached(path, graph);
  std::set<std::string> reported;
  for (const auto& [header, from] : by) {
    if (from == path || may_include_own(layers, rule, header)) continue;
    const FolderRule* target = find_rule(layers, header);
    if (target == nullptr || !reported.insert(target->folder).second) continue;
    std::string chain = header;
    for (std::string node = from; node != path; node = by.at(node)) chain = node + " -> " + chain;
    broken.push_back(path + " reaches " + target->folder + ", which " + rule.folder +
                     " may not: " + chain);
  }
}

void check_hidden_names(const Layers& layers, const std::string& path, const std::string& source,
                        std::vector<std::string>& broken) {
  static const std::regex identifier("[A-Za-z_][A-Za-z_0-9]*");
  const std::string code = without_comments(source);
  for (std::sregex_iterator match(code.begin(), code.end(), identifier), end; match != end;
       ++match) {
    std::string name = match->str();
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    for (const HiddenName& hidden : layers.hidden) {
      if (name.starts_with(hidden.start) && !contains(hidden.excused, path)) {
        broken.push_back(path + " is public but names " + match->str());
      }
    }
  }
}

}  // namespace

Layers parse_layers(std::string_view table) {
  Layers layers;
  std::istringstream lines{std::string(table)};
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    const std::string text = line.substr(0, line.find('#'));
    if (words(text).empty()) continue;
    std::vector<std::vector<std::string>> columns;
    std::istringstream cells(text + " ");
    for (std::string cell; std::getline(cells, cell, '|');) columns.push_back(words(cell));
    const bool named = columns[0].size() == 1;
    if (named && columns[0][0].front() == '[' && columns.size() == 1) {
      section = columns[0][0];
    } else if (section == "[folders]" && columns.size() == 3 && named) {
      layers.folders.push_back({columns[0][0], columns[1], columns[2]});
    } else if (section == "[heavy]" && columns.size() == 2 && named) {
      layers.heavy.push_back({columns[0][0], columns[1]});
    } else if (section == "[public]" && columns.size() == 1 && named) {
      layers.public_headers.push_back(columns[0][0]);
    } else if (section == "[hidden]" && columns.size() == 2 && named) {
      layers.hidden.push_back({columns[0][0], columns[1]});
    } else {
      throw std::runtime_error("the table of layers has no such line: " + line);
    }
  }
  return layers;
}

std::vector<std::string> check_layers(const Layers& layers, const SourceTree& tree) {
  const IncludeGraph includes = parse_includes(tree);
  std::vector<std::string> broken;
  for (const auto& [path, source] : tree) {
    const FolderRule* rule = find_rule(layers, path);
    if (rule == nullptr) {
      broken.push_back(path + " is in no folder of the table");
      continue;
    }
    if (!path.ends_with(".h") && !path.ends_with(".cpp")) {
      broken.push_back(path + " is neither a header (.h) nor a source (.cpp)");
    }
    check_includes(layers, *rule, path, includes.at(path), broken);
    check_reach(layers, *rule, path, includes, broken);
  }
  for (const std::string& path : layers.public_headers) {
    if (!tree.contains(path)) continue;
    check_hidden_names(layers, path, tree.at(path), broken);
    for (const Include& include : includes.at(path)) {
      if (is_own(include) && !is_public(layers, std::string_view(include.header).substr(4))) {
        broken.push_back(path + " is public but includes " + include.header + ", which is not");
      }
    }
  }
  return broken;
}

}  // namespace vig::test
