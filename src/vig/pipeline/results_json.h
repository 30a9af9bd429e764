// Results as JSON: the same text from every program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vig/pipeline/classifier.h"
#include "vig/pipeline/detector.h"
#include "vig/pipeline/embedder.h"
#include "vig/pipeline/evaluate.h"
#include "vig/pipeline/explainer.h"
#include "vig/pipeline/segmenter.h"
#include "vig/tasks/calibration.h"

namespace vig {

// An object on one line: {"file", "classes"} or {"file", "error"}. `model` is named beside classes
// unless empty.
// With a threshold "none_of_them" says whether the best class is less probable.
struct ClassificationText {
  std::string model = "";
  double threshold = 0;
};
std::string classification_json(const ClassifiedImage& image,
                                const ClassificationText& options = {});

// An object on one line: {"file", "shape", "values"} or {"file", "error"}.
std::string embedding_json(const EmbeddedImage& image);
// The same in parts, for maps that do not fit into memory: the beginning, values separated by
// commas, "]}".
std::string embedding_json_begin(const std::string& file, const std::vector<int>& shape);
std::string embedding_json_values(std::span<const float> values);

// A list on one line: [{"kind", "message"}, ...].
std::string warnings_json(const std::vector<ImageWarning>& warnings);

// What was written beside a segmentation; empty: nothing.
struct SegmentationFiles {
  std::string overlay, labels, probabilities, preview = "";
};
// An object on one line: {"file", "width", "height", "classes", ...} or {"file", "error"}. The
// classes are those of the image, the largest first, with their pixels. "warnings" is there where
// there are any.
std::string segmentation_json(const SegmentedImage& image, const std::vector<std::string>& classes,
                              const SegmentationFiles& files = {});
// The same of an image whose pixels of each label were counted.
struct ImageTitle {
  std::string name;
  int64_t width = 0, height = 0;
};
std::string segmentation_json(const ImageTitle& image, std::span<const int64_t> pixels,
                              const std::vector<std::string>& classes,
                              const SegmentationFiles& files);

// One object of an image on one line, in COCO's format of results: image_id, category_id (the
// label + 1), bbox [x, y, width, height], score, segmentation {"size": [height, width], "counts"};
// besides file_name and, where there are any, category_name and the warnings of the image.
std::string detection_json(const Detection& detection, int64_t image_id, const std::string& file,
                           const std::vector<std::string>& classes,
                           const std::vector<ImageWarning>& warnings = {});

// An object on one line with the class or the layer that is explained, the drawn `image` unless
// empty, and the map: {"file", ..., "shape", "values"}; or {"file", "error"}.
std::string explanation_json(const ImageEvidence& image, const std::string& drawn);
std::string explanation_json(const ImageAttention& image, const std::string& drawn);

// What was evaluated, and on what.
struct EvaluationTitle {
  std::string model;  // as the caller named it
  std::string arch;
  std::string data;
  std::string split;                     // of the data: "test"; empty where it has none
  std::vector<std::string> class_names;  // of the model's outputs
};

// An object over several lines: the metrics, a table of classes, and the confusion matrix without
// its zeros; with a calibration also its errors at the model's temperature and at the best one, and
// what thresholds keep.
std::string evaluation_json(const EvaluationTitle& title, const Evaluation& result,
                            const Calibration* calibration = nullptr, double temperature = 1);
// The thresholds that reports of a calibration list.
inline constexpr double kListedThresholds[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};

}  // namespace vig
