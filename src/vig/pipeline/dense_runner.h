// What segmentation and detection share: one packed model, sessions by input size, and one path
// that takes pictures of any size to the network's input.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/preprocess.h"
#include "vig/pipeline/picture_results.h"
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

// A picture on its way: as it is, and as the network sees it.
struct DensePicture {
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
  const Graph& graph() const { return graphs_.front(); }  // sees the picture, of any size
  // Of the graph that sees the picture, with the threads of all.
  SessionPool& sessions() const { return *sessions_; }
  const std::shared_ptr<ThreadTeam>& team() const { return team_; }
  // The other graph with this input, for `batch` at once. Null where there is none.
  std::unique_ptr<SessionPool> further_sessions(const std::string& input, int batch) const;

  // Throws when this many windows of `side` pixels, which the file asks for, take far more work for
  // a picture than the file's bytes suggest.
  void check_windows(const Placement& placement, int side, int64_t windows) const;

  // One pass of pictures. All functions are called by the caller's thread; while one picture is
  // worked at, the next is decoded.
  struct Pass {
    std::vector<size_t> order = {};  // of the pictures; empty: as they stand
    // May throw Error, which becomes a problem.
    std::function<void(DensePicture& picture)> on_picture = {};
    // A picture that cannot be read or answered.
    std::function<void(size_t picture, const std::string& sentence)> on_problem = {};
    // After each picture; false ends the pass.
    std::function<bool()> on_done = {};
  };
  // False when on_done ended the pass before the last picture.
  bool run(const SampleSource& pictures, const Pass& pass) const;

 private:
  void prepare(const Image& image, DensePicture& picture) const;
  void check_scale(DensePicture& picture) const;

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
  std::shared_ptr<ThreadTeam> team_;
  std::unique_ptr<SessionPool> sessions_;
};

// An answer with its picture, for drawing it, and what the source said of it.
template <class Answer>
struct DenseResult : PictureResult<Answer> {
  size_t index = 0;  // in the source
  std::shared_ptr<const Image> image;
  Target target;
  std::vector<ImageWarning> warnings = {};
};

// One result at a time, in order; false ends the work.
template <class Answer>
using HandleDense = std::function<bool(const DenseResult<Answer>& result)>;

// `decode(picture)` gives the answer, or throws Error; it may add to the picture's warnings. False
// when `handle` ended the work before the last picture.
template <class Answer, class Decode>
bool run_dense(const DenseRunner& runner, const SampleSource& pictures,
               const std::vector<size_t>& order, const Decode& decode,
               const HandleDense<Answer>& handle) {
  DenseResult<Answer> result;
  DenseRunner::Pass pass;
  pass.order = order;
  const auto begin = [&](size_t picture) {
    result = {};
    result.name = pictures.path(picture);
    result.index = picture;
  };
  pass.on_problem = [&](size_t picture, const std::string& sentence) {
    begin(picture);
    result.error = sentence;
  };
  pass.on_picture = [&](DensePicture& picture) {
    begin(picture.index);
    result.answer = decode(picture);
    result.image = std::move(picture.image);
    result.target = std::move(picture.target);
    result.warnings = std::move(picture.warnings);
  };
  pass.on_done = [&] {
    const bool more = handle(result);
    result = {};  // with the picture's memory, which the next one may wait for
    return more;
  };
  return runner.run(pictures, pass);
}

}  // namespace vig
