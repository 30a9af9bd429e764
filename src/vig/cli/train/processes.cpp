#include "vig/cli/train/processes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "vig/base/error.h"
#include "vig/base/memory_file.h"
#include "vig/cli/output.h"
#include "vig/train/processes/group.h"

namespace vig::cli {
namespace {

constexpr double kPatience = 2;  // seconds for copies to end by themselves

[[noreturn]] void fail_errno(const char* what) {
  fail("cannot start processes: {}: {}", what, std::generic_category().message(errno));
}

// Behind what others have written, as they share one position.
void append_words(MemoryFile& file, const std::string& text) {
  try {
    file.append(text.c_str(), text.size() + 1);
  } catch (const Error&) {
    // Then it is not reported.
  }
}

std::string first_words(const MemoryFile& file) {
  const std::string text = file.contents(4096);
  return text.substr(0, text.find('\0'));
}

// The copies, as the first process sees them. They end with it.
class Copies {
 public:
  Copies() = default;
  ~Copies() {
    for (Copy& copy : copies_) {
      if (copy.status.has_value()) continue;
      kill(copy.pid, SIGKILL);
      while (waitpid(copy.pid, nullptr, 0) < 0 && errno == EINTR) continue;
    }
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  void add(pid_t pid) { copies_.push_back({pid, std::nullopt}); }
  // The copies themselves have none.
  void forget() { copies_.clear(); }

  void wait() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kPatience);
    while (!all_ended() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  // Throws GroupLost if one has ended.
  void check() {
    all_ended();
    for (size_t i = 0; i < copies_.size(); ++i) {
      if (!copies_[i].status.has_value()) continue;
      throw train::GroupLost(fmt::format("process {} of {} ended before all were connected", i + 1,
                                         copies_.size() + 1));
    }
  }

  // What became of the first that did not end by itself; empty if all did.
  std::string loss() const {
    for (size_t i = 0; i < copies_.size(); ++i) {
      if (!copies_[i].status.has_value()) {
        return fmt::format("process {} of {} does not respond", i + 1, copies_.size() + 1);
      }
      const int status = *copies_[i].status;
      if (!WIFSIGNALED(status)) continue;
      return fmt::format("process {} of {} was ended by signal {} ({})", i + 1, copies_.size() + 1,
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    return "";
  }

 private:
  struct Copy {
    pid_t pid;
    std::optional<int> status;  // once it has ended
  };

  bool all_ended() {
    bool all = true;
    for (Copy& copy : copies_) {
      int status = 0;
      if (!copy.status.has_value() && waitpid(copy.pid, &status, WNOHANG) == copy.pid) {
        copy.status = status;
      }
      all = all && copy.status.has_value();
    }
    return all;
  }

  std::vector<Copy> copies_;
};

int run_copy(const train::GroupMember& member, MemoryFile& last_words,
             const std::function<int(const train::GroupMember&)>& work) {
  try {
    return work(member);
  } catch (const train::GroupLost&) {
    // The failing process reports the cause.
  } catch (const std::exception& error) {
    append_words(last_words,
                 fmt::format("process {} of {}: {}", member.rank, member.size, error.what()));
  }
  return 1;
}

}  // namespace

int run_processes(int count, const std::function<int(const train::GroupMember&)>& work) {
  flush_output();  // or every copy would have it
  // The copies inherit both files.
  MemoryFile meeting("vig-meeting"), last_words("vig-last-words");
  train::GroupMember member;
  member.size = member.local_size = count;
  member.file = meeting.path();
  const pid_t self = getpid();
  Copies copies;
  member.check = [&copies] { copies.check(); };
  for (int rank = 1; rank < count; ++rank) {
    const pid_t pid = fork();
    if (pid < 0) fail_errno("fork");
    if (pid > 0) {
      copies.add(pid);
      continue;
    }
    copies.forget();
    member.check = nullptr;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != self) _exit(1);
    member.rank = member.local_rank = rank;
    return run_copy(member, last_words, work);
  }
  try {
    const int status = work(member);
    copies.wait();
    return status;
  } catch (const train::GroupLost& lost) {
    copies.wait();
    std::string what = first_words(last_words);
    if (what.empty()) what = copies.loss();
    if (what.empty()) what = lost.what();
    fail("{}{}", what, kResumes);
  }
}

}  // namespace vig::cli
