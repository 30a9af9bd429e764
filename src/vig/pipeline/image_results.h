// Images to results of any task, in order, batch by batch.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "vig/base/error.h"
#include "vig/pipeline/runner.h"

namespace vig {

template <class Answer>
struct ImageResult {
  std::string name;  // SampleSource::path
  Answer prediction;
  std::string error;  // why there is no prediction; empty when there is one
};

// The results of a batch, in the order of the images; false ends the work.
template <class Answer>
using HandleResults = std::function<bool(std::span<const ImageResult<Answer>> batch)>;

// `decode(session, image)` gives the prediction of an image, or throws Error.
template <class Answer, class Decode>
void run_images(const Runner& runner, const SampleSource& images, int size, const Decode& decode,
                const HandleResults<Answer>& handle) {
  std::vector<ImageResult<Answer>> batch;
  Runner::Pass pass;
  pass.size = size;
  pass.on_problem = [&](size_t sample, const std::string& sentence) {
    batch.push_back({images.path(sample), {}, sentence});
  };
  pass.on_values = [&](size_t sample, const Session& session, int image) {
    try {
      batch.push_back({images.path(sample), decode(session, image), ""});
    } catch (const Error& error) {
      pass.on_problem(sample, fmt::format("{}: {}", images.location(sample), error.what()));
    }
  };
  pass.on_batch = [&](size_t) {
    const bool more = handle(batch);
    batch.clear();
    return more;
  };
  runner.run(images, pass);
}

// Appends every result to `all`.
template <class Answer>
HandleResults<Answer> collect_results(std::vector<ImageResult<Answer>>& all) {
  return [&all](std::span<const ImageResult<Answer>> batch) {
    all.insert(all.end(), batch.begin(), batch.end());
    return true;
  };
}

}  // namespace vig
