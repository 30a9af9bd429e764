// The results of `vig eval` as text, JSON, CSV, SVG and HTML.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "vig/pipeline/evaluate.h"
#include "vig/tasks/calibration.h"
#include "vig/tasks/predictions.h"

namespace vig::cli {

struct EvalReport {
  const ModelSource& source;
  bool default_model;
  std::string data_path;
  std::string split;  // of the data: "test"; empty where it has none
  const Dataset& data;
  const Evaluation& result;
  const Calibration* calibration = nullptr;  // null: not asked for

  std::vector<std::string> class_names() const;
  std::string text() const;
  std::string json() const;
  std::string classes_csv() const;
  std::string confusion() const;
  // The `most` most confident mistakes; reads their images again.
  std::string mistakes_page(std::span<const Prediction> predictions, size_t most) const;

 private:
  const ClassificationMetrics& metrics() const { return result.metrics; }
  std::string data_name() const;
  // "MODEL on DATA": file names alone, because images and pages are passed on, and readers need not
  // know where they lay.
  std::string title() const;
};

}  // namespace vig::cli
