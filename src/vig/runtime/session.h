// Running a network: weights packed once, a plan per size, a session per user.
//
//   auto model = PackedModel::make(graph, weights);          // once
//   Session session(model, graph, {.batch = 8});             // per input size and thread of use
//   ... fill session.input(i) ...
//   session.run(8);
//   const float* logits = session.output("logits", i);
//
// A PackedModel is immutable and shared by sessions of every size on any number of threads. One
// session is used by one thread at a time; `run` allocates nothing. Results are the same bits for
// every number of threads and whether a picture comes alone or in a batch.
//
// Sessions may share the threads they run on (SessionOptions::team). Their runs then take place one
// after the other, unless they run in the threads of their callers alone.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/base/buffer.h"
#include "vig/base/thread_team.h"
#include "vig/graph/graph.h"
#include "vig/weights/load.h"

namespace vig {

struct Program;

class PackedModel {
 public:
  // `graph` may be built for any size: packing depends on parameters and fusion alone.
  static std::shared_ptr<const PackedModel> make(const Graph& graph,
                                                 std::shared_ptr<const Weights> weights);
  // Of a model of several graphs, which share their parameters (share_parameters). A session is
  // made for one of them.
  static std::shared_ptr<const PackedModel> make(std::span<const Graph> graphs,
                                                 std::shared_ptr<const Weights> weights);
  // For graphs already lowered.
  static std::shared_ptr<const PackedModel> make(std::span<const Graph> graphs,
                                                 std::span<const Program> programs,
                                                 std::shared_ptr<const Weights> weights);
  size_t bytes() const { return buffer_.bytes(); }  // held beside the weight file's mapping

  // By index of the parameter.
  const ParamSpec& param(int index) const { return graphs_[0].params[index]; }
  const float* weight(int index) const { return weights_->data(static_cast<size_t>(index)); }
  const float* packed(int index) const { return packed_[index]; }  // in its kernel's layout

  // Throws unless `graph` is one of this model's, for any size, and `program` finds its weights
  // packed as it needs them.
  void check(const Graph& graph, const Program& program) const;

 private:
  PackedModel() = default;

  std::vector<Graph> graphs_;  // at the sizes they were packed for
  std::shared_ptr<const Weights> weights_;
  std::vector<const float*> packed_;
  std::vector<std::string> layouts_;
  Buffer buffer_;
};

struct SessionOptions {
  int batch = 1;               // most pictures at once
  int threads = 0;             // at most; 0: as many as the team has, or default_threads()
  bool profile = false;        // time every step (adds a clock read per step)
  std::vector<int> keep = {};  // node ids whose values must stay readable, besides the outputs
  // Batches of the first input there is memory for, so that one is filled while another runs.
  int slots = 1;
  // The threads to run on, which other sessions may share; null: the session starts its own.
  std::shared_ptr<ThreadTeam> team = nullptr;
  // Called with the bytes of activations before memory for them is taken.
  std::function<void(size_t bytes)> before_memory = nullptr;
};

// Time spent in one kind of work since the session was made, summed over threads.
struct ProfileEntry {
  std::string kind;
  double seconds = 0;
  MacCount macs;  // of all pictures run
};

class Session {
 public:
  Session(std::shared_ptr<const PackedModel> model, Graph graph, const SessionOptions& options);
  // The first session of a model: packs the weights, too, and lowers the graph once for both. Later
  // ones share `model`.
  Session(Graph graph, std::shared_ptr<const Weights> weights, const SessionOptions& options);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  const Graph& graph() const;
  int batch() const;
  int threads() const;  // fewer than asked for where the system does not start more
  int slots() const;
  const std::shared_ptr<const PackedModel>& model() const;
  const std::shared_ptr<ThreadTeam>& team() const;

  // Where the values of an input go, [height, width, channels], for picture `image`; overwritten by
  // nobody. Without a name it is the graph's first input, of which there is memory for slots().
  // While one slot runs, other threads may write to the others.
  float* input(int image, int slot = 0);
  float* input(std::string_view name, int image);
  // Runs the first `images` pictures of a slot, on all threads or in the caller's alone.
  void run(int images, int slot = 0, bool alone = false);
  // Values of output or kept node, [height, width, channels]; valid until the next run.
  const float* output(std::string_view name, int image) const;
  const float* value(int node, int image) const;

  size_t bytes() const { return arena_bytes() + scratch_bytes(); }
  size_t arena_bytes() const;    // activations and inputs
  size_t scratch_bytes() const;  // of all threads together
  std::vector<ProfileEntry> profile() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vig
