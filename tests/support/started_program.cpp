#include "support/started_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

#include "support/files.h"

namespace vig::test {
namespace {

constexpr int kPatience = 60'000;  // milliseconds

}  // namespace

StartedProgram::StartedProgram(const std::vector<std::string>& arguments,
                               const std::filesystem::path& folder)
    : folder_(folder) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  const std::string files[] = {"/dev/null", (folder / "OUT").string(), (folder / "ERR").string()};
  for (const char* name : {"OUT", "ERR"}) write_file(folder / name, "");  // may be read at once
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ > 0) return;
  for (int i = 0; i < 3; ++i) {
    const int fd = open(files[i].c_str(), i == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || dup2(fd, i) != i) _exit(127);
    if (fd > 2) ::close(fd);
  }
  execv(pointers[0], pointers.data());
  _exit(127);
}

StartedProgram::~StartedProgram() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void StartedProgram::signal(int number) const { kill(pid_, number); }

bool StartedProgram::running() const {
  siginfo_t ended = {};
  return waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0;
}

void StartedProgram::wait_until_stopped() const {
  for (int i = 0; i < kPatience / 5; ++i) {
    siginfo_t stopped = {};
    if (waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
        stopped.si_pid == pid_) {
      return;
    }
    usleep(5'000);
  }
  throw std::runtime_error("the program was not stopped: " + err());
}

int StartedProgram::wait() {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (handle < 0) throw std::runtime_error("cannot watch the program");
  pollfd ended = {handle, POLLIN, 0};
  const int ready = poll(&ended, 1, kPatience);
  ::close(handle);
  if (ready <= 0) return -1;
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string StartedProgram::out() const { return read_file(folder_ / "OUT"); }
std::string StartedProgram::err() const { return read_file(folder_ / "ERR"); }

uint16_t served_port(const StartedProgram& program) {
  const std::string address = "http://127.0.0.1:";
  for (int waited = 0; waited < kPatience; waited += 10) {
    const std::string out = program.out();
    const size_t at = out.find(address);
    if (at != std::string::npos && out.ends_with('\n')) {
      return static_cast<uint16_t>(std::stoi(out.substr(at + address.size())));
    }
    usleep(10'000);
  }
  throw std::runtime_error("the server does not start: " + program.err());
}

NamedPipe::NamedPipe(const std::filesystem::path& path) : path_(path.string()) {
  if (mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("cannot make the pipe " + path_);
}

void NamedPipe::wait_for_reader() {
  // Opening for writing fails until there is a reader; waiting inside open() could not be ended.
  for (int waited = 0; waited < kPatience; waited += 5) {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor_ >= 0) return;
    if (errno != ENXIO) break;
    usleep(5'000);
  }
  throw std::runtime_error("no reader of " + path_);
}

void NamedPipe::write(const std::string& bytes) const {
  fcntl(descriptor_, F_SETFL, 0);  // waits while the pipe is full
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (written < 0) throw std::runtime_error("cannot write to " + path_);
    done += static_cast<size_t>(written);
  }
}

void NamedPipe::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

}  // namespace vig::test
