// Images to results of any task, in order, batch by batch.
#pragma once

#include <fmt/format.h>

#include <new>
#include <span>
#include <utility>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/region_source.h"
#include "vig/pipeline/pipeline.h"
#include "vig/pipeline/runner.h"
#include "vig/pipeline/whole_image.h"

namespace vig {

// Collects the results of a batch and hands them out. It outlives the passes that it makes.
template <class Prediction>
class ResultBatch {
 public:
  ResultBatch(const SampleSource& images, const HandleResults<Prediction>& handle)
      : images_(images), handle_(handle) {}

  Runner::Pass pass() {
    Runner::Pass pass;
    pass.on_problem = [this](size_t sample, const std::string& sentence) {
      ImageResult<Prediction>& result = results_.emplace_back();
      result.name = images_.path(sample);
      result.index = sample;
      result.error = sentence;
    };
    pass.on_batch = [this](size_t) {
      const bool more = handle_(results_);
      results_.clear();  // with the memory of their images, which the next one may wait for
      return more;
    };
    return pass;
  }

  // The result of an image whose prediction is `decode()`, or the Error that it throws.
  template <class Decode>
  ImageResult<Prediction>& add(size_t sample, const Decode& decode) {
    ImageResult<Prediction>& result = results_.emplace_back();
    result.name = images_.path(sample);
    result.index = sample;
    try {
      result.prediction = decode();
    } catch (const Error& error) {
      // An image that is read while it runs is named already.
      const std::string where = images_.location(sample), what = error.what();
      result.error = what.starts_with(where + ":") ? what : fmt::format("{}: {}", where, what);
    } catch (const std::bad_alloc&) {
      result.error = fmt::format("{}: not enough memory", images_.location(sample));
    }
    return result;
  }

 private:
  const SampleSource& images_;
  const HandleResults<Prediction>& handle_;
  std::vector<ImageResult<Prediction>> results_;
};

// Of cropped images: `decode(session, image)` gives the prediction of one that went through.
template <class Prediction, class Decode>
void run_images(const Runner& runner, const SampleSource& images, int size, const Decode& decode,
                const HandleResults<Prediction>& handle) {
  ResultBatch<Prediction> results(images, handle);
  Runner::Pass pass = results.pass();
  pass.size = size;
  pass.on_values = [&](size_t sample, const Session& session, int image) {
    results.add(sample, [&] { return decode(session, image); });
  };
  runner.run(images, pass);
}

// Of images at their own size: `decode(image)` runs one that is read by regions.
template <class Prediction, class Decode>
void run_whole_images(const WholeOptions& options, const SampleSource& images, const Decode& decode,
                      const HandleResults<Prediction>& handle) {
  ResultBatch<Prediction> results(images, handle);
  const Runner::Pass pass = results.pass();
  for (size_t sample = 0; sample < images.size(); ++sample) {
    std::unique_ptr<RegionSource> image;
    try {
      image = options.open ? options.open(sample) : regions_of(*images.load(sample).image);
    } catch (const Error& error) {
      pass.on_problem(sample, error.what());
    }
    if (image != nullptr) results.add(sample, [&] { return decode(*image); });
    if (!pass.on_batch(1)) return;
  }
}

// Of whole images: `decode(image)` runs one and may add to its warnings. The results have their
// samples. False when `handle` ended the work before the last image.
template <class Prediction, class Decode>
bool run_images(const Runner& runner, const SampleSource& images, const std::vector<size_t>& order,
                const Decode& decode, const HandleResults<Prediction>& handle) {
  ResultBatch<Prediction> results(images, handle);
  Runner::Pass pass = results.pass();
  pass.order = order;
  pass.on_image = [&](RunImage& image) {
    ImageResult<Prediction>& result = results.add(image.index, [&] { return decode(image); });
    if (!result.error.empty()) return;
    result.sample = std::move(image.sample);
    result.warnings = std::move(image.warnings);
  };
  return runner.run(images, pass);
}

}  // namespace vig
