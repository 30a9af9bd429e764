// `--processes`: one run in several processes of this machine.
#pragma once

#include <functional>

#include "vig/train/processes/group_member.h"

namespace vig::cli {

// What ends a message about processes that are lost.
constexpr const char* kResumes =
    "; the last checkpoint stays, and the same command resumes from there";

// Calls `work` in `count` processes: this one, the first member, and copies of it. In the
// copies it returns, too, with the status to end with; they say nothing and do not outlive this
// one. Here it returns or throws what `work` does, except that train::GroupLost becomes an Error
// saying what happened to which copy. They meet in a file without a name and speak over the
// loopback interface. No thread may have been started before.
int run_processes(int count, const std::function<int(const train::GroupMember&)>& work);

}  // namespace vig::cli
