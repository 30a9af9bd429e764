#include "vig/bindings/python/regions.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "vig/base/error.h"
#include "vig/bindings/python/model.h"
#include "vig/image/region_source.h"
#include "vig/image/region_writer.h"
#include "vig/pipeline/region_windows.h"
#include "vig/tasks/class_colors.h"
#include "vig/tasks/overlay.h"
#include "vig/weights/atomic_file.h"

namespace vig::python {
namespace {

std::string path_of(const py::object& given) {
  PyObject* path = nullptr;
  if (PyUnicode_FSConverter(given.ptr(), &path) == 0) throw py::error_already_set();
  return std::string(py::reinterpret_steal<py::bytes>(path));
}

WindowOptions window_options(const RegionArguments& arguments) {
  WindowOptions options;
  options.level = arguments.level;
  if (arguments.region) {
    const auto& [x, y, width, height] = *arguments.region;
    options.region = ImageRegion{x, y, width, height};
  }
  options.mpp = arguments.mpp;
  if (arguments.window && *arguments.window < 1) {
    fail_usage("window={}, expected at least 1", *arguments.window);
  }
  if (arguments.overlap && *arguments.overlap < 0) {
    fail_usage("overlap={}, expected at least 0", *arguments.overlap);
  }
  options.window = arguments.window.value_or(0);
  options.overlap = arguments.overlap.value_or(-1);
  options.skip_background = arguments.skip_background;
  return options;
}

struct Labelled {
  LabelMap labels;  // empty where they are in a file
  std::array<int64_t, 256> counts = {};
  bool complete = false;  // false: a signal handler of Python threw
};

Labelled label_regions(const OpenModel& model, const DecodeOptions& decode, const std::string& file,
                       const WindowOptions& options, const std::string& out) {
  const Segmenter& segmenter = model.segmenter();
  RegionLimits limits;
  limits.decode = decode;
  const std::unique_ptr<RegionSource> source = open_regions(file, limits);
  const Recipe recipe = segmenter.runner().recipe();
  const WindowPlan plan = plan_windows(*source, recipe, options, kSegmentOverlap);
  if (out.empty() && plan.region.width > decode.max_pixels / plan.region.height) {
    fail_usage("{}: labels of {}x{} pixels, expected at most {}; give out=FILE or a region", file,
               plan.region.width, plan.region.height, decode.max_pixels);
  }
  RegionWindows windows(*source, plan, recipe);
  std::unique_ptr<AtomicFile> written;
  std::unique_ptr<TiffBandWriter> writer;
  if (!out.empty()) {
    written = std::make_unique<AtomicFile>(out);
    TiffBandFormat format = band_format(*source, plan, 1);
    format.palette = class_palette(256, model.classes());
    format.palette[kNoLabel] = {0, 0, 0};
    writer = std::make_unique<TiffBandWriter>(byte_sink(*written), format);
  }
  Labelled result;
  result.labels.width = windows.width();
  SegmentSteps steps;
  steps.on_rows = [&](int, const Segmentation& rows) {
    for (const uint8_t label : rows.labels.labels) ++result.counts[label];
    if (writer) return writer->write_rows(rows.labels.labels.data(), rows.labels.height);
    result.labels.labels.insert(result.labels.labels.end(), rows.labels.labels.begin(),
                                rows.labels.labels.end());
    result.labels.height += rows.labels.height;
  };
  steps.on_windows = [](size_t) {
    const py::gil_scoped_acquire locked;
    return PyErr_CheckSignals() == 0;
  };
  result.complete = segmenter.segment(windows, steps);
  if (result.complete && writer) {
    writer->finish();
    written->commit();
  }
  return result;
}

// Goes through the windows of a file.
class WindowIterator {
 public:
  WindowIterator(const std::string& file, const WindowOptions& options)
      : source_(open_regions(file)),
        windows_(*source_, plan_windows(*source_, Recipe(), options, 0), Recipe()) {}

  py::tuple next() {
    const auto& rows = windows_.rows();
    for (;;) {
      if (row_ >= rows.size()) throw py::stop_iteration();
      const InputWindow& window = rows[row_][column_];
      const Image pixels = without_lock([&] {
        if (column_ == 0) windows_.load(rows[row_]);
        return windows_.pixels(window);
      });
      if (++column_ == rows[row_].size()) {
        column_ = 0;
        ++row_;
      }
      if (windows_.plan().skip_background && is_background(pixels)) continue;
      py::array_t<uint8_t> array({pixels.height, pixels.width, 3});
      std::ranges::copy(pixels.rgb, array.mutable_data());
      return py::make_tuple(windows_.plan().full_x(window.x), windows_.plan().full_y(window.y),
                            array);
    }
  }

 private:
  std::unique_ptr<RegionSource> source_;
  RegionWindows windows_;
  size_t row_ = 0, column_ = 0;
};

}  // namespace

bool RegionArguments::given() const {
  return region || level || mpp || window || overlap || skip_background || !out.is_none();
}

py::object segment_regions(const OpenModel& model, const ClassNames& names,
                           const DecodeOptions& decode, const py::object& file,
                           const RegionArguments& arguments) {
  const std::string path = path_of(file);
  const std::string out = arguments.out.is_none() ? "" : path_of(arguments.out);
  const WindowOptions options = window_options(arguments);
  const Labelled found =
      without_lock([&] { return label_regions(model, decode, path, options, out); });
  if (!found.complete) throw py::error_already_set();
  SegmentationObject object;
  if (out.empty()) {
    py::array_t<uint8_t> labels({found.labels.height, found.labels.width});
    std::ranges::copy(found.labels.labels, labels.mutable_data());
    object.labels = labels;
  } else {
    object.labels = py::none();
  }
  for (const AreaShare& area : area_shares(found.counts)) {
    object.shares.append(py::make_tuple(area.label, names.name(area.label), area.share));
  }
  return py::cast(std::move(object));
}

void add_regions(py::module_& module) {
  py::class_<WindowIterator>(module, "WindowIterator")
      .def("__iter__", [](const py::object& self) { return self; })
      .def("__next__", &WindowIterator::next);
  module.def(
      "windows",
      [](const py::object& file, int window, int overlap,
         const std::optional<RegionArguments::Region>& region, std::optional<int> level,
         bool skip_background) {
        RegionArguments arguments;
        arguments.region = region;
        arguments.level = level;
        arguments.window = window;
        arguments.overlap = overlap;
        arguments.skip_background = skip_background;
        const WindowOptions options = window_options(arguments);
        const std::string path = path_of(file);
        return without_lock([&] { return std::make_unique<WindowIterator>(path, options); });
      },
      py::arg("file"), py::arg("window"), py::kw_only(), py::arg("overlap") = 0,
      py::arg("region") = py::none(), py::arg("level") = py::none(),
      py::arg("skip_background") = false,
      "Windows of an image of any size, row by row: (x, y, pixels), in pixels of the full image.");
}

}  // namespace vig::python
