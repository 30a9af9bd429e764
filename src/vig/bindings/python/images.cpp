#include "vig/bindings/python/images.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/data/image_files.h"

namespace vig::python {
namespace {

// The format of a buffer without its byte order.
std::string_view element_code(std::string_view format) {
  if (!format.empty() && std::string_view("@=<>!").find(format[0]) != std::string_view::npos) {
    format.remove_prefix(1);
  }
  return format;
}

// As NumPy names it: "float32", "big-endian uint16".
std::string element_name(const py::buffer_info& buffer) {
  const std::string_view code = element_code(buffer.format);
  const char* kind = nullptr;
  if (code == "?") return "bool";
  if (code.size() == 1) {
    if (std::string_view("bhilqn").find(code[0]) != std::string_view::npos) kind = "int";
    if (std::string_view("BHILQN").find(code[0]) != std::string_view::npos) kind = "uint";
    if (std::string_view("efdg").find(code[0]) != std::string_view::npos) kind = "float";
  } else if (code.size() == 2 && code[0] == 'Z') {
    kind = "complex";
  }
  if (kind == nullptr) return printable(buffer.format, 40);
  const char order = buffer.format[0];
  return fmt::format("{}{}{}", order == '>' || order == '!' ? "big-endian " : "", kind,
                     8 * buffer.itemsize);
}

}  // namespace

GivenImages::GivenImages(const py::object& given, const DecodeOptions& decode)
    : single_(!py::isinstance<py::list>(given) && !py::isinstance<py::tuple>(given)),
      decode_(decode) {
  if (single_) {
    add(given);
    return;
  }
  for (const py::handle one : given) add(py::reinterpret_borrow<py::object>(one));
}

void GivenImages::add(const py::object& given) {
  const std::string name = single_ ? "the image" : fmt::format("image {}", images_.size());
  if (add_path(given) || add_buffer(given, name) || add_pil(given, name)) return;
  if (py::hasattr(given, "__array__") &&
      add_buffer(py::module_::import("numpy").attr("asarray")(given), name)) {
    return;
  }
  throw py::type_error(
      fmt::format("{} is of type {}, expected a path, the bytes of a file, an array of uint8 "
                  "[height, width, 3] or an image of PIL",
                  name, Py_TYPE(given.ptr())->tp_name));
}

bool GivenImages::add_path(const py::object& given) {
  if (!py::isinstance<py::str>(given) && !py::hasattr(given, "__fspath__")) return false;
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(given.ptr(), &bytes) == 0) throw py::error_already_set();
  const auto path = py::reinterpret_steal<py::bytes>(bytes);
  Input input;
  input.name = std::string(path);
  images_.push_back(std::move(input));
  return true;
}

bool GivenImages::add_buffer(const py::object& given, const std::string& name) {
  if (PyObject_CheckBuffer(given.ptr()) == 0) return false;
  py::buffer_info buffer = py::reinterpret_borrow<py::buffer>(given).request();
  const std::string_view code = element_code(buffer.format);
  const bool pixels = code == "B" && (buffer.ndim == 2 || buffer.ndim == 3) && buffer.size > 0;
  const int64_t channels = pixels && buffer.ndim == 3 ? buffer.shape[2] : 1;
  Input input;
  input.name = name;
  input.data = static_cast<const uint8_t*>(buffer.ptr);
  constexpr auto kMost = std::numeric_limits<int>::max();
  if ((code == "B" || code == "b" || code == "c") && buffer.ndim == 1) {
    if (buffer.size > 1 && buffer.strides[0] != 1) {
      return add_buffer(py::memoryview(given).attr("tobytes")(), name);
    }
    input.form = Form::kFile;
    input.size = static_cast<size_t>(buffer.size);
  } else if (pixels && (channels == 1 || channels == 3 || channels == 4) &&
             buffer.shape[0] <= kMost && buffer.shape[1] <= kMost) {
    // As files of that kind are decoded: gray is repeated, alpha is left out.
    input.form = Form::kPixels;
    input.height = static_cast<int>(buffer.shape[0]);
    input.width = static_cast<int>(buffer.shape[1]);
    input.row = buffer.strides[0];
    input.column = buffer.strides[1];
    input.channel = channels == 1 ? 0 : buffer.strides[2];
  } else {
    fail_usage(
        "{}: found an array of {} [{}], expected uint8 [height, width, 3] (RGB), [height, width, "
        "4] (RGBA) or [height, width] (gray)",
        name, element_name(buffer), fmt::join(buffer.shape, ", "));
  }
  images_.push_back(std::move(input));
  buffers_.push_back(std::move(buffer));
  return true;
}

bool GivenImages::add_pil(const py::object& given, const std::string& name) {
  if (!py::hasattr(given, "convert") || !py::hasattr(given, "tobytes")) return false;
  const py::object rgb = given.attr("convert")("RGB");
  const auto [width, height] = rgb.attr("size").cast<std::pair<int, int>>();
  const auto bytes = rgb.attr("tobytes")().cast<py::bytes>();
  const std::string_view view(bytes);
  if (width < 1 || height < 1 ||
      view.size() != 3 * static_cast<size_t>(width) * static_cast<size_t>(height)) {
    fail_usage("{}: {} bytes for {} x {} pixels, expected three for each", name, view.size(), width,
               height);
  }
  Input input;
  input.form = Form::kPixels;
  input.name = name;
  input.data = reinterpret_cast<const uint8_t*>(view.data());
  input.width = width;
  input.height = height;
  input.row = int64_t{3} * width;
  input.column = 3;
  input.channel = 1;
  images_.push_back(std::move(input));
  kept_.push_back(bytes);
  return true;
}

std::string GivenImages::location(size_t sample) const {
  return printable(images_[sample].name, 4096);
}

Sample GivenImages::load(size_t sample) const {
  const Input& input = images_[sample];
  if (input.form == Form::kPath) return ImageFiles({input.name}, decode_).load(0);
  if (input.form == Form::kFile) {
    return ImageBytes({{input.name, {input.data, input.size}}}, decode_).load(0);
  }
  if (int64_t{input.width} * input.height > decode_.max_pixels) {
    fail("{}: {} x {} pixels, expected at most {} (raise it with max_pixels)", location(sample),
         input.width, input.height, decode_.max_pixels);
  }
  auto pixels = std::make_shared<Image>(input.width, input.height);
  for (int y = 0; y < input.height; ++y) {
    const uint8_t* const from = input.data + y * input.row;
    uint8_t* const to = pixels->row(y);
    if (input.column == 3 && input.channel == 1) {
      std::copy_n(from, size_t{3} * static_cast<size_t>(input.width), to);
      continue;
    }
    for (int x = 0; x < input.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        to[3 * x + c] = from[x * input.column + c * input.channel];
      }
    }
  }
  return {pixels, {}};
}

}  // namespace vig::python
