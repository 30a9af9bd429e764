// A file that a command writes besides what it prints.
#pragma once

#include <string>
#include <string_view>

#include "vig/weights/atomic_file.h"

namespace vig::cli {

// What cannot be written is refused before the work, not after. The file appears under its name
// when the work is whole; where it was stopped, under partial_name(), and standard error says so.
// Without finish() nothing appears.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path) : path_(path), file_(path) {}

  void write(std::string_view text) { file_.write(text.data(), text.size()); }
  void write(const void* data, size_t bytes) { file_.write(data, bytes); }
  void rewrite_begin(std::string_view text) { file_.rewrite_begin(text.data(), text.size()); }
  void finish(bool whole);

 private:
  std::string path_;
  AtomicFile file_;
};

}  // namespace vig::cli
