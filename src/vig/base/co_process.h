// A child process that replies to each line with a line.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vig/base/memory_file.h"

namespace vig {

// Standard input and output of the command are connected to this object; what it writes to standard
// error is kept for messages. The command is a process group of its own, so that Ctrl-C reaches it
// only through this process, and the whole group ends with the object.
class CoProcess {
 public:
  // Starts /bin/sh -c COMMAND with `environment`, NAME=VALUE each, added to the caller's. A command
  // that does not exist is noticed by the first read_line.
  CoProcess(const std::string& command, const std::vector<std::string>& environment);
  ~CoProcess();
  CoProcess(const CoProcess&) = delete;
  CoProcess& operator=(const CoProcess&) = delete;

  // A command that has ended is noticed by the next read_line.
  void write_line(std::string_view line);

  // The next line without its end. Empty when `keep_going`, asked several times a second while
  // there is nothing to read, returns false. Throws when the command has ended, when no line comes
  // for `seconds`, and for a line of more than kLongestLine bytes; the message starts with a verb.
  std::optional<std::string> read_line(double seconds, const std::function<bool()>& keep_going);

  static constexpr size_t kLongestLine = size_t{1} << 24;

 private:
  [[noreturn]] void fail_ended();
  void end();

  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  MemoryFile complaints_{"complaints"};
  std::string unread_;
};

}  // namespace vig
