#include "train/terminal.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace vig::test {
namespace {

std::vector<std::string> seen(const std::string& bytes) {
  std::vector<std::string> lines(1);
  size_t column = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string& line = lines.back();
    if (bytes[i] == '\r') {
      column = 0;
    } else if (bytes[i] == '\n') {
      lines.emplace_back();
      column = 0;
    } else if (bytes.compare(i, 3, "\x1b[K") == 0) {
      line.resize(column);
      i += 2;
    } else {
      line.resize(std::max(line.size(), column + 1), ' ');
      line[column++] = bytes[i];
    }
  }
  return lines;
}

}  // namespace

TerminalResult run_on_terminal(const std::vector<std::string>& arguments,
                               const std::vector<std::string>& environment) {
  std::vector<char*> argv, names;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  for (char** name = environ; *name != nullptr; ++name) names.push_back(*name);
  for (const std::string& setting : environment)
    names.push_back(const_cast<char*>(setting.c_str()));
  names.push_back(nullptr);
  TerminalResult result;
  int terminal = -1;
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, nullptr);
  EXPECT_GE(pid, 0);
  if (pid < 0) return result;
  if (pid == 0) {
    execve(argv[0], argv.data(), names.data());
    _exit(127);
  }
  char buffer[4096];
  for (ssize_t size = 0; (size = read(terminal, buffer, sizeof(buffer))) > 0;) {
    result.bytes.append(buffer, static_cast<size_t>(size));
  }
  close(terminal);
  int status = 0;
  waitpid(pid, &status, 0);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.lines = seen(result.bytes);
  return result;
}

}  // namespace vig::test
