// NumPy's array file, format 1.0: float32, row-major, rows appended one by one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vig/cli/output_file.h"

namespace vig::cli {

// The file appears with finish(), or not at all; see OutputFile.
class NpyWriter {
 public:
  explicit NpyWriter(const std::string& path);

  // All rows have the first one's shape.
  void append(const std::vector<int>& shape, const std::vector<float>& values);
  // The same in parts: the values of the row that began last.
  void begin_row(const std::vector<int>& shape);
  void write(std::span<const float> values);
  void finish(bool whole);

 private:
  std::string header() const;

  std::string path_;
  OutputFile file_;
  std::vector<int> shape_;
  int64_t rows_ = 0;
};

}  // namespace vig::cli
