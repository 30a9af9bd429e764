// The processors that this process may use.
#pragma once

#include <filesystem>
#include <optional>

namespace vig {

// What `threads = 0` means everywhere: the processors of the affinity mask, but not more than the
// control groups of this process allow.
int default_threads();

// The tightest CPU quota from this process' control group up to the root, in processors:
// rounded up, at least 1. Nothing where no quota can be read. Versions 1 and 2 are read, from
// `root`/proc/self/cgroup, `root`/proc/self/mountinfo and the file systems named there.
std::optional<int> cgroup_processors(const std::filesystem::path& root = "/");

}  // namespace vig
