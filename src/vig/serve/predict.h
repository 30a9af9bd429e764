// Images of requests through a network, and the predictions as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vig/pipeline/open_model.h"
#include "vig/serve/request_body.h"
#include "vig/tasks/overlay.h"

namespace vig {

enum class PredictKind { kClassify, kEmbed, kExplain, kSegment, kDetect };

// "/v1/classify" and so on.
std::optional<PredictKind> kind_of_route(std::string_view path);
ModelTask task_of(PredictKind kind);

struct PredictRequest {
  PredictKind kind = PredictKind::kClassify;
  int size = 0;  // of the input; 0: the model's own
  int top = 5;
  double threshold = 0;
  double score = 0;                     // that objects must be above
  bool map = false;                     // of an embedding
  bool draw = false;                    // the prediction over the image, too, as a data URI
  LabelText labels = LabelText::kAuto;  // of drawn objects
  Explainer::EvidenceRequest evidence;
  Explainer::AttentionRequest attention{-1, -1};  // where x is not below 0
};
// Requests of one key can run in one batch.
std::string key_of(const PredictRequest& request);

struct ImageReply {
  bool good = false;
  std::string json;  // an object
};

// Pixels of all images whose headers can be read. Decodes none of them.
int64_t pixels_of(std::span<const SentImage> images, const DecodeOptions& decode);

// A reply for each image. Throws Error if the request does not fit the model.
std::vector<ImageReply> predict_images(const OpenModel& model, const PredictRequest& request,
                                       std::span<const SentImage> images,
                                       const DecodeOptions& decode);

}  // namespace vig
