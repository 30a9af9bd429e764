// tools/packages.txt against the libraries that the built programs really load.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "house/root.h"
#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::set<std::string>> read_packages() {
  std::map<std::string, std::set<std::string>> sections;
  std::istringstream lines(read_file(kRoot / "tools/packages.txt"));
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    if (word.front() == '[') {
      section = word;
    } else {
      EXPECT_TRUE(sections[section].insert(word).second) << word << " is listed twice";
    }
    EXPECT_FALSE(words >> word) << "more than one name in: " << line;
  }
  return sections;
}

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

// The package of a shared library's file. dpkg may know it with or without the leading /usr.
std::string package_of(const std::string& file) {
  std::string other = "/usr" + file;
  if (file.starts_with("/usr/")) other = file.substr(4);
  const RunResult result = run_program({"dpkg-query", "-S", file, other});
  return result.out.substr(0, result.out.find(':'));
}

// What the listed development packages ask for themselves. No further, and not what tools such as
// cmake need: that libtiff-dev draws in the JPEG library is no reason to leave it out.
std::set<std::string> provided_by(const std::set<std::string>& listed) {
  std::vector<std::string> query = {"dpkg-query", "-W", "-f", "${Depends}\n"};
  std::copy_if(listed.begin(), listed.end(), std::back_inserter(query),
               [](const std::string& name) { return name.ends_with("-dev"); });
  std::set<std::string> provided;
  for (const std::string& name :
       matches(run_program(query).out, "(?:^|[,|\n])[ ]*([a-z0-9][a-z0-9+.-]*)")) {
    provided.insert(name);
  }
  return provided;
}

bool from_the_compiler(const std::string& package) {
  const RunResult result = run_program({"dpkg-query", "-W", "-f", "${source:Package}\n", package});
  return result.out.starts_with("gcc-") || result.out.starts_with("glibc\n");
}

void expect_listed(const std::string& program, const std::set<std::string>& packages) {
  const std::set<std::string> provided = provided_by(packages);
  const RunResult elf = run_program({"readelf", "-d", program});
  ASSERT_EQ(elf.exit_code, 0) << elf.err;
  const std::string resolved = run_program({"ldd", program}).out;
  int checked = 0;
  for (const std::string& library : matches(elf.out, "\\(NEEDED\\)[^\\[]*\\[([^\\]]+)\\]")) {
    const size_t arrow = resolved.find("\t" + library + " => ");
    if (arrow == std::string::npos) continue;  // the loader itself
    const size_t start = arrow + library.size() + 5;
    const std::string file = resolved.substr(start, resolved.find(" (", start) - start);
    const std::string package = package_of(file);
    ++checked;
    if (package.empty()) {
      ADD_FAILURE() << library << " (" << file << ") comes from no Debian package";
    } else if (!provided.contains(package)) {
      EXPECT_TRUE(from_the_compiler(package))
          << library << " is in " << package
          << ", which no -dev package of tools/packages.txt asks for";
    }
  }
  EXPECT_GE(checked, 1);
}

TEST(Packages, EveryLibraryTheProgramsLoadIsListed) {
  if (run_program({"dpkg-query", "--version"}).exit_code != 0) GTEST_SKIP() << "there is no dpkg";
  auto sections = read_packages();
  const std::set<std::string> engine = sections["[engine]"];
  expect_listed(kVig, engine);
  for (const auto& [name, section] :
       {std::pair("vig-train", "[training]"), std::pair("vig-onnx", "[onnx]"),
        std::pair("vig-serve", "[server]"), std::pair("vig-study", "[engine]")}) {
    const fs::path program = fs::path(kVig).replace_filename(name);
    if (!fs::exists(program)) GTEST_SKIP() << name << " is not built";
    std::set<std::string> packages = engine;
    packages.merge(sections[section]);
    expect_listed(program, packages);
  }
}

// The libraries that other programs load, where they are built.
TEST(Packages, WhatOurLibrariesLoadIsListed) {
  if (run_program({"dpkg-query", "--version"}).exit_code != 0) GTEST_SKIP() << "there is no dpkg";
  auto sections = read_packages();
  const fs::path build = fs::path(kVig).parent_path().parent_path();
  std::set<std::string> packages = sections["[engine]"];
  if (fs::exists(build / "src/vig/libvig.so")) expect_listed(build / "src/vig/libvig.so", packages);
  packages.merge(sections["[python]"]);
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(build / "python/vig", none)) {
    if (entry.path().extension() == ".so") expect_listed(entry.path(), packages);
  }
}

// Libraries that the program loads by name when it needs them are not in its list of needed ones,
// but their names are in its bytes.
TEST(Packages, LibrariesLoadedLaterAreListed) {
  if (run_program({"dpkg-query", "--version"}).exit_code != 0) GTEST_SKIP() << "there is no dpkg";
  auto sections = read_packages();
  std::set<std::string> provided = provided_by(sections["[engine]"]);
  provided.merge(sections["[developer]"]);  // the one that few need
  const std::string linked = run_program({"readelf", "-d", kVig}).out;
  std::set<std::string> later;
  for (const std::string& name : matches(
           read_file(kVig), "[^a-zA-Z0-9_./-](lib[a-zA-Z0-9_+-]+[.]so[.][0-9]+)[^a-zA-Z0-9_.]")) {
    if (linked.find("[" + name + "]") == std::string::npos) later.insert(name);
  }
  EXPECT_EQ(later, (std::set<std::string>{"libheif.so.1", "libopenslide.so.0"}));
  for (const std::string& name : later) {
    const std::string known = run_program({"/sbin/ldconfig", "-p"}).out;
    const size_t line = known.find("\t" + name + " ");
    ASSERT_NE(line, std::string::npos) << name << " is not installed";
    const size_t start = known.find("=> ", line) + 3;
    const std::string package = package_of(known.substr(start, known.find('\n', start) - start));
    EXPECT_TRUE(provided.contains(package)) << name << " is in '" << package << "'";
  }
}

TEST(Packages, TheEngineNeverLoadsTheLibrariesOfHelperPrograms) {
  const std::string loaded = run_program({"ldd", kVig}).out;
  for (const char* library : {"torch", "onnx", "protobuf"}) {
    EXPECT_EQ(loaded.find(library), std::string::npos) << loaded;
  }
}

TEST(Packages, OnlyTheListNamesThem) {
  const auto sections = read_packages();
  ASSERT_EQ(sections.size(), 17u);
  for (const char* script : {"vig", "test", ".ci/run", "tools/prepare.sh", "tools/check_aarch64.sh",
                             "tools/check_packages.sh", "tools/fuzz.sh",
                             "bench/baselines/install.sh", "packaging/Containerfile"}) {
    const std::string text = read_file(kRoot / script);
    for (const auto& [section, names] : sections) {
      for (const std::string& name : names) {
        if (!name.starts_with("lib") && !name.ends_with("-dev")) continue;  // also a command's name
        EXPECT_EQ(text.find(name), std::string::npos) << script << " names " << name;
      }
    }
    EXPECT_EQ(text.find("-dev "), std::string::npos) << script << " names a package";
  }
  EXPECT_NE(read_file(kRoot / "tools/prepare.sh").find("tools/packages.txt"), std::string::npos);
}

// No container is built here; what its file names must be there.
TEST(Packages, TheContainerNamesWhatIsThere) {
  const std::string text = read_file(kRoot / "packaging/Containerfile");
  const auto sections = read_packages();
  const std::vector<std::string> installed = matches(text, "install_packages ([a-z ]+)'");
  ASSERT_EQ(installed.size(), 1u);
  for (const std::string& section : matches(installed[0], "([a-z]+)")) {
    EXPECT_TRUE(sections.contains("[" + section + "]")) << section;
  }
  std::set<std::string> copied;
  for (const std::string& names : matches(text, "\nCOPY ([^-][^\n]*) [^ \n]+(?=\n)")) {
    for (const std::string& name : matches(names, "([^ ]+)")) {
      EXPECT_TRUE(fs::exists(kRoot / name)) << name;
      copied.insert(name);
    }
  }
  for (const char* name : {"CMakeLists.txt", "cmake", "models", "src", "tools"}) {
    EXPECT_TRUE(copied.contains(name)) << name;
  }
  // Of packages it names only the one that is loaded later: the others are those that vig's needs.
  const std::vector<std::string> named = matches(text, "apt-get install ([^\\\\]*)");
  ASSERT_EQ(named.size(), 1u);
  const std::vector<std::string> packages = matches(named[0], "(?:^| )([a-z][a-z0-9.+-]*)");
  EXPECT_EQ(packages, matches(read_file(kRoot / "cmake/packages.cmake"), "set\\(heif \"(.*)\"\\)"));
  EXPECT_EQ(matches(text, "\nUSER ([0-9]+:[0-9]+)\n").size(), 1u);
  EXPECT_EQ(matches(text, "\nEXPOSE (8080)\n").size(), 1u);
  // The preset that it builds with, and the folder of the packages.
  EXPECT_NE(read_file(kRoot / "CMakePresets.json").find("\"name\": \"server\""), std::string::npos);
  EXPECT_NE(text.find("/vig/build/release/packages/"), std::string::npos);
}

}  // namespace
}  // namespace vig::test
