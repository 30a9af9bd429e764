// What every image task shares: one packed model, sessions by input size, and one path that takes
// images from wherever they come through the network.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vig/data/image_files.h"
#include "vig/image/preprocess.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/pipeline.h"
#include "vig/runtime/session_pool.h"

namespace vig {

// A whole image for a network of segmentation or detection.
struct RunImage {
  size_t index = 0;  // in the source
  Sample sample;
  Placement placement;
  // Writes the network's input, [placement.input_height, placement.input_width, 3].
  std::function<void(float* out)> write;
  std::vector<ImageWarning> warnings = {};
};

// For any number of threads: they share the packed weights and the network's threads, or run in
// their own where they fill the machine (ThreadPool::Share).
class Runner {
 public:
  // Binds and packs the weights and makes the first session, so that everything that can be wrong
  // with a model is thrown here: a usage error where it is for another task. Where the file decides
  // on the size, so is an Error if an image would take far more work than the file suggests
  // (check_own_work).
  Runner(const ModelSource& source, const RunOptions& options,
         ModelTask task = ModelTask::kClassify);

  // The same network with the values of these nodes readable, besides the outputs: shares weights
  // and threads.
  Runner keeping(std::vector<int> nodes) const;

  const std::string& name() const { return name_; }
  // The one that sees the image. Nodes have the same indices at any size.
  const Graph& graph() const { return *graph_; }
  const ModelSpec& spec() const { return spec_; }
  const std::vector<std::string>& classes() const { return classes_; }
  const Confidence& confidence() const { return confidence_; }
  // How images are preprocessed for an input of `size`; 0 stands for RunOptions::size.
  Recipe recipe(int size = 0) const;

  // Of the graph that sees the image, with the weights and threads that sessions share.
  SessionPool& sessions() const { return *sessions_; }
  const std::shared_ptr<ThreadPool>& thread_pool() const { return sessions_->shared_thread_pool(); }
  // The other graph with this input, for `batch` at once. Null where there is none.
  std::unique_ptr<SessionPool> further_sessions(const std::string& input, int batch) const;

  // How many windows of this side run together.
  int window_batch(int side) const;
  // Throws when this many windows of `side` pixels, which the file asks for, take far more work for
  // an image than the file's bytes suggest.
  void check_windows(const Placement& placement, int side, int64_t windows) const;

  // One pass of images. All functions are called by the caller's thread; what they throw ends it.
  struct Pass {
    int size = 0;                    // of the input; 0: RunOptions::size
    std::vector<size_t> order = {};  // of the images; empty: as they stand
    // Where the recipe crops, so that all inputs have one size: an image that went through in a
    // batch, and where its values stand until the function returns.
    std::function<void(size_t sample, const Session& session, int image)> on_values = {};
    // Where it does not: an image to be written to the input of a session of its size and run.
    std::function<void(RunImage& image)> on_image = {};
    // An image that cannot be read.
    std::function<void(size_t sample, const std::string& sentence)> on_problem = {};
    // After each batch, with the number of its images; false ends the pass.
    std::function<bool(size_t images)> on_batch = {};
  };
  // Cropped images are decoded straight into a session's input, by several threads ahead of the
  // network unless other callers keep those busy; of whole ones the next is decoded meanwhile.
  // Calls come in the order of the images for any number of threads. False when on_batch
  // ended the pass before the last batch.
  bool run(const SampleSource& images, const Pass& pass) const;

 private:
  Runner() = default;
  bool crops() const { return spec_.recipe.framing == Framing::kCrop; }
  int batch(int size) const;
  SessionOptions session_options(int size) const;
  void make_pool(Session first, std::vector<int> keep = {});
  bool own_size() const { return options_.size == 0 && file_bytes_ > 0; }  // the file decides
  // The placement, the writer and the warnings of an image that was loaded.
  void prepare(RunImage& image, const Recipe& recipe) const;
  void check_scale(RunImage& image, const Recipe& recipe) const;

  std::string name_;
  std::shared_ptr<const Graph> graph_;
  std::vector<Graph> further_graphs_;  // of detectors
  ModelSpec spec_;
  std::vector<std::string> classes_;
  Confidence confidence_;
  RunOptions options_;
  size_t file_bytes_ = 0;                 // 0: there is no file
  std::optional<double> smallest_scale_;  // of images in training, where the file says it
  std::unique_ptr<SessionPool> sessions_;
};

// As many images together as fill the machine without needing much more memory than one large
// one would: 8 at 224, 2 at 448, 1 from 640 on.
int default_batch(int size);

}  // namespace vig
