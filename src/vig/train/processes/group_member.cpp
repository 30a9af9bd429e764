#include "vig/train/processes/group_member.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "vig/base/error.h"

namespace vig::train {
namespace {

constexpr int kMaxProcesses = 1 << 16;

// Who starts processes, and the variables in which they find themselves.
struct Launcher {
  const char *rank, *size, *local_rank, *local_size;
  bool of_job =
      false;  // local_size is the job's, of which a job step of Slurm may have fewer tasks
};
constexpr Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE", true},
};

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

const Launcher& launcher_of(const Variables& variables) {
  for (const Launcher& launcher : kLaunchers) {
    if (variables.has(launcher.rank) || variables.has(launcher.size)) return launcher;
  }
  return kLaunchers[0];
}

}  // namespace

std::optional<GroupMember> group_member(const Environment& environment) {
  const Variables variables(environment);
  // Slurm's are also set for a program that runs once in a job of many tasks, and mean nothing
  // then.
  if (!variables.has("RANK") && !variables.has("WORLD_SIZE") && !variables.has("MASTER_ADDR") &&
      !variables.has("MASTER_PORT")) {
    return std::nullopt;
  }
  const Launcher& launcher = launcher_of(variables);
  GroupMember member;
  member.size = variables.number(launcher.size, 1, kMaxProcesses);
  member.rank = variables.number(launcher.rank, 0, member.size - 1);
  const int most = launcher.of_job ? kMaxProcesses : member.size;
  member.local_size = std::min(member.size, variables.number_or(launcher.local_size, 1, most, 1));
  member.local_rank = variables.number_or(launcher.local_rank, 0, member.size - 1, member.rank);
  member.host = variables.text("MASTER_ADDR");
  member.port = variables.number("MASTER_PORT", 1, 65535);
  // torchrun listens itself, and starts all of them again when one has died.
  member.hosted = variables.has("TORCHELASTIC_USE_AGENT_STORE") &&
                  variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  member.attempt = variables.number_or("TORCHELASTIC_RESTART_COUNT", 0, 1 << 30, 0);
  return member;
}

}  // namespace vig::train
