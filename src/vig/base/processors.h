// The processors that this process may use.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vig {

// What `threads = 0` means everywhere: the processors of the affinity mask, but not more than the
// control groups of this process allow.
int default_threads();

// The tightest CPU quota from this process' control group up to the root, in processors:
// rounded up, at least 1. Nothing where no quota can be read. Versions 1 and 2 are read, from
// `root`/proc/self/cgroup, `root`/proc/self/mountinfo and the file systems named there.
std::optional<int> cgroup_processors(const std::filesystem::path& root = "/");

// The processors that this process may use as one word without blanks, which other processes of
// this machine may compare with their own: affinity mask, quota, and the control group that has it.
std::string processors_word();

// Threads for a process with the word `own`, where processes with the words `others` run on the
// same machine: a processor that several of them may use counts for its part, and so does a quota
// that several share. So a launcher may give each process processors of its own, or the same to
// all. At least 1; words that cannot be read do not count.
int processors_share(std::string_view own, const std::vector<std::string>& others);

}  // namespace vig
