// The results of `vig eval` for segmentation networks and detectors as text, JSON, CSV and SVG.
#pragma once

#include <string>
#include <vector>

#include "vig/pipeline/evaluate_dense.h"

namespace vig::cli {

// What was evaluated, and on what.
struct DenseTitle {
  std::string model;  // as the caller named it
  std::string arch;
  std::string data;
  std::string split;                     // empty where the data has none
  std::vector<std::string> class_names;  // of the model
  bool default_model = false;
};

struct SegmentationReport {
  const DenseTitle& title;
  const SegmentationEvaluation& result;

  std::string text() const;
  std::string json() const;
  std::string classes_csv() const;
  std::string confusion() const;  // in pixels
};

struct DetectionReport {
  const DenseTitle& title;
  const DetectionEvaluation& result;

  std::string text() const;
  std::string json() const;
  std::string classes_csv() const;
  // Precision against recall, as means over the classes: at IoU 0.5, 0.75 and over all thresholds,
  // a panel for boxes and one for masks.
  std::string curves() const;
};

}  // namespace vig::cli
