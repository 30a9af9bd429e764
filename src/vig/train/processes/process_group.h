// Several processes as one group, on LibTorch's Gloo (NCCL on CUDA).
#pragma once

#include <memory>
#include <string>

#include "vig/train/processes/group.h"
#include "vig/train/processes/group_member.h"

namespace vig::train {

struct JoinOptions {
  std::string device = "cpu";
  // Seconds to wait for a process that neither responds nor is known to have ended, at the start
  // and at any time later.
  double timeout = 300;
  std::string version;  // of the program: all must be the same
};

// Returns when all processes are connected. Throws Error when the meeting point cannot be reached,
// when processes are missing, when two have the same rank, or when they disagree on the number of
// processes or the version.
//
// N processes give the result of one, for the same batch and up to rounding (vig/base/deal.h). For
// a fixed N results are the same to the bit, as Gloo adds in a fixed order.
std::unique_ptr<Group> join_group(const GroupMember& member, const JoinOptions& options);

}  // namespace vig::train
