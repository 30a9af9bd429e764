// Which member of a group a process is, by its environment.
#include "vig/train/processes/group_member.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "support/errors.h"

namespace vig::test {
namespace {

using train::GroupMember;
using Variables = std::map<std::string, std::string>;

std::optional<GroupMember> member_of(const Variables& variables) {
  return train::group_member([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Variables with(Variables variables, const Variables& changes) {
  for (const auto& [name, value] : changes) variables[name] = value;
  return variables;
}

const Variables kMaster = {{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};
const Variables kUsual = with(kMaster, {{"RANK", "3"}, {"WORLD_SIZE", "8"}});

TEST(GroupMember, AloneWithoutVariables) {
  EXPECT_FALSE(member_of({}).has_value());
  EXPECT_FALSE(member_of({{"RANK", ""}, {"MASTER_ADDR", ""}}).has_value());
  // A program that runs once in a job of many tasks.
  EXPECT_FALSE(member_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}}).has_value());
}

TEST(GroupMember, FromTheUsualVariables) {
  const GroupMember member = member_of(kUsual).value();
  EXPECT_EQ(member.rank, 3);
  EXPECT_EQ(member.size, 8);
  EXPECT_EQ(member.host, "node7");
  EXPECT_EQ(member.port, 29500);
  EXPECT_EQ(member.local_rank, 3) << "so that those of one machine take different cards";
  EXPECT_EQ(member.local_size, 1);
  EXPECT_FALSE(member.hosted);
  EXPECT_TRUE(member.file.empty());
}

TEST(GroupMember, FromTorchrun) {
  const GroupMember member = member_of(with(kUsual, {{"LOCAL_RANK", "1"},
                                                     {"LOCAL_WORLD_SIZE", "2"},
                                                     {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                                     {"TORCHELASTIC_RESTART_COUNT", "4"}}))
                                 .value();
  EXPECT_EQ(member.local_rank, 1);
  EXPECT_EQ(member.local_size, 2);
  EXPECT_TRUE(member.hosted);
  EXPECT_EQ(member.attempt, 4);
  EXPECT_FALSE(member_of(with(kUsual, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})).value().hosted);
}

TEST(GroupMember, FromMpiAndSlurm) {
  for (const auto& [rank, size] : {std::pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"},
                                   {"SLURM_PROCID", "SLURM_NTASKS"}}) {
    const GroupMember member = member_of(with(kMaster, {{rank, "5"}, {size, "6"}})).value();
    EXPECT_EQ(member.rank, 5) << rank;
    EXPECT_EQ(member.size, 6) << rank;
    // The usual ones go first.
    EXPECT_EQ(member_of(with(kUsual, {{rank, "5"}, {size, "6"}})).value().rank, 3);
  }
  const GroupMember member = member_of(with(kMaster, {{"SLURM_PROCID", "5"},
                                                      {"SLURM_NTASKS", "6"},
                                                      {"SLURM_LOCALID", "1"},
                                                      {"SLURM_NTASKS_PER_NODE", "2"}}))
                                 .value();
  EXPECT_EQ(member.local_rank, 1);
  EXPECT_EQ(member.local_size, 2);
  for (const auto& [rank, size, local_rank, local_size] :
       {std::array{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
         "OMPI_COMM_WORLD_LOCAL_SIZE"},
        {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
        {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"}}) {
    const GroupMember own =
        member_of(with(kMaster, {{rank, "5"}, {size, "6"}, {local_rank, "2"}, {local_size, "3"}}))
            .value();
    EXPECT_EQ(own.rank, 5) << rank;
    EXPECT_EQ(own.size, 6) << rank;
    EXPECT_EQ(own.local_rank, 2) << rank;
    EXPECT_EQ(own.local_size, 3) << rank;
  }
  // A step of fewer tasks than the job has on a machine.
  EXPECT_EQ(member_of(with(kMaster, {{"SLURM_PROCID", "1"},
                                     {"SLURM_NTASKS", "2"},
                                     {"SLURM_NTASKS_PER_NODE", "8"}}))
                .value()
                .local_size,
            2);
}

const Variables kStep = {{"SLURM_PROCID", "4"},
                         {"SLURM_NTASKS", "9"},
                         {"SLURM_STEP_NUM_TASKS", "7"},
                         {"SLURM_LOCALID", "0"},
                         {"SLURM_NODEID", "2"},
                         {"SLURM_JOB_ID", "4711"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_STEP_NODELIST", "node[02-04],gpu3"},
                         {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"}};

TEST(GroupMember, AStepOfSlurmNeedsNothingElse) {
  const GroupMember member = member_of(kStep).value();
  EXPECT_EQ(member.rank, 4);
  EXPECT_EQ(member.size, 7) << "of the step, not of the job";
  EXPECT_EQ(member.local_size, 2);
  EXPECT_EQ(member.host, "node02");
  EXPECT_GE(member.port, 20000);
  EXPECT_LT(member.port, 32000) << "below the ports that systems give away";
  EXPECT_EQ(member_of(with(kStep, {{"SLURM_NODEID", "3"}, {"SLURM_PROCID", "6"}}))->local_size, 1);
  EXPECT_EQ(member_of(with(kStep, {{"SLURM_PROCID", "0"}}))->port, member.port);
  EXPECT_NE(member_of(with(kStep, {{"SLURM_JOB_ID", "4712"}}))->port, member.port);
  EXPECT_NE(member_of(with(kStep, {{"SLURM_STEP_ID", "1"}}))->port, member.port);
  EXPECT_EQ(member_of(with(kStep, {{"MASTER_ADDR", "other"}}))->host, "other");
  EXPECT_EQ(member_of(with(kStep, {{"MASTER_PORT", "7"}}))->port, 7);
  const Variables here = {{"SLURM_STEP_TASKS_PER_NODE", "7"}, {"SLURM_NODEID", "0"}};
  EXPECT_EQ(member_of(with(kStep, here))->host, "127.0.0.1") << "all of them on this machine";
  EXPECT_FALSE(member_of(with(kStep, {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}})));
  // The one process that a batch script starts itself.
  Variables script = kStep;
  script.erase("SLURM_STEP_NUM_TASKS");
  EXPECT_FALSE(member_of(script).has_value());
}

TEST(GroupMember, MpiOnOneMachineNeedsNothingElse) {
  const Variables open_mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                              {"OMPI_COMM_WORLD_SIZE", "4"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                              {"PMIX_NAMESPACE", "3214934017"}};
  const GroupMember member = member_of(open_mpi).value();
  EXPECT_EQ(member.host, "127.0.0.1");
  EXPECT_NE(member.port, member_of(with(open_mpi, {{"PMIX_NAMESPACE", "7"}}))->port);
  const GroupMember hydra = member_of({{"PMI_RANK", "0"},
                                       {"PMI_SIZE", "2"},
                                       {"MPI_LOCALRANKID", "0"},
                                       {"MPI_LOCALNRANKS", "2"}})
                                .value();
  EXPECT_EQ(hydra.host, "127.0.0.1");
  EXPECT_EQ(hydra.port, 29500);

  // On several hosts only Slurm knows where the first process is.
  const Variables apart = with(open_mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  expect_error(ErrorCode::kUsage, {"Open MPI does not say", "set MASTER_ADDR"},
               [&] { member_of(apart); });
  expect_error(ErrorCode::kUsage, {"PMI does not say", "set MASTER_ADDR"}, [] {
    member_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}});
  });
  const Variables in_slurm = {{"SLURM_JOB_ID", "9"}, {"SLURM_JOB_NODELIST", "n[3,5]"}};
  EXPECT_EQ(member_of(with(apart, in_slurm))->host, "n3");
}

TEST(GroupMember, ListsOfSlurm) {
  using train::first_host;
  for (const auto& [list, first] : std::vector<std::pair<std::string, std::string>>{
           {"localhost", "localhost"},
           {"a,b", "a"},
           {"node[01-04,7],gpu3", "node01"},
           {"node[7]", "node7"},
           {"rack[2-3]-node[011-013],x", "rack2-node011"},
           {"n[1-2].cluster.org", "n1.cluster.org"},
           {"", ""},
           {"n[1", ""},
           {"n[]", ""},
           {"n[a]", ""},
           {"$(x)", ""},
           {"n[1-2]m[", ""}}) {
    EXPECT_EQ(first_host(list), first) << list;
  }
  using train::tasks_of_host;
  EXPECT_EQ(tasks_of_host("2(x3),1", 0), 2);
  EXPECT_EQ(tasks_of_host("2(x3),1", 2), 2);
  EXPECT_EQ(tasks_of_host("2(x3),1", 3), 1);
  EXPECT_EQ(tasks_of_host("2(x3),1", 4), 0);
  for (const char* list : {"", "x", "2(x", "2(x3", "2(x0)", "-1", "0", "2;3", "99999999999"}) {
    EXPECT_EQ(tasks_of_host(list, 1), 0) << list;
  }
  for (const auto& [name, value] :
       {std::pair{"SLURM_STEP_NODELIST", "n["}, {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}}) {
    expect_error(ErrorCode::kUsage, {name, value}, [&, n = name, v = value] {
      member_of(with(kStep, {{n, v}}));
    });
  }
}

TEST(GroupMember, WhatIsMissingIsNamed) {
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    Variables variables = kUsual;
    variables.erase(name);
    expect_error(ErrorCode::kUsage, {std::string(name) + " is not set", "all of"},
                 [&] { member_of(variables); });
    expect_error(ErrorCode::kUsage, {" is not set"}, [&] { member_of({{name, "1"}}); });
  }
  expect_error(ErrorCode::kUsage, {"SLURM_NTASKS is not set"}, [&] {
    member_of(with(kMaster, {{"SLURM_PROCID", "0"}}));
  });
}

TEST(GroupMember, WhatMakesNoSenseIsNamed) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> bad = {
      {"RANK", {"8", "-1", "x", "1x", " 1", "99999999999999"}},
      {"WORLD_SIZE", {"0", "-8", "65537", "8.0"}},
      {"MASTER_PORT", {"0", "65536", "http", "-1"}},
      {"LOCAL_RANK", {"8", "-1"}},
      {"LOCAL_WORLD_SIZE", {"0", "9"}},
      {"TORCHELASTIC_RESTART_COUNT", {"-1", "many"}},
  };
  for (const auto& [name, values] : bad) {
    for (const std::string& value : values) {
      expect_error(ErrorCode::kUsage, {name + " is '" + value + "'", "whole number"}, [&] {
        member_of(with(kUsual, {{name, value}}));
      });
    }
  }
}

}  // namespace
}  // namespace vig::test
