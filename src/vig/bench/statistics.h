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

// Of repeated runs of one piece of work, in seconds.
struct RunTimes {
  int runs = 0;
  double median = 0;
  double p95 = 0;
  double spread = 0;  // between the quartiles, as a share of the median
  double best = 0;    // mean of the fastest quarter
};
RunTimes summarise_times(std::vector<double> seconds);

}  // namespace vig
