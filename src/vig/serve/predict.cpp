#include "vig/serve/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "vig/base/error.h"
#include "vig/image/encode_png.h"
#include "vig/image/image_size.h"
#include "vig/image/label_file.h"
#include "vig/pipeline/json_text.h"
#include "vig/pipeline/results_json.h"
#include "vig/tasks/class_colors.h"
#include "vig/tasks/explanation.h"
#include "vig/tasks/jpeg_uri.h"
#include "vig/tasks/overlay.h"

namespace vig {
namespace {

struct Route {
  std::string_view path;
  PredictKind kind;
};
constexpr std::array kRoutes = {
    Route{"/v1/classify", PredictKind::kClassify}, Route{"/v1/embed", PredictKind::kEmbed},
    Route{"/v1/explain", PredictKind::kExplain}, Route{"/v1/segment", PredictKind::kSegment},
    Route{"/v1/detect", PredictKind::kDetect}};

ImageBytes source_of(std::span<const SentImage> images, const DecodeOptions& decode) {
  std::vector<ImageBytes::File> files;
  for (const SentImage& one : images) {
    files.push_back(
        {one.name, {reinterpret_cast<const uint8_t*>(one.bytes.data()), one.bytes.size()}});
  }
  return ImageBytes(std::move(files), decode);
}

// The map of an explanation over its image.
std::string drawn_map(const ImageBytes& images, size_t i, const Recipe& recipe,
                      const TokenMap& map) {
  constexpr double kOpacity = 0.7;
  const Sample sample = images.load(i);
  const Placement placement = place(recipe, sample.image->width, sample.image->height);
  return png_uri(encode_png(draw_explanation(*sample.image, seen_part(placement), map, kOpacity)));
}

template <class Result>
std::vector<ImageReply> explained(const std::vector<Result>& found, const PredictRequest& request,
                                  const ImageBytes& images, const Recipe& recipe) {
  std::vector<ImageReply> replies;
  for (size_t i = 0; i < found.size(); ++i) {
    const bool good = found[i].error.empty();
    std::string drawn;
    if (good && request.draw) drawn = drawn_map(images, i, recipe, found[i].prediction.map);
    replies.push_back({good, explanation_json(found[i], drawn)});
  }
  return replies;
}

std::string failed_json(const std::string& name, const std::string& error) {
  return json_text({{"file", name}, {"error", error}});
}

std::vector<ImageReply> segmented(const OpenModel& model, const PredictRequest& request,
                                  const ImageBytes& images) {
  std::vector<ImageReply> replies;
  const std::vector<Color> palette =
      class_palette(static_cast<size_t>(model.class_count()), model.classes());
  const auto add = [&](const SegmentedImage& result) {
    SegmentationFiles files;
    const bool good = result.error.empty();
    if (good) files.labels = png_uri(encode_label_map(result.prediction.labels, palette));
    if (good && request.draw) {
      files.overlay = png_uri(encode_png(
          draw_segmentation(*result.sample.image, result.prediction.labels, model.classes())));
    }
    replies.push_back({good, segmentation_json(result, model.classes(), files)});
  };
  model.segmenter().segment(images, [&](std::span<const SegmentedImage> batch) {
    std::ranges::for_each(batch, add);
    return true;
  });
  return replies;
}

std::vector<ImageReply> detected(const OpenModel& model, const PredictRequest& request,
                                 const ImageBytes& images) {
  std::vector<ImageReply> replies;
  const auto add = [&](DetectedImage result) {
    keep_above(static_cast<float>(request.score), result);
    if (!result.error.empty()) {
      replies.push_back({false, failed_json(result.name, result.error)});
      return;
    }
    const Image& image = *result.sample.image;
    std::string json = fmt::format("{{\"file\":{},\"width\":{},\"height\":{}",
                                   json_text(result.name), image.width, image.height);
    if (request.draw) {
      OverlayOptions options;
      options.labels = request.labels;
      json += fmt::format(
          ",\"overlay\":\"{}\"",
          png_uri(encode_png(draw_detections(image, result.prediction, model.classes(), options))));
    }
    if (!result.warnings.empty()) {
      json += fmt::format(",\"warnings\":{}", warnings_json(result.warnings));
    }
    json += ",\"detections\":[";
    for (size_t i = 0; i < result.prediction.size(); ++i) {
      if (i > 0) json += ',';
      json += detection_json(result.prediction[i], 1, result.name, model.classes());
    }
    replies.push_back({true, json + "]}"});
  };
  model.detector().detect(images, [&](std::span<const DetectedImage> batch) {
    std::ranges::for_each(batch, add);
    return true;
  });
  return replies;
}

std::vector<ImageReply> predictions_of(const OpenModel& model, const PredictRequest& request,
                                       const ImageBytes& images) {
  std::vector<ImageReply> replies;
  switch (request.kind) {
    case PredictKind::kClassify:
      for (const auto& one : model.classify(images, request.top, request.size)) {
        replies.push_back({one.error.empty(), classification_json(one, {"", request.threshold})});
      }
      break;
    case PredictKind::kEmbed: {
      const auto kind = request.map ? Embedder::Kind::kMap : Embedder::Kind::kPooled;
      for (const auto& one : model.embed(images, kind, request.size)) {
        replies.push_back({one.error.empty(), embedding_json(one)});
      }
      break;
    }
    case PredictKind::kExplain: {
      const Recipe recipe = model.runner()->recipe(request.size);
      if (request.attention.x >= 0) {
        return explained(model.attention(images, request.attention, request.size), request, images,
                         recipe);
      }
      return explained(model.evidence(images, request.evidence, request.size), request, images,
                       recipe);
    }
    case PredictKind::kSegment:
      return segmented(model, request, images);
    case PredictKind::kDetect:
      return detected(model, request, images);
  }
  return replies;
}

}  // namespace

std::optional<PredictKind> kind_of_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (route.path == path) return route.kind;
  }
  return std::nullopt;
}

ModelTask task_of(PredictKind kind) {
  if (kind == PredictKind::kSegment) return ModelTask::kSegment;
  return kind == PredictKind::kDetect ? ModelTask::kDetect : ModelTask::kClassify;
}

std::string key_of(const PredictRequest& request) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(request.kind),
                     request.size, request.top, request.threshold, request.score, request.map,
                     request.draw, static_cast<int>(request.labels), request.evidence.about,
                     request.evidence.against, request.attention.x, request.attention.y,
                     request.attention.layer, request.attention.head);
}

int64_t pixels_of(std::span<const SentImage> images, const DecodeOptions& decode) {
  int64_t pixels = 0;
  for (const SentImage& one : images) {
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(one.bytes.data()),
                                         one.bytes.size());
    try {
      const ImageSize size = read_image_size(
          {one.name, bytes.size(), 0, [&](std::vector<uint8_t>&) { return bytes; }}, decode);
      pixels += int64_t{size.width} * size.height;
    } catch (const Error&) {  // its result will say why
    }
  }
  return pixels;
}

std::vector<ImageReply> predict_images(const OpenModel& model, const PredictRequest& request,
                                       std::span<const SentImage> sent,
                                       const DecodeOptions& decode) {
  std::vector<SentImage> good;
  std::ranges::copy_if(sent, std::back_inserter(good), &std::string::empty, &SentImage::error);
  std::vector<ImageReply> found;
  if (!good.empty()) found = predictions_of(model, request, source_of(good, decode));
  std::vector<ImageReply> replies;
  size_t next = 0;
  for (const SentImage& one : sent) {
    if (one.error.empty()) {
      replies.push_back(std::move(found.at(next++)));
    } else {
      replies.push_back({false, failed_json(one.name, one.name + ": " + one.error)});
    }
  }
  return replies;
}

}  // namespace vig
