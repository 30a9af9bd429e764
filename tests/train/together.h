// Several processes that train together. Threads of this program, each with a group of its own,
// stand for processes.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "train/fixtures.h"
#include "vig/train/processes/process_group.h"

namespace vig::test {

constexpr double kPlenty = 100;  // seconds; what should not happen may take that long

train::GroupMember member_in_file(int rank, int size, const std::filesystem::path& file);

// What each of several processes threw; empty: nothing.
std::vector<std::string> run_all(int count, const std::function<void(int rank)>& work);
std::vector<std::string> run_group(int count, const std::function<void(train::Group&)>& work);

// The rows that the first process reports.
std::vector<train::MetricsRow> train_together(int count, const train::TrainOptions& options,
                                              const std::string& data, const std::string& out);

// The largest difference between two runs' checkpoints, relative to the largest number, over
// weights ("values"), their "average" and the optimiser's state ("mean" and "square" of gradients),
// or those named.
double difference(const std::filesystem::path& actual, const std::filesystem::path& expected,
                  const std::set<std::string>& tensors = {"values", "average", "mean", "square"});

}  // namespace vig::test
