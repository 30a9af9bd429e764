// The report of the study `dense`.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "vig/study/study.h"

namespace vig::study {

// Networks of dense prediction in the zoo, without miniatures.
std::vector<std::string> dense_models();
// "vig_t" of "vig_t_upernet".
std::string backbone_of(const std::string& model);
// Those of the paper's tables, "vit_t_window", and ViG's among them.
std::set<std::string> paper_backbones();
std::set<std::string> own_backbones();

// The two rows of a network: what can be counted, and its time.
std::string counts_key(const std::string& model);
std::string time_key(const std::string& model);

std::string dense_summary(const Row& row);
Presentation present_dense(const Results& results);

}  // namespace vig::study
