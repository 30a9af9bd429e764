// The list of known mistakes must fit the code it is about, or tools/mutate.sh would prove nothing.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot(kSourceDir);

struct Mutant {
  std::string file, text, changed, breaks, tests;
};

// "NAME: VALUE"; the value of `changed` may be empty.
std::string value_of(const std::string& line, const std::string& name) {
  const std::string start = name + ":";
  if (!line.starts_with(start)) throw std::runtime_error("expected '" + start + "': " + line);
  return line.size() > start.size() + 1 ? line.substr(start.size() + 1) : "";
}

std::vector<Mutant> parse_mutants(const std::string& list) {
  std::vector<Mutant> mutants;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    Mutant mutant;
    mutant.file = value_of(line, "file");
    for (auto [name, to] : {std::pair{"text", &mutant.text},
                            {"new", &mutant.changed},
                            {"breaks", &mutant.breaks},
                            {"tests", &mutant.tests}}) {
      if (!std::getline(lines, line)) throw std::runtime_error("the list ends early");
      *to = value_of(line, name);
    }
    mutants.push_back(mutant);
  }
  return mutants;
}

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Mutants, EachStandsOnceInItsFile) {
  const std::vector<Mutant> mutants = parse_mutants(read_file(kRoot / "tests" / "mutants.txt"));
  EXPECT_GE(mutants.size(), 75u);
  std::set<std::string> folders, seen;
  for (const Mutant& mutant : mutants) {
    SCOPED_TRACE(mutant.file + ": " + mutant.text);
    EXPECT_TRUE(mutant.file.starts_with("src/vig/"));
    ASSERT_TRUE(fs::is_regular_file(kRoot / mutant.file));
    ASSERT_FALSE(mutant.text.empty());
    EXPECT_EQ(occurrences(read_file(kRoot / mutant.file), mutant.text), 1);
    EXPECT_NE(mutant.changed, mutant.text);
    EXPECT_FALSE(mutant.breaks.empty());
    EXPECT_TRUE(fs::is_directory(kRoot / "tests" / mutant.tests)) << mutant.tests;
    EXPECT_TRUE(seen.insert(mutant.file + '\n' + mutant.text + '\n' + mutant.changed).second);
    folders.insert(mutant.file.substr(8, mutant.file.find('/', 8) - 8));
  }
  for (const auto& entry : fs::directory_iterator(kRoot / "src" / "vig")) {
    const std::string folder = entry.path().filename().string();
    if (!entry.is_directory()) continue;
    EXPECT_TRUE(folders.contains(folder)) << "no mistake in " << folder;
  }
}

TEST(Mutants, TheListIsReadToTheLastLine) {
  const auto mutants = parse_mutants(
      "# words\n\nfile: a\ntext: b: c\nnew: \nbreaks: d\ntests: e\n\nfile: f\ntext: g\nnew:\n"
      "breaks: h\ntests: i");
  ASSERT_EQ(mutants.size(), 2u);
  EXPECT_EQ(mutants[0].text, "b: c");
  EXPECT_EQ(mutants[0].changed, "");
  EXPECT_EQ(mutants[1].tests, "i");
  EXPECT_THROW(parse_mutants("file: a\ntext: b\nbreaks: c\n"), std::runtime_error);
  EXPECT_EQ(occurrences("aaa", "aa"), 2);
}

}  // namespace
}  // namespace vig::test
