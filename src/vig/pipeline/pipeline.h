// What all pipelines take and give: which model, how it runs, and the result of an image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vig/base/shape.h"
#include "vig/data/image_files.h"
#include "vig/models/registry.h"

namespace vig {

class ThreadPool;

struct ModelRequest {
  // A model of the zoo, a bundled model (default, segment, detect; empty: the one of `task`), or a
  // file. Names win: write ./NAME for a file that is called so.
  std::string model;
  std::string arch;  // what the file holds, when it does not say or says it wrongly
  std::map<std::string, std::string> fields;  // over everything else; by their names, as text
  bool ema = false;                           // averaged weights of a training checkpoint
  ModelTask task = ModelTask::kClassify;      // whose bundled model an empty name means
};

struct RunOptions {
  int threads = 0;  // of the network and of the decoders; 0: default_threads()
  int batch = 1;    // most images that run together; 0: default_batch
  int size = 0;     // side of the network's input; 0: the one that belongs to the weights
  // Which numbers dense layers are computed with.
  Precision precision = {};
  // How many images there will be, where that is known: memory for more is not taken.
  size_t images = std::numeric_limits<size_t>::max();
  // What the activations of several sizes may take together; not given: a quarter of the memory.
  std::optional<uint64_t> activation_bytes = {};
  // Called once if the system starts fewer threads than asked for. Results are the same bits.
  std::function<void(int started, int asked)> on_fewer_threads = {};
  // Threads that other networks use as well; null: this network's own, as many as `threads` says.
  std::shared_ptr<ThreadPool> thread_pool = nullptr;
};

// Why a prediction may be worse than its scores say.
struct ImageWarning {
  std::string kind;     // one of those below
  std::string message;  // a sentence without the image's name
};
// The image is shrunk more than one and a half times as much as any image of training.
inline constexpr const char* kShrunkWarning = "shrunk";
// As many objects as the model gives at most.
inline constexpr const char* kMostObjectsWarning = "most_objects";

template <class Prediction>
struct ImageResult {
  std::string name;  // SampleSource::path
  Prediction prediction;
  std::string error;  // why there is no prediction; empty when there is one
  size_t index = 0;   // in the source
  // Of segmentation and detection, for drawing and measuring: the image and its target.
  Sample sample = {};
  std::vector<ImageWarning> warnings = {};
};

// The results of a batch, in the order of the images; false ends the work.
template <class Prediction>
using HandleResults = std::function<bool(std::span<const ImageResult<Prediction>> batch)>;

// Appends every result to `all`, without its image, whose memory the next one may wait for.
template <class Prediction>
HandleResults<Prediction> collect_results(std::vector<ImageResult<Prediction>>& all) {
  return [&all](std::span<const ImageResult<Prediction>> batch) {
    for (const ImageResult<Prediction>& result : batch) {
      all.push_back(result);
      all.back().sample.image = nullptr;
    }
    return true;
  };
}

}  // namespace vig
