// One timing of one network by `vig bench` in a process of its own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/models/family.h"
#include "vig/study/study.h"

namespace vig::study {

struct BenchRequest {
  std::string model;                // a name of the zoo
  std::vector<std::string> fields;  // "attention=materialised", as --set takes them
  int size = 0;                     // side of the image; 0: the model's own
  int batch = 1;
  double seconds = 2;  // where the options name none
  double bytes = 0;    // that it needs, about; more than the machine has leaves the row out
};

// The columns that measure_bench fills, in this order.
const std::vector<Column>& bench_columns();

// Starts `vig bench` and puts its figures into the row: dense and scan multiply-adds, median_ms,
// best_ms (of the fastest quarter of the runs), spread, images_per_second (at best_ms), gflops,
// peak_share, activation_bytes (arena and scratch) and process_bytes. Where memory is not enough,
// only the multiply-adds, and a note that says so.
void measure_bench(const BenchRequest& request, const StudyContext& context, Row& row);

// Of two networks that take turns. Timings that are compared are measured so and nowhere else.
const std::vector<Column>& pair_columns();
// Three rounds of one `vig bench` of each (4 seconds each where neither the options nor `seconds`
// says otherwise): `ratio` is the mean over the rounds of how many times as fast `first` is, with
// `ratio_low` and `ratio_high`, its least and most of the rounds; `memory_ratio` is how many times
// as much memory the other's process takes.
void measure_pair(BenchRequest first, BenchRequest other, const StudyContext& context, Row& row);
// How many times as fast the first one of a pair's row is; of no row nullopt.
std::optional<Interval> pair_ratio(const Row* row);

// A result of `vig bench`, by the columns of its CSV file; empty where an engine reports nothing.
using Figures = std::map<std::string, std::string>;
// Starts `vig bench` with more options; gives all results. Files of the row are removed.
std::vector<Figures> run_bench(const BenchRequest& request, std::vector<std::string> options,
                               const StudyContext& context);
// nullopt where the cell is empty; throws where there is no such column.
std::optional<double> figure(const Figures& figures, const std::string& column);
// Whether the request needs more memory than the machine has; then the row has a note.
bool lacks_memory(const BenchRequest& request, Row& row);

// The network that is measured, and its multiply-adds; neither starts a process.
ModelSpec spec_of(const BenchRequest& request);
MacCount multiply_adds(const BenchRequest& request);

}  // namespace vig::study
