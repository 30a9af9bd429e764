#include "vig/train/processes/group_member.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "vig/base/error.h"
#include "vig/base/random.h"

namespace vig::train {
namespace {

constexpr int kMaxProcesses = 1 << 16;

// Who starts processes, and the variables in which they find themselves.
struct Launcher {
  const char* name;
  const char *rank, *size, *local_rank, *local_size;
  const char* job;  // the number of the job, from which a port follows
};
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", ""},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE"},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_JOBID"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE",
     "SLURM_JOB_ID"},
};
const Launcher& kSlurm = kLaunchers[3];

// Ports that follow from jobs: below those that the system gives away.
constexpr int kFirstPort = 20000, kPorts = 12000, kUsualPort = 29500;

class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  // An empty variable is as good as none.
  bool has(const char* name) const {
    const char* text = environment_(name);
    return text != nullptr && *text != '\0';
  }
  std::string text(const char* name) const {
    if (!has(name)) {
      fail_usage(
          "{} is not set, expected all of RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT or none",
          name);
    }
    return environment_(name);
  }
  int number(const char* name, int low, int high) const {
    const std::string digits = text(name);
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < low ||
        value > high) {
      fail_usage("{} is '{}', expected a whole number from {} to {}", name, digits, low, high);
    }
    return value;
  }
  int number_or(const char* name, int low, int high, int otherwise) const {
    return has(name) ? number(name, low, high) : otherwise;
  }

 private:
  const Environment& environment_;
};

// Slurm sets its variables also for a program that runs once in a job of many tasks; those of a job
// step it sets for its tasks alone.
const Launcher* launcher_of(const Variables& variables, bool meeting_given) {
  for (const Launcher& launcher : kLaunchers) {
    if (&launcher == &kSlurm && !meeting_given && !variables.has(launcher.size)) continue;
    if (variables.has(launcher.rank) || variables.has(launcher.size)) return &launcher;
  }
  return meeting_given ? &kLaunchers[0] : nullptr;
}

// Processes on this machine, as far as it is known. 0: it is not.
int local_size_of(const Variables& variables, const Launcher& launcher, int size) {
  if (&launcher != &kSlurm) {
    // Slurm may have started them by an interface of MPI.
    const bool of_slurm = variables.number_or(kSlurm.size, 1, kMaxProcesses, 0) == size;
    if (variables.has(launcher.local_size) || !of_slurm) {
      return variables.number_or(launcher.local_size, 1, size, 0);
    }
  }
  for (const char* list : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) {
    if (!variables.has(list)) continue;
    const int host = variables.number_or("SLURM_NODEID", 0, kMaxProcesses, 0);
    const int tasks = tasks_of_host(variables.text(list), host);
    if (tasks == 0) {
      fail_usage("{} is '{}' for host {}, expected a list such as 2(x3),1", list,
                 variables.text(list), host);
    }
    return std::min(size, tasks);
  }
  // The job's, of which a step may have fewer tasks.
  return std::min(size, variables.number_or(kSlurm.local_size, 1, kMaxProcesses, 0));
}

std::string first_host_of_job(const Variables& variables) {
  for (const char* list : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
    if (!variables.has(list)) continue;
    const std::string host = first_host(variables.text(list));
    if (host.empty()) {
      fail_usage("{} is '{}', expected a list of hosts such as node[01-04,7],gpu3", list,
                 variables.text(list));
    }
    return host;
  }
  return "";
}

std::string host_of(const Variables& variables, const Launcher& launcher, const GroupMember& member,
                    bool all_here) {
  if (variables.has("MASTER_ADDR") || &launcher == &kLaunchers[0]) {
    return variables.text("MASTER_ADDR");
  }
  if (all_here) return "127.0.0.1";
  const std::string host = first_host_of_job(variables);
  if (host.empty()) {
    fail_usage(
        "{} does not say on which host process 0 of {} runs: set MASTER_ADDR to its name, the "
        "same "
        "for all processes",
        launcher.name, member.size);
  }
  return host;
}

int port_of(const Variables& variables, const Launcher& launcher) {
  if (variables.has("MASTER_PORT") || &launcher == &kLaunchers[0]) {
    return variables.number("MASTER_PORT", 1, 65535);
  }
  std::string job;
  for (const char* name : {launcher.job, "SLURM_JOB_ID"}) {
    if (job.empty() && *name != '\0' && variables.has(name)) job = variables.text(name);
  }
  if (job.empty()) return kUsualPort;
  // Steps of a job may run at the same time.
  if (variables.has("SLURM_STEP_ID")) job += '.' + variables.text("SLURM_STEP_ID");
  return kFirstPort + static_cast<int>(mix_bits(hash_name(job)) % kPorts);
}

}  // namespace

std::string first_host(std::string_view list) {
  const size_t end = list.find_first_of(",[");
  std::string host(list.substr(0, end));
  if (end != list.npos && list[end] == '[') {
    const size_t close = list.find(']', end);
    if (close == list.npos) return "";
    const std::string_view numbers = list.substr(end + 1, close - end - 1);
    const size_t digits = std::min(numbers.find_first_not_of("0123456789"), numbers.size());
    if (digits == 0) return "";
    host += numbers.substr(0, digits);
    const std::string_view rest = list.substr(close + 1);
    // What follows the numbers is part of each name, and may have numbers of its own.
    if (!rest.empty() && rest[0] != ',') {
      const std::string tail = first_host(rest);
      if (tail.empty()) return "";
      host += tail;
    }
  }
  const auto strange = [](char c) {
    return !(std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_');
  };
  return std::ranges::any_of(host, strange) ? "" : host;
}

int tasks_of_host(std::string_view list, int host) {
  const auto take = [&](int& value) {
    const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), value);
    if (error != std::errc() || value < 1 || value > kMaxProcesses) return false;
    list.remove_prefix(static_cast<size_t>(end - list.data()));
    return true;
  };
  for (int64_t first = 0;;) {
    int tasks = 0, times = 1;
    if (!take(tasks)) return 0;
    if (list.starts_with("(x")) {
      list.remove_prefix(2);
      if (!take(times) || !list.starts_with(')')) return 0;
      list.remove_prefix(1);
    }
    first += times;
    if (host < first) return tasks;
    if (!list.starts_with(',')) return 0;
    list.remove_prefix(1);
  }
}

std::optional<GroupMember> group_member(const Environment& environment) {
  const Variables variables(environment);
  const bool meeting_given = variables.has("MASTER_ADDR") || variables.has("MASTER_PORT");
  const Launcher* launcher = launcher_of(variables, meeting_given);
  if (launcher == nullptr) return std::nullopt;
  GroupMember member;
  const char* size =
      launcher == &kSlurm && !variables.has(launcher->size) ? "SLURM_NTASKS" : launcher->size;
  member.size = variables.number(size, 1, kMaxProcesses);
  member.rank = variables.number(launcher->rank, 0, member.size - 1);
  if (member.size == 1 && launcher != &kLaunchers[0]) return std::nullopt;
  const int local_size = local_size_of(variables, *launcher, member.size);
  member.local_size = std::max(1, local_size);
  member.local_rank = variables.number_or(launcher->local_rank, 0, member.size - 1, member.rank);
  member.host = host_of(variables, *launcher, member, local_size == member.size);
  member.port = port_of(variables, *launcher);
  // torchrun listens itself, and starts all of them again when one has died.
  member.hosted = variables.has("TORCHELASTIC_USE_AGENT_STORE") &&
                  variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  member.attempt = variables.number_or("TORCHELASTIC_RESTART_COUNT", 0, 1 << 30, 0);
  return member;
}

}  // namespace vig::train
