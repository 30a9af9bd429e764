// A network for arrays instead of images; NumPy arrays view its memory.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "vig/pipeline/open_model.h"
#include "vig/runtime/session.h"

namespace vig::python {

namespace py = pybind11;

class SessionObject {
 public:
  SessionObject(std::shared_ptr<const OpenModel> model, int height, int width, int batch);

  // The session's own memory, float32 [batch, height, width, channels]; `self` is kept by it.
  py::array input(const py::object& self);
  // Without Python's lock; one caller at a time.
  void run(std::optional<int> images);
  std::vector<std::string> output_names() const;
  // Of the images that ran last: memory that the next run overwrites.
  py::array output(const py::object& self, const std::string& name) const;
  std::string text() const;

 private:
  const std::shared_ptr<const OpenModel> model_;
  Session session_;
  std::mutex running_;
  int ran_ = 0;
};

}  // namespace vig::python
