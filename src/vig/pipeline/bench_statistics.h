// Statistics of repeated measurements on a machine that is shared with other programs.
#pragma once

#include <string>
#include <vector>

namespace vig {

// No network is faster than the loop that measures the peak: more than all of it means that other
// programs slowed the loop down. A sentence that says so; empty for a share up to 1.
std::string disturbed_peak(double peak_share);

// Linear interpolation between the ranks of sorted values; `share` from 0 to 1.
double quantile(const std::vector<double>& sorted, double share);
// Mean of the smallest quarter (at least one) of sorted values.
double mean_of_first_quarter(const std::vector<double>& sorted);

}  // namespace vig
