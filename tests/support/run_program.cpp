#include "support/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace vig::test {
namespace {

[[noreturn]] void raise_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The three standard streams are files in memory: no pipe can fill up and block either side.
class Stream {
 public:
  explicit Stream(const std::string& bytes = "") : fd_(memfd_create("stream", MFD_CLOEXEC)) {
    if (fd_ < 0) raise_errno("memfd_create");
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t written = write(fd_, bytes.data() + done, bytes.size() - done);
      if (written < 0) raise_errno("write");
      done += static_cast<size_t>(written);
    }
    lseek(fd_, 0, SEEK_SET);
  }
  ~Stream() { close(fd_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int fd() const { return fd_; }
  std::string contents() const {
    std::string bytes(static_cast<size_t>(lseek(fd_, 0, SEEK_END)), '\0');
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t got =
          pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (got <= 0) raise_errno("pread");
      done += static_cast<size_t>(got);
    }
    return bytes;
  }

 private:
  int fd_;
};

std::vector<char*> c_strings(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Environment variables of the caller that would make a program one of several.
constexpr std::string_view kLaunchers[] = {"RANK=", "WORLD_SIZE=", "MASTER_ADDR=", "MASTER_PORT="};

std::vector<std::string> merged_environment(const std::vector<std::string>& changes) {
  std::vector<std::string> merged = changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string old = *entry;
    const std::string name = old.substr(0, old.find('=') + 1);
    bool replaced = std::ranges::find(kLaunchers, name) != std::end(kLaunchers);
    for (const std::string& change : changes) replaced = replaced || change.starts_with(name);
    if (!replaced) merged.push_back(old);
  }
  return merged;
}

// Between fork and exec only calls that are safe in a child of a threaded process.
[[noreturn]] void become(char* const* arguments, char* const* environment, const char* directory,
                         uint64_t address_space, const Stream* streams) {
  setpgid(0, 0);
  bool ready = true;
  for (int i = 0; i < 3; ++i) ready = ready && dup2(streams[i].fd(), i) == i;
  if (*directory != '\0') ready = ready && chdir(directory) == 0;
#if !(defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
  if (address_space != 0) {
    const rlimit limit = {address_space, address_space};
    ready = ready && setrlimit(RLIMIT_AS, &limit) == 0;
  }
#else
  (void)address_space;
#endif
  if (ready) execvpe(arguments[0], arguments, environment);
  _exit(127);
}

}  // namespace

RunResult run_program(const std::vector<std::string>& arguments, const RunOptions& options) {
  if (arguments.empty()) throw std::invalid_argument("run_program needs a program");
  const Stream streams[3] = {Stream(options.input), Stream(), Stream()};
  const std::vector<std::string> environment = merged_environment(options.environment);
  const std::vector<char*> argument_pointers = c_strings(arguments);
  const std::vector<char*> environment_pointers = c_strings(environment);
  const std::string directory = options.directory.string();

  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const pid_t child = fork();
  if (child < 0) raise_errno("fork");
  if (child == 0) {
    become(argument_pointers.data(), environment_pointers.data(), directory.c_str(),
           options.address_space, streams);
  }
  setpgid(child, child);  // also here: a kill below must not come before the child's own call

  RunResult result;
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (handle < 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    raise_errno("pidfd_open");
  }
  pollfd ended = {handle, POLLIN, 0};
  for (double left = options.time_limit;; left = options.time_limit - elapsed()) {
    const int ready = left <= 0 ? 0 : poll(&ended, 1, static_cast<int>(std::ceil(left * 1000)));
    if (ready > 0) break;
    if (ready < 0 && errno == EINTR) continue;
    if (left > 0 && ready == 0) continue;  // woke a little early
    result.timed_out = true;
    kill(-child, SIGKILL);
    break;
  }
  close(handle);

  int status = 0;
  rusage usage = {};
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) raise_errno("wait4");
  }
  result.seconds = elapsed();
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.peak_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  result.out = streams[1].contents();
  result.err = streams[2].contents();
  return result;
}

}  // namespace vig::test
