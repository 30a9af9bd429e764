// Images of any size from Python: read by regions, in windows at their own resolution.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <optional>

#include "vig/bindings/python/results.h"
#include "vig/image/image.h"

namespace vig::python {

namespace py = pybind11;

// As the options of the commands; see pipeline/region_windows.h.
struct RegionArguments {
  using Region = std::array<int64_t, 4>;  // x, y, width, height

  std::optional<Region> region = {};
  std::optional<int> level = {};
  std::optional<double> mpp = {};
  std::optional<int> window = {}, overlap = {};
  bool skip_background = false;
  py::object out = py::none();  // a path for the label map

  bool given() const;
};

// The labels of a file: an array, or None where they go to a BigTIFF file.
py::object segment_regions(const OpenModel& model, const ClassNames& names,
                           const DecodeOptions& decode, const py::object& file,
                           const RegionArguments& arguments);

// The function windows: an iterator over the windows of a file.
void add_regions(py::module_& module);

}  // namespace vig::python
