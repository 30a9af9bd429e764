// The report of the study `throughput`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vig/study/bench_row.h"

namespace vig::study {

// Models of the zoo that the paper's tables do not have, without stages of the roadmap and
// miniatures.
std::vector<std::string> other_models();

// Two labels of the paper's tables whose speeds a claim compares, measured in turns once for all.
using ThroughputPair = std::pair<std::string_view, std::string_view>;
std::vector<ThroughputPair> throughput_pairs();
std::string throughput_pair_key(std::string_view ours,
                                std::string_view other);  // "pairs/ViG-T:Vim-T"

// The network of a key: a label of the paper's tables, or a model of the zoo besides. Its counts
// need no measurement: size, parameters, and multiply-adds in three ways.
BenchRequest throughput_request(const std::string& key);
Row throughput_counts(const BenchRequest& request);

std::string throughput_summary(const Row& row);
Presentation present_throughput(const Results& results);

}  // namespace vig::study
