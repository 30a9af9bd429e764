// NumPy's array file, format 1.0: float32, row-major, rows appended one by one.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace vig::cli {

// Writes beside `path` and renames when finished; without finish() nothing is left behind.
class NpyWriter {
 public:
  explicit NpyWriter(const std::string& path);
  ~NpyWriter();
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  // All rows have the first one's shape.
  void append(const std::vector<int>& shape, const std::vector<float>& values);
  void finish();

 private:
  void write(const void* data, size_t bytes);
  std::string header() const;
  [[noreturn]] void failed() const;

  std::string path_, temporary_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::vector<int> shape_;
  int64_t rows_ = 0;
};

}  // namespace vig::cli
