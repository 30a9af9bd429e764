// Where a process stands among those that train together, and where it meets them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace vig::train {

struct GroupMember {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // among the processes of this machine, as far as it is known

  // They meet at host:port, where the first process listens, or, if `hosted`, their launcher
  // all. What an attempt before this one left there is not read.
  std::string host;
  int port = 0;
  bool hosted = false;
  int attempt = 0;
  // Or, on one machine, in a file: then they speak over the loopback interface alone.
  std::string file;
  // Called while it waits for the others; throws when one of them is known to be lost.
  std::function<void()> check = {};
};

using Environment = std::function<const char*(const char* name)>;  // null: not set

// From the usual variables, RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them;
// or those of Open MPI, of PMI (MPICH, Intel MPI) or of a job step of Slurm for the first two.
// Where MASTER_ADDR or MASTER_PORT is not set, then the host is this machine, if all processes run
// on it, or the first of Slurm's, and the port follows from the job's number. None where nothing
// says that there are several processes; throws Error (usage) naming the variable that is missing
// or makes no sense.
std::optional<GroupMember> group_member(const Environment& environment);

// The first host of a list as Slurm writes it, "node[01-04,7],gpu3", and the tasks of the n-th host
// of a list such as "2(x3),1"; empty and 0 where the list makes no sense.
std::string first_host(std::string_view list);
int tasks_of_host(std::string_view list, int host);

}  // namespace vig::train
