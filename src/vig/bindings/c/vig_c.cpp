// The C interface of include/vig/vig.h on the pipeline.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "vig/base/error.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/open_model.h"
#include "vig/vig.h"

using vig::OpenModel;

using Names = std::shared_ptr<const std::vector<std::string>>;

struct vig_model {
  vig_model(vig::ModelSource source, const vig::RunOptions& run) : model(std::move(source), run) {}

  OpenModel model;
  Names names;  // of the classes, shared with results, which outlive the model
  vig::DecodeOptions decode;
};

struct vig_result {
  struct ImageResult {
    std::optional<std::string> error;
    std::vector<std::string> warnings;
    std::vector<vig_class_score> scores;
    std::vector<float> values;
    int rows = 0, columns = 0, channels = 0;
    vig::LabelMap labels;
    vig::Detections found;  // holds the runs
    std::vector<vig_detection> detections;
  };
  std::vector<ImageResult> images;
  Names names;
};

namespace {

thread_local std::string last_error;

// Calls `work`, whose errors become a status and a sentence.
template <typename Work>
vig_status guarded(const Work& work) noexcept {
  try {
    try {
      work();
      return VIG_OK;
    } catch (const vig::Error& error) {
      last_error = error.what();
      return error.code() == vig::ErrorCode::kUsage ? VIG_BAD_USAGE : VIG_BAD_INPUT;
    } catch (const std::bad_alloc&) {
      last_error = "not enough memory";
      return VIG_OUT_OF_MEMORY;
    } catch (const std::exception& error) {
      last_error = error.what();
      return VIG_INTERNAL;
    } catch (...) {
      last_error = "an unknown error";
      return VIG_INTERNAL;
    }
  } catch (...) {  // there is not even memory for the sentence
    last_error.clear();
    return VIG_OUT_OF_MEMORY;
  }
}

// The options of a caller that may have been compiled with an older header.
vig_options complete(const vig_options* given) {
  vig_options options;
  vig_default_options(&options);
  if (given == nullptr) return options;
  const size_t known = std::min(given->struct_size, sizeof options);
  std::copy_n(reinterpret_cast<const char*>(given), known, reinterpret_cast<char*>(&options));
  const auto check = [](const char* field, int64_t value, int64_t least, int64_t most) {
    if (value >= least && value <= most) return;
    vig::fail_usage("vig_options.{} is {}, expected {} to {}", field, value, least, most);
  };
  check("struct_size", static_cast<int64_t>(known), sizeof options.struct_size, sizeof options);
  check("threads", options.threads, 0, 1024);
  check("batch", options.batch, 0, 4096);
  check("size", options.size, 0, vig::kMaxInputSide);
  check("max_pixels", options.max_pixels, 1, std::numeric_limits<int64_t>::max());
  return options;
}

vig_model* opened(vig::ModelSource source, const vig_options& options) {
  vig::RunOptions run;
  run.threads = options.threads;
  run.batch = options.batch;
  run.size = options.size;
  if (options.precision != nullptr) {
    run.precision.arithmetic = vig::arithmetic_from_name(options.precision);
  }
  if (options.float_layers != nullptr) {
    std::istringstream list(options.float_layers);
    for (std::string layer; std::getline(list, layer, ',');) {
      run.precision.float_layers.push_back(layer);
    }
  }
  auto model = std::make_unique<vig_model>(std::move(source), run);
  model->names = std::make_shared<const std::vector<std::string>>(model->model.classes());
  model->decode.max_pixels = options.max_pixels;
  model->decode.apply_orientation = options.ignore_orientation == 0;
  return model.release();
}

vig::ModelRequest request_of(const char* name, const vig_options& options) {
  vig::ModelRequest request;
  request.model = name;
  if (options.arch != nullptr) request.arch = options.arch;
  return request;
}

// Images in the caller's memory.
class GivenImages final : public vig::SampleSource {
 public:
  GivenImages(const vig_image* images, size_t count, const vig::DecodeOptions& decode)
      : images_(images), count_(count), decode_(decode) {
    if (images == nullptr && count > 0) vig::fail_usage("{} images at a null pointer", count);
  }

  size_t size() const override { return count_; }
  std::string location(size_t sample) const override { return fmt::format("image {}", sample); }
  vig::Sample load(size_t sample) const override {
    const vig_image& one = images_[sample];
    const auto* const bytes = static_cast<const uint8_t*>(one.data);
    if (one.data == nullptr) vig::fail("{}: has no bytes", location(sample));
    if (one.width == 0 && one.height == 0) {
      return vig::ImageBytes({{location(sample), {bytes, one.size}}}, decode_).load(0);
    }
    const size_t row = 3 * static_cast<size_t>(std::max(one.width, 0));
    const size_t stride = one.stride == 0 ? row : one.stride;
    const auto height = static_cast<size_t>(std::max(one.height, 0));
    // Without products that could overflow.
    if (row == 0 || height == 0 || stride < row || one.size < row ||
        int64_t{one.width} * one.height > decode_.max_pixels ||
        (one.size - row) / stride < height - 1) {
      vig::fail(
          "{}: {} x {} pixels, {} bytes from row to row, in {} bytes, expected rows of pixels "
          "inside of the bytes, at most {} pixels (raise it with max_pixels)",
          location(sample), one.width, one.height, stride, one.size, decode_.max_pixels);
    }
    auto image = std::make_shared<vig::Image>(one.width, one.height);
    for (size_t y = 0; y < height; ++y) {
      std::copy_n(bytes + y * stride, row, image->row(static_cast<int>(y)));
    }
    return {image, {}};
  }

 private:
  const vig_image* const images_;
  const size_t count_;
  const vig::DecodeOptions decode_;
};

const char* name_of(const vig_result& result, int label) {
  const auto index = static_cast<size_t>(label);
  return label >= 0 && index < result.names->size() ? (*result.names)[index].c_str() : nullptr;
}

vig_class_score c_score(const vig_result& result, const vig::ClassScore& score) {
  return {score.index, name_of(result, score.index), score.probability, score.logit};
}

void set_map(vig_result::ImageResult& to, const vig::TokenMap& map) {
  to.values = map.values;
  to.rows = map.height;
  to.columns = map.width;
  to.channels = 1;
}

// Runs `work(images)`, which gives a result per image, and stores each by
// `store(result, image, the pipeline's result)`.
template <typename Work, typename Store>
vig_status predict(const vig_model* model, const vig_image* images, size_t count, vig_result** out,
                   const Work& work, const Store& store) noexcept {
  return guarded([&] {
    if (model == nullptr || out == nullptr)
      vig::fail_usage("a null pointer for the model or the result");
    *out = nullptr;
    const GivenImages source(images, count, model->decode);
    const auto found = work(model->model, source);
    auto result = std::make_unique<vig_result>();
    result->names = model->names;
    result->images.resize(found.size());
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].error.empty()) {
        store(*result, result->images[i], found[i].prediction);
        for (const vig::ImageWarning& one : found[i].warnings) {
          result->images[i].warnings.push_back(one.message);
        }
      } else {
        result->images[i].error = found[i].error;
      }
    }
    *out = result.release();
  });
}

const vig_result::ImageResult* result_at(const vig_result* result, size_t i) {
  return result != nullptr && i < result->images.size() ? &result->images[i] : nullptr;
}

template <typename Value>
void put(Value* to, Value value) {
  if (to != nullptr) *to = value;
}

}  // namespace

extern "C" {

int vig_abi_version(void) { return VIG_ABI_VERSION; }
const char* vig_version(void) { return VIG_VERSION; }
const char* vig_last_error(void) { return last_error.c_str(); }

void vig_init_options(vig_options* options, size_t struct_size) {
  if (options == nullptr) return;
  vig_options defaults = {};
  defaults.struct_size = std::min(struct_size, sizeof defaults);
  defaults.max_pixels = vig::DecodeOptions().max_pixels;
  std::copy_n(reinterpret_cast<const char*>(&defaults), defaults.struct_size,
              reinterpret_cast<char*>(options));
}

vig_status vig_open(const char* path, const vig_options* options, vig_model** model) {
  return guarded([&] {
    if (path == nullptr || model == nullptr)
      vig::fail_usage("a null pointer for the path or the model");
    *model = nullptr;
    const vig_options chosen = complete(options);
    *model = opened(vig::find_source(request_of(path, chosen)), chosen);
  });
}

vig_status vig_open_memory(const void* bytes, size_t size, const char* name,
                           const vig_options* options, vig_model** model) {
  return guarded([&] {
    if (bytes == nullptr || model == nullptr)
      vig::fail_usage("a null pointer for the bytes or the model");
    *model = nullptr;
    const vig_options chosen = complete(options);
    *model = opened(vig::find_source(request_of(name != nullptr ? name : "the model", chosen),
                                     {static_cast<const unsigned char*>(bytes), size}),
                    chosen);
  });
}

void vig_close(vig_model* model) { delete model; }

vig_task vig_model_task(const vig_model* model) {
  if (model == nullptr) return VIG_CLASSIFY;
  switch (model->model.task()) {
    case vig::ModelTask::kSegment:
      return VIG_SEGMENT;
    case vig::ModelTask::kDetect:
      return VIG_DETECT;
    case vig::ModelTask::kClassify:
      break;
  }
  return VIG_CLASSIFY;
}

const char* vig_model_arch(const vig_model* model) {
  return model == nullptr ? nullptr : model->model.source().spec.name.c_str();
}
size_t vig_class_count(const vig_model* model) {
  return model == nullptr ? 0 : static_cast<size_t>(model->model.class_count());
}
const char* vig_class_name(const vig_model* model, size_t label) {
  if (model == nullptr || label >= model->names->size()) return nullptr;
  return (*model->names)[label].c_str();
}

size_t vig_result_count(const vig_result* result) {
  return result == nullptr ? 0 : result->images.size();
}
const char* vig_result_error(const vig_result* result, size_t i) {
  const auto* const one = result_at(result, i);
  return one != nullptr && one->error ? one->error->c_str() : nullptr;
}
const char* vig_result_warning(const vig_result* result, size_t i, size_t k) {
  const auto* const one = result_at(result, i);
  return one != nullptr && k < one->warnings.size() ? one->warnings[k].c_str() : nullptr;
}
void vig_free_result(vig_result* result) { delete result; }

vig_status vig_classify(const vig_model* model, const vig_image* images, size_t count, int top,
                        vig_result** result) {
  return predict(
      model, images, count, result,
      [&](const OpenModel& open, const vig::SampleSource& source) {
        if (top < 1) vig::fail_usage("the best {} classes, expected at least 1", top);
        return open.classify(source, top);
      },
      [](const vig_result& all, vig_result::ImageResult& to, const vig::Classification& from) {
        for (const vig::ClassScore& score : from.scores) to.scores.push_back(c_score(all, score));
      });
}

const vig_class_score* vig_result_scores(const vig_result* result, size_t i, size_t* count) {
  const auto* const one = result_at(result, i);
  put(count, one == nullptr ? size_t{0} : one->scores.size());
  return one == nullptr || one->scores.empty() ? nullptr : one->scores.data();
}

vig_status vig_embed(const vig_model* model, const vig_image* images, size_t count, int map,
                     vig_result** result) {
  using Kind = vig::Embedder::Kind;
  return predict(
      model, images, count, result,
      [&](const OpenModel& open, const vig::SampleSource& source) {
        return open.embed(source, map != 0 ? Kind::kMap : Kind::kPooled);
      },
      [](const vig_result&, vig_result::ImageResult& to, const vig::Embedding& from) {
        to.values = from.values;
        to.rows = from.height;
        to.columns = from.width;
        to.channels = from.channels;
      });
}

const float* vig_result_values(const vig_result* result, size_t i, int* rows, int* columns,
                               int* channels) {
  const auto* const one = result_at(result, i);
  put(rows, one == nullptr ? 0 : one->rows);
  put(columns, one == nullptr ? 0 : one->columns);
  put(channels, one == nullptr ? 0 : one->channels);
  return one == nullptr || one->values.empty() ? nullptr : one->values.data();
}

vig_status vig_evidence(const vig_model* model, const vig_image* images, size_t count, int label,
                        int against, vig_result** result) {
  return predict(
      model, images, count, result,
      [&](const OpenModel& open, const vig::SampleSource& source) {
        return open.evidence(source, {label, against});
      },
      [](const vig_result& all, vig_result::ImageResult& to, const vig::Evidence& from) {
        to.scores.push_back(c_score(all, from.about));
        if (from.against) to.scores.push_back(c_score(all, *from.against));
        set_map(to, from.map);
      });
}

vig_status vig_attention(const vig_model* model, const vig_image* images, size_t count, double x,
                         double y, int layer, int head, vig_result** result) {
  return predict(
      model, images, count, result,
      [&](const OpenModel& open, const vig::SampleSource& source) {
        return open.attention(source, {x, y, layer, head});
      },
      [](const vig_result&, vig_result::ImageResult& to, const vig::LayerAttention& from) {
        set_map(to, from.map);
      });
}

vig_status vig_segment(const vig_model* model, const vig_image* images, size_t count,
                       vig_result** result) {
  return predict(
      model, images, count, result,
      [](const OpenModel& open, const vig::SampleSource& source) { return open.segment(source); },
      [](const vig_result&, vig_result::ImageResult& to, const vig::Segmentation& from) {
        to.labels = from.labels;
      });
}

const uint8_t* vig_result_labels(const vig_result* result, size_t i, int* width, int* height) {
  const auto* const one = result_at(result, i);
  put(width, one == nullptr ? 0 : one->labels.width);
  put(height, one == nullptr ? 0 : one->labels.height);
  return one == nullptr || one->labels.labels.empty() ? nullptr : one->labels.labels.data();
}

vig_status vig_detect(const vig_model* model, const vig_image* images, size_t count,
                      vig_result** result) {
  return predict(
      model, images, count, result,
      [](const OpenModel& open, const vig::SampleSource& source) { return open.detect(source); },
      [](const vig_result& all, vig_result::ImageResult& to, const vig::Detections& from) {
        to.found = from;
        for (const vig::Detection& one : to.found) {
          to.detections.push_back({one.box.x1, one.box.y1, one.box.x2, one.box.y2, one.label,
                                   name_of(all, one.label), one.score, one.mask.runs.data(),
                                   one.mask.runs.size()});
        }
      });
}

const vig_detection* vig_result_detections(const vig_result* result, size_t i, size_t* count) {
  const auto* const one = result_at(result, i);
  put(count, one == nullptr ? size_t{0} : one->detections.size());
  return one == nullptr || one->detections.empty() ? nullptr : one->detections.data();
}

}  // extern "C"
