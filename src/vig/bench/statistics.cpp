#include "vig/bench/statistics.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace vig {

std::string disturbed_peak(double peak_share) {
  return peak_share <= 1 ? ""
                         : "more than 100 % of peak: other programs disturbed the measurement of "
                           "the peak, measure again";
}

double quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(rank);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (rank - static_cast<double>(low));
}

double mean_of_first_quarter(const std::vector<double>& sorted) {
  if (sorted.empty()) return 0;
  const size_t count = std::max<size_t>(1, sorted.size() / 4);
  return std::accumulate(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(count), 0.0) /
         static_cast<double>(count);
}

RunTimes summarise_times(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  RunTimes times;
  times.runs = static_cast<int>(seconds.size());
  times.median = quantile(seconds, 0.5);
  times.p95 = quantile(seconds, 0.95);
  times.spread = (quantile(seconds, 0.75) - quantile(seconds, 0.25)) / times.median;
  times.best = mean_of_first_quarter(seconds);
  return times;
}

}  // namespace vig
