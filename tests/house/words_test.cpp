// Public text says the field's own words, and one word for one meaning.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "house/git_files.h"
#include "house/root.h"
#include "support/files.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

// Whole words, in upper or lower case; a word with a right use is listed in the wrong phrases.
struct Word {
  const char* pattern;
  const char* say;
};
constexpr Word kWords[] = {
    {"pictur(e|es|ed)", "image"},
    {"answer(s|ed|ing)?", "prediction, result or response"},
    {"rivals?", "baseline"},
    {"twins?", "reference implementation"},
    {"strangers?", "untrusted input"},
    {"by heart", "overfitting"},
    {"plac(e|es|ed)", "position, location or offset"},
    {"look(s|ed)? (at|for|like)", "check, show or search"},
    {"tell(s|ing)?|told", "report"},
    {"walk(s|ed|ing)?", "traverse"},
    {"ways?", "path or method"},
    {"teams?", "thread pool"},
    {"a row's process", "child process"},
    {"goes on|go on|begins? (again|anew)", "resume or restart"},
    {"born|dies|died|swallow(s|ed)|joined", "first defined, last used, absorbed or fused"},
    {"(model|network)'s numbers|such numbers", "config or hyperparameters"},
    {"(runtime|program|plan)'s steps?|kernel steps?", "kernel call"},
    {"--(look|recipe|parts)", "--preview, --preset or --accumulate"},
};

// "FILE:LINE: 'picture': say image" for every such word.
std::vector<std::string> wrong_words(const std::string& file, const std::string& text) {
  static const std::vector<std::pair<std::regex, const char*>> patterns = [] {
    std::vector<std::pair<std::regex, const char*>> made;
    for (const Word& word : kWords) {
      const std::string pattern =
          "(^|[^A-Za-z0-9_])(" + std::string(word.pattern) + ")(?![A-Za-z0-9_])";
      made.emplace_back(std::regex(pattern, std::regex::icase | std::regex::optimize), word.say);
    }
    return made;
  }();
  std::vector<std::string> found;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    for (const auto& [pattern, say] : patterns) {
      for (std::sregex_iterator match(line.begin(), line.end(), pattern), end; match != end;
           ++match) {
        found.push_back(file + ":" + std::to_string(number) + ": '" + (*match)[2].str() +
                        "': say " + say);
      }
    }
  }
  return found;
}

bool is_public_text(const std::string& file) {
  const fs::path path = file;
  const std::string folder = path.parent_path().string(), end = path.extension().string();
  // The changelog has the words of former versions.
  if (end == ".md") return !file.starts_with(".github/") && file != "CHANGELOG.md";
  return (folder == "docs" && end == ".svg") || folder == "docs/help" ||
         file == "include/vig/vig.h" || file == "src/vig/serve/page.html" ||
         (folder == "src/vig/bindings/python/vig" && end.starts_with(".py"));
}

TEST(Words, PublicTextSaysTheFieldsOwn) {
  int checked = 0;
  for (const std::string& file : tracked_files(kRoot)) {
    if (!is_public_text(file)) continue;
    ++checked;
    for (const std::string& wrong : wrong_words(file, read_file(kRoot / file))) {
      ADD_FAILURE() << wrong;
    }
  }
  if (checked == 0) GTEST_SKIP() << "git tracks no files here";
  EXPECT_GT(checked, 50);
}

// The string literals of C++ that have several words, line by line: messages, help and prompts.
std::string messages(const std::string& source) {
  static const std::regex pattern(R"re(//.*|"((?:[^"\\\n]|\\.)*)")re", std::regex::optimize);
  std::istringstream lines(source);
  std::string text;
  for (std::string line; std::getline(lines, line); text += '\n') {
    for (std::sregex_iterator match(line.begin(), line.end(), pattern), end; match != end;
         ++match) {
      const std::string literal = (*match)[1].str();
      if (literal.find(' ') != std::string::npos) text += literal + " | ";
    }
  }
  return text;
}

TEST(Words, MessagesSayTheFieldsOwn) {
  int checked = 0;
  for (const std::string& file : tracked_files(kRoot)) {
    const std::string end = fs::path(file).extension().string();
    if (!file.starts_with("src/") || (end != ".h" && end != ".cpp")) continue;
    if (file.ends_with("/imagenet_classes.cpp")) continue;  // names of things
    ++checked;
    for (const std::string& wrong : wrong_words(file, messages(read_file(kRoot / file)))) {
      ADD_FAILURE() << wrong;
    }
  }
  if (checked == 0) GTEST_SKIP() << "git tracks no files here";
  EXPECT_GT(checked, 500);
}

TEST(Words, OfMessagesAreThoseInQuotes) {
  EXPECT_EQ(messages("f(\"two words\", \"one\");  // \"in a comment\"\n\ng(\"a \\\" b\");\n"),
            "two words | \n\na \\\" b | \n");
  using Found = std::vector<std::string>;
  EXPECT_EQ(wrong_words("a.cpp", messages("int place;\nfail(\"no answer from {}\");\n")),
            (Found{"a.cpp:2: 'answer': say prediction, result or response"}));
}

TEST(Words, AreFoundWhereTheyStand) {
  using Found = std::vector<std::string>;
  EXPECT_EQ(wrong_words("a.md", "An image.\nA Picture, and it\nlooks for (answers).\n"),
            (Found{"a.md:2: 'Picture': say image",
                   "a.md:3: 'answers': say prediction, result or response",
                   "a.md:3: 'looks for': say check, show or search"}));
  EXPECT_EQ(wrong_words("a.md", "picture picture").size(), 2u);
  EXPECT_EQ(wrong_words("a.md", "`--look N`"),
            (Found{"a.md:1: '--look': say --preview, --preset or --accumulate"}));
  EXPECT_EQ(wrong_words("a.md", "picturesque, replace, place_holder, teammate, always, lookup"),
            Found{});
}

}  // namespace
}  // namespace vig::test
