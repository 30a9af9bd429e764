#include "house/git_files.h"

#include <algorithm>
#include <stdexcept>

#include "support/run_program.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

RunResult git(const fs::path& root, std::vector<std::string> arguments, std::string input = {}) {
  std::vector<std::string> command = {"git", "-c", "safe.directory=*", "-C", root.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_program(command, {.input = std::move(input)});
}

std::vector<std::string> split_at_zeros(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t start = 0; start < text.size();) {
    const size_t end = text.find('\0', start);
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

}  // namespace

std::vector<std::string> tracked_files(const fs::path& root) {
  const RunResult listing = git(root, {"ls-files", "-z", "--cached"});
  if (listing.exit_code != 0) return {};
  std::vector<std::string> files = split_at_zeros(listing.out);
  std::erase_if(files, [&](const std::string& file) { return !fs::is_regular_file(root / file); });
  return files;
}

void copy_tracked_files(const fs::path& root, const fs::path& folder) {
  for (const std::string& file : tracked_files(root)) {
    fs::create_directories((folder / file).parent_path());
    fs::copy_file(root / file, folder / file);
  }
}

std::vector<std::string> unignored_files(const fs::path& root,
                                         const std::vector<std::string>& files) {
  std::string input;
  for (const std::string& file : files) input += file + '\0';
  const RunResult ignored = git(root, {"check-ignore", "--no-index", "-z", "--stdin"}, input);
  if (ignored.exit_code > 1) throw std::runtime_error("git check-ignore: " + ignored.err);
  const std::vector<std::string> names = split_at_zeros(ignored.out);
  std::vector<std::string> rest;
  std::ranges::copy_if(files, std::back_inserter(rest), [&](const std::string& file) {
    return std::ranges::find(names, file) == names.end();
  });
  return rest;
}

}  // namespace vig::test
