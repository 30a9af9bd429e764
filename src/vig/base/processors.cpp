#include "vig/base/processors.h"

#include <sched.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
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

#include "vig/base/random.h"

namespace vig {

namespace {

namespace fs = std::filesystem;

// Processors of the affinity mask by 64; empty where the system does not say.
std::vector<uint64_t> affinity_mask() {
  // Machines have more processors than a cpu_set_t holds: the kernel refuses masks that are shorter
  // than its own.
  constexpr int kLargest = 1 << 20;
  for (int processors = CPU_SETSIZE; processors <= kLargest; processors *= 2) {
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(processors));
    std::vector<cpu_set_t> mask(bytes / sizeof(cpu_set_t) + 1);
    if (::sched_getaffinity(0, bytes, mask.data()) != 0) {
      if (errno != EINVAL) return {};
      continue;
    }
    std::vector<uint64_t> words(static_cast<size_t>(processors) / 64);
    for (size_t i = 0; i < words.size() * 64; ++i) {
      if (CPU_ISSET_S(i, bytes, mask.data())) words[i / 64] |= uint64_t{1} << (i % 64);
    }
    while (!words.empty() && words.back() == 0) words.pop_back();
    return words;
  }
  return {};
}

int count_processors(const std::vector<uint64_t>& mask) {
  int count = 0;
  for (const uint64_t bits : mask) count += std::popcount(bits);
  return count;
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

struct Quota {
  int processors;
  std::string group;  // the folder that has it
};

std::optional<Quota> tightest_quota(const fs::path& root) {
  const std::vector<Hierarchy> found = hierarchies(root / "proc/self/cgroup");
  std::optional<Quota> tightest;
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
        if (limit && (!tightest || *limit < tightest->processors)) {
          tightest = Quota{*limit, (mount / group).string()};
        }
        if (group.empty()) break;
      }
    }
  }
  return tightest;
}

// A word as processors_word writes it.
struct Share {
  std::vector<uint64_t> mask;
  int quota = 0;  // 0: none
  std::string_view group;
};

template <class Number>
bool read_number(std::string_view text, Number& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && end == text.data() + text.size();
}

std::optional<Share> read_share(std::string_view word) {
  const size_t first = word.find(':'), second = word.find(':', first + 1);
  if (first == word.npos || second == word.npos) return std::nullopt;
  Share share;
  std::string_view mask = word.substr(0, first);
  while (!mask.empty()) {  // from the last processors to the first
    const size_t digits = std::min<size_t>(mask.size(), 16);
    if (!read_number(mask.substr(mask.size() - digits), share.mask.emplace_back(), 16)) {
      return std::nullopt;
    }
    mask.remove_suffix(digits);
  }
  const std::string_view quota = word.substr(first + 1, second - first - 1);
  if (!quota.empty() && (!read_number(quota, share.quota, 10) || share.quota < 1)) {
    return std::nullopt;
  }
  share.group = word.substr(second + 1);
  return share;
}

}  // namespace

std::optional<int> cgroup_processors(const fs::path& root) {
  const std::optional<Quota> quota = tightest_quota(root);
  return quota ? std::optional(quota->processors) : std::nullopt;
}

int default_threads() {
  int processors = count_processors(affinity_mask());
  if (processors == 0) {
    processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }
  return std::min(processors, cgroup_processors().value_or(processors));
}

std::string processors_word() {
  std::vector<uint64_t> mask = affinity_mask();
  if (mask.empty()) {
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      if (i % 64 == 0) mask.push_back(0);
      mask.back() |= uint64_t{1} << (i % 64);
    }
  }
  std::string word = fmt::format("{:x}", mask.back());
  for (size_t i = mask.size() - 1; i-- > 0;) word += fmt::format("{:016x}", mask[i]);
  const std::optional<Quota> quota = tightest_quota("/");
  if (!quota) return word + "::";
  // Containers see their own group under the same name, but in other namespaces.
  std::error_code none;
  const std::string space = fs::read_symlink("/proc/self/ns/cgroup", none).string();
  return fmt::format("{}:{}:{:016x}", word, quota->processors, hash_name(space + quota->group));
}

int processors_share(std::string_view own, const std::vector<std::string>& others) {
  const std::optional<Share> mine = read_share(own);
  if (!mine) return 1;
  std::vector<Share> shares;
  int same_quota = 1;
  for (const std::string& word : others) {
    const std::optional<Share> share = read_share(word);
    if (!share) continue;
    if (share->quota > 0 && share->group == mine->group) ++same_quota;
    shares.push_back(*share);
  }
  double processors = 0;
  for (size_t i = 0; i < mine->mask.size() * 64; ++i) {
    const auto has = [&](const Share& share) {
      return i / 64 < share.mask.size() && (share.mask[i / 64] >> (i % 64) & 1) != 0;
    };
    if (has(*mine)) processors += 1.0 / static_cast<double>(1 + std::ranges::count_if(shares, has));
  }
  if (mine->quota > 0) {
    processors = std::min(processors, static_cast<double>(mine->quota) / same_quota);
  }
  return std::max(1, static_cast<int>(processors + 1e-6));
}

}  // namespace vig
