// Results as Python objects: classes with attributes, arrays of NumPy inside.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "vig/pipeline/open_model.h"

namespace vig::python {

namespace py = pybind11;

// The names of the classes as strings of Python, made once; None for classes without names.
class ClassNames {
 public:
  explicit ClassNames(const OpenModel& model);
  py::object name(int label) const;
  const py::list& all() const { return names_; }  // empty where they have none

 private:
  py::list names_;
};

struct ScoreObject {
  int index = 0;
  py::object name;
  float probability = 0, logit = 0;
};

struct ClassificationObject {
  py::list classes;  // of ScoreObject, the best first
};

struct EvidenceObject {
  py::object about, against;  // ScoreObject; None
  py::array map;
};

struct AttentionObject {
  int layer = 0;
  py::object head;  // None: the mean
  int row = 0, column = 0;
  py::array map;
};

struct SegmentationObject {
  py::object labels;  // uint8 [height, width]; None where they are in a file
  py::list shares;    // (label, name, share)
};

struct DetectionObject {
  py::tuple box;  // x1, y1, x2, y2
  int label = 0;
  py::object name;
  float score = 0;
  Mask mask;
};

// Declares the classes.
void add_results(py::module_& module);

py::object as_object(const Classification& result, const ClassNames& names);
py::object as_object(const Embedding& result, const ClassNames& names);
py::object as_object(const Evidence& result, const ClassNames& names);
py::object as_object(const LayerAttention& result, const ClassNames& names);
py::object as_object(const Segmentation& result, const ClassNames& names);
py::object as_object(const Detections& result, const ClassNames& names);

}  // namespace vig::python
