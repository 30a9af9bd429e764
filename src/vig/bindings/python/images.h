// Images as Python gives them: paths, the bytes of files, pixels, images of PIL.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <vector>

#include "vig/data/image_files.h"
#include "vig/image/decode.h"

namespace vig::python {

namespace py = pybind11;

// One image, or a list or tuple of them. Made and destroyed with Python's lock; in between it
// reads the memory of Python's objects, which it keeps, without it.
class GivenImages final : public SampleSource {
 public:
  // Throws TypeError for what is no image at all, and Error for arrays other than uint8
  // [height, width, 3], [height, width, 4], whose alpha is left out, and gray [height, width] or
  // [height, width, 1].
  GivenImages(const py::object& given, const DecodeOptions& decode);

  bool single() const { return single_; }

  size_t size() const override { return images_.size(); }
  std::string location(size_t sample) const override;
  std::string path(size_t sample) const override { return images_[sample].name; }
  Sample load(size_t sample) const override;

 private:
  enum class Form { kPath, kFile, kPixels };
  struct Input {
    Form form = Form::kPath;
    std::string name;  // the path, or "image 3"
    const uint8_t* data = nullptr;
    size_t size = 0;  // of a file in bytes
    int width = 0, height = 0;
    int64_t row = 0, column = 0, channel = 0;  // bytes from one to the next
  };

  void add(const py::object& given);
  bool add_path(const py::object& given);
  bool add_buffer(const py::object& given, const std::string& name);
  bool add_pil(const py::object& given, const std::string& name);

  bool single_ = true;
  std::vector<Input> images_;
  std::vector<py::object> kept_;
  std::vector<py::buffer_info> buffers_;
  const DecodeOptions decode_;
};

}  // namespace vig::python
