// What segmentation and detection share: one packed model, sessions by input size, and one path
// that takes images of any size to the network's input.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/preprocess.h"
#include "vig/pipeline/image_results.h"
#include "vig/pipeline/runner.h"

namespace vig {

// Why a prediction may be worse than its scores say.
struct ImageWarning {
  std::string kind;     // one of those below
  std::string message;  // a sentence without the image's name
};
// The image is shrunk more than one and a half times as much as any image of training.
inline constexpr const char* kShrunkWarning = "shrunk";
// As many objects as the model gives at most.
inline constexpr const char* kMostObjectsWarning = "most_objects";

// An image on its way: as it is, and as the network sees it.
struct DenseImage {
  size_t index = 0;  // in the source
  std::shared_ptr<const Image> image;
  Target target;  // what the source says of it
  Placement placement;
  std::vector<float> input;  // [placement.input_height, placement.input_width, 3]
  std::vector<ImageWarning> warnings = {};
};

// For any number of threads, as a Runner is.
class DenseRunner {
 public:
  // As of Runner; throws a usage error where the model is for another task.
  DenseRunner(const ModelSource& source, const RunOptions& options, ModelTask task);

  const std::string& name() const { return name_; }
  const ModelSpec& spec() const { return spec_; }
  const std::vector<std::string>& classes() const { return classes_; }
  const Recipe& recipe() const { return recipe_; }
  const Graph& graph() const { return graphs_.front(); }  // sees the image, of any size
  // Of the graph that sees the image, with the threads of all.
  SessionPool& sessions() const { return *sessions_; }
  const std::shared_ptr<ThreadPool>& thread_pool() const { return thread_pool_; }
  // The other graph with this input, for `batch` at once. Null where there is none.
  std::unique_ptr<SessionPool> further_sessions(const std::string& input, int batch) const;

  // Throws when this many windows of `side` pixels, which the file asks for, take far more work for
  // an image than the file's bytes suggest.
  void check_windows(const Placement& placement, int side, int64_t windows) const;

  // One pass of images. All functions are called by the caller's thread; while one image is
  // worked at, the next is decoded.
  struct Pass {
    std::vector<size_t> order = {};  // of the images; empty: as they stand
    // May throw Error, which becomes a problem.
    std::function<void(DenseImage& image)> on_image = {};
    // An image that cannot be read or processed.
    std::function<void(size_t image, const std::string& sentence)> on_problem = {};
    // After each image; false ends the pass.
    std::function<bool()> on_done = {};
  };
  // False when on_done ended the pass before the last image.
  bool run(const SampleSource& images, const Pass& pass) const;

 private:
  void prepare(const Image& pixels, DenseImage& image) const;
  void check_scale(DenseImage& image) const;

  std::string name_;
  ModelSpec spec_;
  std::vector<std::string> classes_;
  RunOptions options_;
  Recipe recipe_;
  bool own_size_ = false;  // the file decides on it
  size_t file_bytes_ = 0;
  std::optional<double> smallest_scale_;  // of images in training, where the file says it
  std::vector<Graph> graphs_;             // at the size they were packed for
  std::shared_ptr<const PackedModel> model_;
  std::shared_ptr<ThreadPool> thread_pool_;
  std::unique_ptr<SessionPool> sessions_;
};

// A prediction with its image, for drawing it, and the source's warnings.
template <class Answer>
struct DenseResult : ImageResult<Answer> {
  size_t index = 0;  // in the source
  std::shared_ptr<const Image> image;
  Target target;
  std::vector<ImageWarning> warnings = {};
};

// One result at a time, in order; false ends the work.
template <class Answer>
using HandleDense = std::function<bool(const DenseResult<Answer>& result)>;

// `decode(image)` gives the prediction, or throws Error; it may add to the image's warnings. False
// when `handle` ended the work before the last image.
template <class Answer, class Decode>
bool run_dense(const DenseRunner& runner, const SampleSource& images,
               const std::vector<size_t>& order, const Decode& decode,
               const HandleDense<Answer>& handle) {
  DenseResult<Answer> result;
  DenseRunner::Pass pass;
  pass.order = order;
  const auto begin = [&](size_t image) {
    result = {};
    result.name = images.path(image);
    result.index = image;
  };
  pass.on_problem = [&](size_t image, const std::string& sentence) {
    begin(image);
    result.error = sentence;
  };
  pass.on_image = [&](DenseImage& image) {
    begin(image.index);
    result.prediction = decode(image);
    result.image = std::move(image.image);
    result.target = std::move(image.target);
    result.warnings = std::move(image.warnings);
  };
  pass.on_done = [&] {
    const bool more = handle(result);
    result = {};  // with the image's memory, which the next one may wait for
    return more;
  };
  return runner.run(images, pass);
}

}  // namespace vig
