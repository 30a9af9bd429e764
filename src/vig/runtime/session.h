// Running a network: weights packed once, a plan per size, a session per user.
//
//   Session session(graph, weights, {.batch = 8});           // packs the weights
//   Session other(session.model(), larger, {.batch = 8});    // shares them
//   Session third(session.plan());                           // shares what it does, too
//   ... fill session.input(i) ...
//   session.run(8);
//   const float* logits = session.output("logits", i);
//
// Packed weights are immutable and shared by sessions of every size; so is what a session does, by
// sessions of one size. One session is used by one thread at a time; `run` allocates nothing.
// Results are the same bits for every number of threads and whether an image comes alone or in a
// batch.
//
// Sessions may share the threads they run on (SessionOptions::thread_pool). Their runs then take
// place one after the other, unless they run in the threads of their callers alone.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/base/buffer.h"
#include "vig/base/thread_pool.h"
#include "vig/graph/graph.h"
#include "vig/runtime/precision.h"
#include "vig/weights/load.h"

namespace vig {

class PackedModel;   // runtime/packed_model.h
struct SessionPlan;  // what sessions of one graph, batch and number of threads share

struct SessionOptions {
  int batch = 1;               // most images at once
  int threads = 0;             // at most; 0: as many as the pool has, or default_threads()
  bool profile = false;        // time every call (adds a clock read per call)
  std::vector<int> keep = {};  // node ids whose values must stay readable, besides the outputs
  // Batches of the first input there is memory for, so that one is filled while another runs.
  int slots = 1;
  // Of the session that packs the weights; others take the model's.
  Precision precision = {};
  // The threads to run on, which other sessions may share; null: the session starts its own.
  std::shared_ptr<ThreadPool> thread_pool = nullptr;
  // Called with the bytes of activations before memory for them is taken.
  std::function<void(size_t bytes)> before_memory = nullptr;
};

// Time spent in one kind of work since the session was made, summed over threads.
struct ProfileEntry {
  std::string kind;
  double seconds = 0;
  MacCount macs;  // of all images run
};

// What a session for one image would take, tables that it makes at most included.
size_t planned_bytes(const PackedModel& model, const Graph& graph, int threads);

class Session {
 public:
  Session(std::shared_ptr<const PackedModel> model, Graph graph, const SessionOptions& options);
  // The first session of a model: packs the weights, too, and lowers the graph once for both. Later
  // ones share `model`.
  Session(Graph graph, std::shared_ptr<const Weights> weights, const SessionOptions& options);
  // A further session of a plan: lowers and plans nothing, and takes memory for its activations
  // alone. `before_memory` as in SessionOptions.
  explicit Session(std::shared_ptr<const SessionPlan> plan,
                   std::function<void(size_t bytes)> before_memory = nullptr);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  const Graph& graph() const;
  int batch() const;
  int threads() const;  // fewer than asked for where the system does not start more
  int slots() const;
  const std::shared_ptr<const PackedModel>& model() const;
  const std::shared_ptr<ThreadPool>& thread_pool() const;
  const std::shared_ptr<const SessionPlan>& plan() const;

  // Where the values of an input go, [height, width, channels], for image `image`; overwritten by
  // nobody. Without a name it is the graph's first input, of which there is memory for slots().
  // While one slot runs, other threads may write to the others.
  float* input(int image, int slot = 0);
  float* input(std::string_view name, int image);
  // Runs the first `images` images of a slot, on all threads or in the caller's alone.
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
