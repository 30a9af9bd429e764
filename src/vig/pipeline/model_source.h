// From a name or a file to a network with its weights.
//
// A weight file written by `vig convert` says what it is. Of any other file (a published
// checkpoint) the network is recognised by the names and shapes of its tensors, or given by hand.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vig/base/confidence.h"
#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/models/family.h"
#include "vig/pipeline/pipeline.h"
#include "vig/weights/checkpoint.h"
#include "vig/weights/load.h"

namespace vig {

// What is known about a model before its weights are read.
struct ModelSource {
  enum class Known { kByName, kByMetadata, kByShapes, kByHand };

  std::string name;  // as the caller gave it; of a bundled model its file
  ModelSpec spec;    // overridden and with the recipe that belongs to the weights
  Known known = Known::kByName;
  std::string recipe_of;  // where the recipe of a published file is from; empty: the model's own
  std::vector<std::string> classes;              // empty: the outputs are numbered
  Confidence confidence;                         // of a classifier
  std::shared_ptr<const Checkpoint> checkpoint;  // null for a name: there are no weights
  std::shared_ptr<const Graph> graph;            // of `spec`, for its described_size
  std::shared_ptr<const Weights> weights;        // where they are bound already; else null

  bool has_weights() const { return checkpoint != nullptr; }
};

// Throws when there is no such model or file, when a file's network cannot be recognised, and when
// the network cannot be built from its fields: bad input if a file gives them, bad usage otherwise.
ModelSource find_source(const ModelRequest& request);
// The same for a weight file in memory; request.model is its name in messages. `owner` is kept and
// holds the bytes; without one the caller keeps them for as long as source and weights are used.
ModelSource find_source(const ModelRequest& request, std::span<const unsigned char> bytes,
                        std::shared_ptr<const void> owner = nullptr);

// Binds the file's tensors to the model's parameters; throws with a list of all that do not fit.
// For a name: random weights, the same for every call, for measuring only.
std::shared_ptr<const Weights> source_weights(const ModelSource& source);

// The source again; throws when it is a name, because predictions of random weights are
// meaningless.
const ModelSource& require_weights(const ModelSource& source);

// The command for models of a task: "vig segment".
std::string task_command(ModelTask task);
// Throws a usage error that names the right command unless the model is for this task.
void check_task(const ModelSource& source, ModelTask task);

// The fields in which `spec` differs from the zoo's model of its name.
std::map<std::string, std::string> changed_fields(const ModelSpec& spec);

// Throws when the model has so many blocks that the number must be an error or an attack,
// before a graph of them fills the memory.
void check_depth(const ModelSpec& spec);

// Throws when an image of the file's own input size needs far more work or memory than the file's
// bytes suggest: a small file must not occupy a machine for minutes. Not for sizes that a caller
// chose.
void check_own_work(const ModelSource& source);
// The same for any graph of a file of `file_bytes` that runs `batch` images at once.
void check_work(const std::string& file, size_t file_bytes, const Graph& graph, int64_t batch);
// Throws when `windows` runs of a segmentation network, one after the other for one image, need
// far more work or memory than the file's bytes suggest. `scale`: of the input that a caller chose,
// over the usual one.
void check_windows(const std::string& file, size_t file_bytes, const Graph& graph, int64_t windows,
                   double scale);

// What stands in a file is input, even where the same words of a caller would be bad usage.
template <typename Function>
auto as_input(const std::string& file, Function&& function) {
  try {
    return function();
  } catch (const Error& error) {
    fail("{}: {}", file, printable(error.what(), 400));
  }
}

// The largest side of an input image.
inline constexpr int kMaxInputSide = 8192;

// Throws unless both sides are from 1 to kMaxInputSide.
void check_input_size(int height, int width);

}  // namespace vig
