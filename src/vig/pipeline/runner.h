// What every image task shares: one packed model, sessions by input size, and one path that takes
// images from wherever they come through the network.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "vig/base/memory.h"
#include "vig/data/sample_source.h"
#include "vig/pipeline/model_source.h"
#include "vig/runtime/session_pool.h"

namespace vig {

struct RunOptions {
  int threads = 0;  // of the network and of the decoders; 0: default_threads()
  int batch = 1;    // most images that run together; 0: default_batch
  int size = 0;     // side of the network's input; 0: the one that belongs to the weights
  // Which numbers dense layers are computed with.
  Precision precision = {};
  // How many images there will be, where that is known: memory for more is not taken.
  size_t images = std::numeric_limits<size_t>::max();
  // What sessions of several sizes may take together; see SessionPool.
  uint64_t session_bytes = physical_memory() / 4;
  // Called once if the system starts fewer threads than asked for. Answers are the same bits.
  std::function<void(int started, int asked)> on_fewer_threads = {};
  // Threads that other networks use as well; null: this network's own, as many as `threads` says.
  std::shared_ptr<ThreadTeam> team = nullptr;
};

// For any number of threads: they share the packed weights and the network's threads, or run in
// their own where they fill the machine (ThreadTeam::Share).
class Runner {
 public:
  // Binds and packs the weights and makes the first session, so that everything that can be wrong
  // with a model is thrown here. Where the file decides on the size, so is an Error if an image
  // would take far more work than the file suggests (check_own_work).
  Runner(const ModelSource& source, const RunOptions& options);

  // The same network with the values of these nodes readable, besides the outputs: shares weights
  // and threads.
  Runner keeping(std::vector<int> nodes) const;

  const std::string& name() const { return name_; }
  // At the size that belongs to the weights. Nodes have the same numbers at any size.
  const Graph& graph() const { return *graph_; }
  const ModelSpec& spec() const { return spec_; }
  const std::vector<std::string>& classes() const { return classes_; }
  // How images are preprocessed for an input of `size`; 0 stands for RunOptions::size.
  Recipe recipe(int size = 0) const;

  // With the weights and threads that sessions share.
  const SessionPool& sessions() const { return *sessions_; }

  // One pass of images through the network. All functions are called by the caller's thread.
  struct Pass {
    int size = 0;                    // side of the input; 0: RunOptions::size
    std::vector<size_t> order = {};  // of the images; empty: as they stand
    // An image that went through, and where its values stand until the function returns.
    std::function<void(size_t sample, const Session& session, int image)> on_values = {};
    // An image that cannot be read.
    std::function<void(size_t sample, const std::string& sentence)> on_problem = {};
    // After each batch, with the number of its images; false ends the pass.
    std::function<bool(size_t images)> on_batch = {};
  };
  // Images are decoded straight into a session's input, by several threads ahead of the network
  // unless other callers keep those busy.
  // Calls come in the order of the images, whatever the number of threads. False when on_batch
  // ended the pass before the last batch.
  bool run(const SampleSource& images, const Pass& pass) const;

 private:
  Runner() = default;
  int batch(int size) const;
  SessionOptions session_options(int size) const;
  void make_pool(Session first, std::vector<int> keep = {});

  std::string name_;
  std::shared_ptr<const Graph> graph_;
  ModelSpec spec_;
  std::vector<std::string> classes_;
  RunOptions options_;
  std::unique_ptr<SessionPool> sessions_;
};

// As many images together as fill the machine without needing much more memory than one large
// one would: 8 at 224, 2 at 448, 1 from 640 on.
int default_batch(int size);

}  // namespace vig
