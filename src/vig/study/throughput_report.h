// The report of the study `throughput`.
#pragma once

#include <string>
#include <vector>

#include "vig/study/study.h"

namespace vig::study {

// Models of the zoo that the paper's tables do not have, without stages of the roadmap and
// miniatures.
std::vector<std::string> other_models();

std::string throughput_summary(const Row& row);
Presentation present_throughput(const Results& results);

}  // namespace vig::study
