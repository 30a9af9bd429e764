// Benchmark results as a table, CSV and JSON.
#pragma once

#include <string>
#include <vector>

#include "vig/bench/bench.h"

namespace vig::cli {

class BenchReport {
 public:
  BenchReport();

  // The machine and the titles of the columns; then a row per result, each as soon as it is there.
  std::string heading() const;
  std::string row(const BenchResult& result) const;  // with its profile below, if there is one

  std::string csv(const std::vector<BenchResult>& results) const;
  std::string json(const std::vector<BenchResult>& results) const;

 private:
  std::string cpu_, simd_;
};

}  // namespace vig::cli
