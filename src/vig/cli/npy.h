// NumPy's array file, format 1.0: float32, row-major, rows appended one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "vig/cli/growing_file.h"
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
  std::string path_;
  OutputFile file_;
  std::vector<int> shape_;
  int64_t rows_ = 0;
};

// The same in a file that grows: it is an array of the rows so far at any time.
class NpyRows {
 public:
  // Continues with the first `rows` rows. Throws Error where the file holds fewer.
  NpyRows(const std::string& path, bool resume, int64_t rows);

  // The values of a row, handed over in parts.
  using Parts = std::function<void(const std::function<void(std::span<const float>)>& take)>;
  void append(const std::vector<int>& shape, const Parts& parts);
  // Throws Error unless the last row is this one.
  void check_last(const std::vector<int>& shape, const Parts& parts) const;
  void finish(bool whole);

 private:
  GrowingFile file_;
  std::vector<int> shape_;
  int64_t rows_ = 0;
};

}  // namespace vig::cli
