// A program that a test starts, talks to and ends when it has reached a known point.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace vig::test {

// Its standard output and error go to the files OUT and ERR below `folder`. A program that still
// runs at the end of the scope is killed.
class StartedProgram {
 public:
  StartedProgram(const std::vector<std::string>& arguments, const std::filesystem::path& folder);
  ~StartedProgram();
  StartedProgram(const StartedProgram&) = delete;
  StartedProgram& operator=(const StartedProgram&) = delete;

  void signal(int number) const;
  bool running() const;
  // Returns when SIGSTOP has stopped it. Throws after a minute.
  void wait_until_stopped() const;
  // Its exit status, 256 + the number of the signal that ended it, or -1 when it did not end within
  // a minute.
  int wait();

  std::string out() const;
  std::string err() const;

 private:
  std::filesystem::path folder_;
  pid_t pid_ = -1;
};

// The port of the line that `vig serve` prints when it is ready. Throws after a minute.
uint16_t served_port(const StartedProgram& program);

// A pipe with a name, and the end to write into it.
class NamedPipe {
 public:
  explicit NamedPipe(const std::filesystem::path& path);
  ~NamedPipe() { close(); }
  NamedPipe(const NamedPipe&) = delete;
  NamedPipe& operator=(const NamedPipe&) = delete;

  std::string path() const { return path_; }
  // Returns when it has a reader: the known point. Throws after a minute.
  void wait_for_reader();
  void write(const std::string& bytes) const;
  void close();

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace vig::test
