// The server's counters, in the text format of Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vig {

// For any number of threads.
class ServerMetrics {
 public:
  void request(std::string_view route, int status, double seconds);
  void error(std::string_view kind);
  void batch(size_t images);

  // What is asked for at the moment of writing.
  struct Gauges {
    size_t queue = 0;
    size_t connections = 0;
    uint64_t memory_bytes = 0;
  };
  std::string text(const Gauges& gauges) const;

 private:
  // Counts of values up to each bound, and of all.
  struct Histogram {
    std::vector<uint64_t> counts;
    uint64_t all = 0;
    double sum = 0;
    void add(double value, std::span<const double> bounds);
  };

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t, std::less<>> requests_;  // by route and status
  std::map<std::string, uint64_t, std::less<>> errors_;                    // by kind
  std::map<std::string, Histogram, std::less<>> latencies_;                // by route
  Histogram batches_;
};

}  // namespace vig
