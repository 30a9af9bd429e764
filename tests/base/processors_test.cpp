// The default number of threads: affinity, and quotas of control groups read from made files.
#include "vig/base/processors.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <string>

#include "support/files.h"

namespace vig {
namespace {

using test::TempDir;
using test::write_file;

constexpr const char* kV2Mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr const char* kV1Mount =
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n";

// A made system: what the process says of its groups, and the quota files of these.
class System {
 public:
  System(const std::string& cgroup, const std::string& mountinfo) {
    write_file(root_ / "proc/self/cgroup", cgroup);
    write_file(root_ / "proc/self/mountinfo",
               "22 27 0:21 / /proc rw - proc proc rw\n\nno line of a mount\n" + mountinfo);
  }
  System& with(const std::string& file, const std::string& text) {
    write_file(root_ / file, text);
    return *this;
  }
  // 0: no limit.
  int processors() const { return cgroup_processors(root_.path()).value_or(0); }

 private:
  TempDir root_;
};

int v2_processors(const std::string& quota) {
  return System("0::/job\n", kV2Mount).with("sys/fs/cgroup/job/cpu.max", quota).processors();
}

int v1_processors(const std::string& quota, const std::string& period) {
  return System("4:cpu,cpuacct:/job\n", kV1Mount)
      .with("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", quota)
      .with("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", period)
      .processors();
}

TEST(CgroupProcessors, RoundQuotasOfVersion2Up) {
  EXPECT_EQ(v2_processors("50000 100000\n"), 1);
  EXPECT_EQ(v2_processors("100000 100000\n"), 1);
  EXPECT_EQ(v2_processors("100001 100000\n"), 2);
  EXPECT_EQ(v2_processors("350000 100000\n"), 4);
  EXPECT_EQ(v2_processors("0 100000\n"), 1);
  EXPECT_EQ(v2_processors("max 100000\n"), 0);
}

TEST(CgroupProcessors, RoundQuotasOfVersion1Up) {
  EXPECT_EQ(v1_processors("50000\n", "100000\n"), 1);
  EXPECT_EQ(v1_processors("250000\n", "100000\n"), 3);
  EXPECT_EQ(v1_processors("-1\n", "100000\n"), 0);
}

TEST(CgroupProcessors, SurviveMalformedQuotas) {
  for (const char* text : {"", "\n", "max", "50000", "50000 0", "50000 -1", "-50000 100000",
                           "5e4 100000", "0x10 100000", "50000 100000x", "fifty 100000",
                           "99999999999999999999 100000", "50000 99999999999999999999"}) {
    EXPECT_EQ(v2_processors(text), 0) << text;
  }
  for (const char* text : {"", "\n", "many", "0", "-1", "99999999999999999999"}) {
    EXPECT_EQ(v1_processors("50000\n", text), 0) << text;
  }
  EXPECT_EQ(v2_processors("9223372036854775807 1\n"), std::numeric_limits<int>::max());
  EXPECT_EQ(v2_processors("9223372036854775807 9223372036854775806\n"), 2);
  EXPECT_EQ(v2_processors("1 9223372036854775807\n"), 1);
}

TEST(CgroupProcessors, TakeTheTightestUpToTheRoot) {
  const auto nested = [](const char* outer, const char* middle, const char* inner) {
    return System("0::/outer/middle/inner\n", kV2Mount)
        .with("sys/fs/cgroup/outer/cpu.max", outer)
        .with("sys/fs/cgroup/outer/middle/cpu.max", middle)
        .with("sys/fs/cgroup/outer/middle/inner/cpu.max", inner)
        .processors();
  };
  EXPECT_EQ(nested("200000 100000", "max 100000", "800000 100000"), 2);
  EXPECT_EQ(nested("max 100000", "300000 100000", "max 100000"), 3);
  EXPECT_EQ(nested("800000 100000", "400000 100000", "100000 100000"), 1);
  EXPECT_EQ(nested("max 100000", "damaged", "max 100000"), 0);
  // The mount's own group limits, too; sibling groups do not.
  EXPECT_EQ(System("0::/a/b\n", kV2Mount)
                .with("sys/fs/cgroup/cpu.max", "500000 100000")
                .with("sys/fs/cgroup/a/other/cpu.max", "100000 100000")
                .with("sys/fs/cgroup/other/cpu.max", "100000 100000")
                .with("sys/fs/cpu.max", "100000 100000")
                .processors(),
            5);
}

// Without a namespace of its own, a container sees its group's full name and a mount that begins
// there.
TEST(CgroupProcessors, FollowMountsThatBeginBelowTheRoot) {
  const auto contained = [](const char* group) {
    return System(std::string("7:cpu:") + group + "\n",
                  "33 31 0:30 /docker/a\\040b /cpu\\040limits rw - cgroup cgroup rw,cpu\n")
        .with("cpu limits/cpu.cfs_quota_us", "300000")
        .with("cpu limits/cpu.cfs_period_us", "100000")
        .with("cpu limits/inner/cpu.cfs_quota_us", "200000")
        .with("cpu limits/inner/cpu.cfs_period_us", "100000")
        .processors();
  };
  EXPECT_EQ(contained("/docker/a b"), 3);
  EXPECT_EQ(contained("/docker/a b/inner"), 2);
  EXPECT_EQ(contained("/docker/a b/absent"), 3);
  EXPECT_EQ(contained("/docker/a bc"), 0);
  EXPECT_EQ(contained("/docker"), 0);
}

TEST(CgroupProcessors, ReadBothVersionsAtOnce) {
  System both("1:name=systemd:/job\n4:cpu,cpuacct:/job\n3:cpuset:/job\n0::/job\n",
              std::string(kV1Mount) + kV2Mount +
                  "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
  both.with("sys/fs/cgroup/job/cpu.max", "400000 100000")
      .with("sys/fs/cgroup/cpuset/job/cpu.cfs_quota_us", "100000")
      .with("sys/fs/cgroup/cpuset/job/cpu.cfs_period_us", "100000");
  EXPECT_EQ(both.processors(), 4);
  both.with("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000")
      .with("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  EXPECT_EQ(both.processors(), 2);
}

TEST(CgroupProcessors, SurviveMissingAndMalformedFiles) {
  EXPECT_EQ(cgroup_processors(TempDir().path()), std::nullopt);
  for (const char* cgroup : {"", "\n", "0:", "0::", "0::job\n", "no colons\n", "0::/../job\n",
                             "0::/..\n", "0:://job/..\n", "2:memory:/job\n"}) {
    EXPECT_EQ(System(cgroup, kV2Mount)
                  .with("sys/fs/cgroup/job/cpu.max", "100000 100000")
                  .with("sys/fs/job/cpu.max", "100000 100000")
                  .processors(),
              0)
        << cgroup;
  }
  EXPECT_EQ(System("0:://job\n", kV2Mount)
                .with("sys/fs/cgroup/job/cpu.max", "100000 100000")
                .processors(),
            1);
  for (const char* mount : {"", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2\n", "- cgroup2 a b\n",
                            "30 23 0:26 / /sys/fs/cgroup rw cgroup2 cgroup2 rw\n",
                            "30 23 0:26 / /sys/fs/cgroup rw - tmpfs cgroup2 rw,cpu\n"}) {
    EXPECT_EQ(
        System("0::/job\n", mount).with("sys/fs/cgroup/job/cpu.max", "100000 100000").processors(),
        0)
        << mount;
  }
}

TEST(DefaultThreads, FollowTheAffinityMask) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(all), &all), 0);
  EXPECT_GE(default_threads(), 1);
  EXPECT_LE(default_threads(), CPU_COUNT(&all));
  const pid_t child = ::fork();
  if (child == 0) {
    int first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ::_exit(::sched_setaffinity(0, sizeof(one), &one) == 0 && default_threads() == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// As launchers bind processes, or do not.
TEST(ProcessorsShare, CountsWhatProcessesShare) {
  EXPECT_EQ(processors_share("ff::", {}), 8);
  EXPECT_EQ(processors_share("ff::", {"ff::"}), 4);
  EXPECT_EQ(processors_share("ff::", {"ff::", "ff::"}), 2) << "rounded down";
  EXPECT_EQ(processors_share("3::", {"ff::", "ff::", "ff::"}), 1) << "but at least one";
  EXPECT_EQ(processors_share("f::", {"f0::"}), 4) << "each has its own already";
  EXPECT_EQ(processors_share("f::", {"f::", "f0::", "f0::"}), 2) << "two and two";
  EXPECT_EQ(processors_share("f0000000000000000::", {"f::"}), 4) << "beyond the first 64";
  EXPECT_EQ(processors_share("f0000000000000000::", {"10000000000000000::"}), 3);
}

TEST(ProcessorsShare, CountsQuotasOnceForEachGroup) {
  EXPECT_EQ(processors_share("ffff:4:a", {}), 4);
  EXPECT_EQ(processors_share("ffff:4:a", {"ffff:4:a"}), 2);
  EXPECT_EQ(processors_share("ffff:4:a", {"ffff:4:b"}), 4) << "two containers";
  EXPECT_EQ(processors_share("3:4:a", {"c:4:a"}), 2);
}

TEST(ProcessorsShare, WordsOfOthersMayBeAnything) {
  for (const char* word : {"", "-", "f", "f:", "x::", "f:0:a", "f:x:a", "f:-1:a"}) {
    EXPECT_EQ(processors_share("ff::", {word}), 8) << word;
    EXPECT_EQ(processors_share(word, {"ff::"}), 1) << word;
  }
}

TEST(ProcessorsShare, OfThisProcess) {
  EXPECT_EQ(processors_share(processors_word(), {}), default_threads());
}

}  // namespace
}  // namespace vig
