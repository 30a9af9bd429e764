#include "vig/base/processors.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace vig {

namespace {

namespace fs = std::filesystem;

// 0 where the system does not say.
int affinity_processors() {
  // Machines have more processors than a cpu_set_t holds: the kernel refuses masks that are shorter
  // than its own.
  constexpr int kLargest = 1 << 20;
  for (int processors = CPU_SETSIZE; processors <= kLargest; processors *= 2) {
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(processors));
    std::vector<cpu_set_t> mask(bytes / sizeof(cpu_set_t) + 1);
    if (::sched_getaffinity(0, bytes, mask.data()) == 0) return CPU_COUNT_S(bytes, mask.data());
    if (errno != EINVAL) return 0;
  }
  return 0;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> result;
  for (std::string word; in >> word;) result.push_back(std::move(word));
  return result;
}

bool lists(std::string_view list, std::string_view wanted) {
  for (;;) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == wanted) return true;
    if (comma == list.npos) return false;
    list.remove_prefix(comma + 1);
  }
}

// Paths of mountinfo have blanks and backslashes as \ and three octal digits.
std::string unescaped(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '7'; };
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && digit(text[i + 1]) && digit(text[i + 2]) &&
        digit(text[i + 3])) {
      const int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      result += static_cast<char>(code);
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

struct Hierarchy {
  bool v2 = false;
  std::string group;  // of this process
};

// Those that may limit processors: of version 1 the one of the controller `cpu`, and version 2.
std::vector<Hierarchy> hierarchies(const fs::path& file) {
  std::ifstream in(file);
  std::vector<Hierarchy> result;
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    if (controllers.empty() || lists(controllers, "cpu")) {
      result.push_back({controllers.empty(), line.substr(second + 1)});
    }
  }
  return result;
}

// The part of `group` below `root`; nothing where it is not below it.
std::optional<std::string> below(const std::string& root, const std::string& group) {
  if (!group.starts_with('/') || (group + '/').find("/../") != group.npos) return std::nullopt;
  if (root == "/") return group.substr(1);
  if (group == root) return "";
  if (!group.starts_with(root + '/')) return std::nullopt;
  return group.substr(root.size() + 1);
}

// The next word of `in`, where that is a whole number.
std::optional<int64_t> take_number(std::istream& in) {
  std::string word;
  int64_t value = 0;
  if (!(in >> word)) return std::nullopt;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// The quota of one group, in processors. -1 and "max" are none.
std::optional<int> group_processors(const fs::path& folder, bool v2) {
  std::ifstream first(folder / (v2 ? "cpu.max" : "cpu.cfs_quota_us")), second;
  if (!v2) second.open(folder / "cpu.cfs_period_us");
  const std::optional<int64_t> quota = take_number(first);
  const std::optional<int64_t> period = take_number(v2 ? first : second);
  if (!quota || !period || *quota < 0 || *period <= 0) return std::nullopt;
  const int64_t rounded_up = *quota / *period + (*quota % *period != 0 ? 1 : 0);
  return static_cast<int>(std::clamp<int64_t>(rounded_up, 1, std::numeric_limits<int>::max()));
}

}  // namespace

std::optional<int> cgroup_processors(const fs::path& root) {
  const std::vector<Hierarchy> found = hierarchies(root / "proc/self/cgroup");
  std::optional<int> tightest;
  std::ifstream mounts(root / "proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    // 31 23 0:28 ROOT MOUNT_POINT OPTIONS [TAGS ...] - TYPE SOURCE SUPER_OPTIONS
    const std::vector<std::string> fields = words(line);
    const auto dash = std::ranges::find(fields, "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    const bool v2 = dash[1] == "cgroup2";
    if (!v2 && !(dash[1] == "cgroup" && lists(dash[3], "cpu"))) continue;
    const fs::path mount = root / fs::path(unescaped(fields[4])).relative_path();
    for (const Hierarchy& hierarchy : found) {
      if (hierarchy.v2 != v2) continue;
      const std::optional<std::string> inside = below(unescaped(fields[3]), hierarchy.group);
      if (!inside) continue;
      for (fs::path group = fs::path(*inside).relative_path();; group = group.parent_path()) {
        const std::optional<int> limit = group_processors(mount / group, v2);
        if (limit && (!tightest || *limit < *tightest)) tightest = limit;
        if (group.empty()) break;
      }
    }
  }
  return tightest;
}

int default_threads() {
  int processors = affinity_processors();
  if (processors == 0) {
    processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }
  return std::min(processors, cgroup_processors().value_or(processors));
}

}  // namespace vig
