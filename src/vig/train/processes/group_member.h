// Where a process stands among those that train together, and where it meets them.
#pragma once

#include <functional>
#include <optional>
#include <string>

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
};

using Environment = std::function<const char*(const char* name)>;  // null: not set

// From the usual variables: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, as torchrun sets them.
// Where MASTER_ADDR or MASTER_PORT is set, the variables of Open MPI, MPICH or Slurm may stand in
// for RANK and WORLD_SIZE. None if none of the four is set; throws Error (usage) naming the
// variable that is missing or makes no sense.
std::optional<GroupMember> group_member(const Environment& environment);

}  // namespace vig::train
