// Running a network on one image in bounded memory, with the bits of a Session (segment_plan.h).
//
//   SegmentedSession session(model, graph, {.max_bytes = 500'000'000, .folder = "/scratch"});
//   session.run([&](int64_t first, int64_t last, float* out) { ... lines first .. last - 1 ... });
//   const std::vector<float> pooled = session.output("pooled");
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vig/base/thread_pool.h"
#include "vig/graph/graph.h"

namespace vig {

class PackedModel;

struct SegmentedOptions {
  uint64_t max_bytes = UINT64_MAX;  // of activations
  // Of a file for values of the whole image, where they exceed the memory; empty: the folder of
  // temporary files.
  std::string folder = {};
  std::vector<std::string> outputs = {};  // to be read after a run; empty: all
  int threads = 0;                        // as in SessionOptions
  std::shared_ptr<ThreadPool> thread_pool = nullptr;
  // Instead of choosing by the memory: about so many rows a segment, and a file or none.
  int64_t rows = 0;
  bool in_file = false;
};

class SegmentedSession {
 public:
  // Throws Error where the network does not run by segments, or needs more memory than allowed.
  SegmentedSession(std::shared_ptr<const PackedModel> model, Graph graph,
                   const SegmentedOptions& options);
  ~SegmentedSession();
  SegmentedSession(SegmentedSession&&) noexcept;
  SegmentedSession& operator=(SegmentedSession&&) noexcept;

  // Writes lines [first, last) of the input, [last - first, width, channels]. Called by one thread
  // at a time, for every line once, from the first to the last. What it throws ends the run.
  using ReadLines = std::function<void(int64_t first, int64_t last, float* out)>;
  void run(const ReadLines& input);

  // Values of an output, [height, width, channels]; of its lines [first, last).
  std::vector<float> output(std::string_view name) const;
  void read_output(std::string_view name, int64_t first, int64_t last, float* out) const;

  const Graph& graph() const;
  size_t bytes() const;          // of memory
  uint64_t file_bytes() const;   // 0: no file
  int64_t segment_rows() const;  // about

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vig
